#include "access/scope.h"

#include "core/percent.h"

enum { MAX_PARTS = 3 };

static const char no_form[] = "a scope is '*', 'kind:*', 'kind:action' or 'kind:name:action'";

static bool is_word(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if ((t.at[i] < 'a' || t.at[i] > 'z') && t.at[i] != '_')
			return false;
	return t.len > 0;
}

static bool is_star(struct text t)
{
	return text_is(t, "*");
}

/* Percent-decodes the name and removes a trailing star. */
static const char *parse_name(struct arena *arena, struct text raw, struct scope *out)
{
	if (raw.len && raw.at[raw.len - 1] == '*') {
		out->is_prefix = true;
		raw.len--;
	}
	out->name = arena_copy(arena, raw.at, raw.len);
	if (!out->name.at)
		return "out of memory";
	if (memchr(raw.at, '*', raw.len))
		return "a * is only allowed at the end of a name; write %2A for one that belongs to the name";
	if (!percent_decode((char *)(uintptr_t)out->name.at, &out->name.len))
		return "a % in a name starts an escape like %3A; write %25 for one that belongs to the name";
	return out->name.len || out->is_prefix ? NULL : "a name is empty";
}

const char *scope_parse(struct arena *arena, struct text written, struct scope *out)
{
	struct text parts[MAX_PARTS] = { 0 };
	size_t count = 0;

	*out = (struct scope){ 0 };
	if (is_star(written))
		return NULL;
	for (struct text rest = written; rest.at;) {
		if (count == MAX_PARTS)
			return "a scope has three parts at most; write %3A for a : that belongs to a name";
		parts[count++] = text_cut(&rest, ':');
	}
	struct text action = parts[count - 1];
	out->kind = parts[0];
	if (count < 2 || !is_word(parts[0]) || (!is_star(action) && !is_word(action)))
		return no_form;
	out->whole_kind = count == 2 && is_star(action);
	if (!is_star(action))
		out->action = action;
	return count == MAX_PARTS ? parse_name(arena, parts[1], out) : NULL;
}

static bool covers_action(const struct scope *s, struct text action)
{
	return !s->action.at || text_equal(s->action, action);
}

bool scope_covers(const struct scope *s, const struct scope_need *need)
{
	if (!s->kind.at)
		return true;
	if (!text_equal(s->kind, need->kind))
		return false;
	if (s->whole_kind)
		return true;
	if (!s->name.at || !need->name.at)
		return !s->name.at && !need->name.at && covers_action(s, need->action);
	bool matches = need->name.len >= s->name.len && memcmp(s->name.at, need->name.at, s->name.len) == 0;
	return matches && (s->is_prefix || s->name.len == need->name.len) && covers_action(s, need->action);
}

bool scope_covers_some(const struct scope *s, const struct scope_need *need)
{
	bool same_form = (s->name.at != NULL) == (need->name.at != NULL);

	return !s->kind.at ||
	       (text_equal(s->kind, need->kind) && (s->whole_kind || (same_form && covers_action(s, need->action))));
}

bool scope_covers_all(const struct scope *s, const struct scope_need *need)
{
	bool every_name = s->whole_kind || (s->name.at && s->name.len == 0 && s->is_prefix);

	return !s->kind.at || (text_equal(s->kind, need->kind) && every_name && covers_action(s, need->action));
}

/* Returns true if a byte is written as it is: it has no meaning in a scope or in the token file. */
static bool is_plain(unsigned char c, bool is_text)
{
	return c > ' ' && c != 0x7f && (c < 0x80 || is_text) && !strchr(":*%#", c);
}

static struct text encoded(struct arena *arena, struct text name)
{
	static const char hex[] = "0123456789ABCDEF";
	char *out = arena_alloc(arena, 3 * name.len + 1);
	bool is_text = text_is_utf8(name) && !text_has_control(name);
	size_t n = 0;

	for (size_t i = 0; out && i < name.len; i++) {
		unsigned char c = (unsigned char)name.at[i];
		if (is_plain(c, is_text)) {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	return (struct text){ out, n };
}

struct text scope_written(struct arena *arena, const struct scope_need *need)
{
	struct text name = need->name.at ? encoded(arena, need->name) : need->name;
	struct text parts[] = { need->kind, TEXT(":"), name, TEXT(":"), need->action };

	if (need->name.at)
		return arena_join(arena, parts, 5);
	return arena_join(arena, (struct text[]){ need->kind, TEXT(":"), need->action }, 3);
}
