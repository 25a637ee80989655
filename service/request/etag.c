#include "request/etag.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* True for etagc: visible characters but the quote, and all characters beyond ASCII. */
static bool is_tag_char(char c)
{
	return c != '"' && ((unsigned char)c > ' ' && (unsigned char)c != 0x7f);
}

static void skip(struct text *rest, size_t n)
{
	rest->at += n;
	rest->len -= n;
}

/* Skips blanks and commas between tags. Returns true if there was a comma. */
static bool skip_between(struct text *rest)
{
	bool comma = false;

	for (; rest->len && (is_blank(*rest->at) || *rest->at == ','); skip(rest, 1))
		comma = comma || *rest->at == ',';
	return comma;
}

/* Cuts one entity tag off `rest`; `tag` is the text between its quotes. False: there is none. */
static bool take_tag(struct text *rest, struct text *tag, bool *weak)
{
	*weak = rest->len > 2 && memcmp(rest->at, "W/", 2) == 0;
	if (*weak)
		skip(rest, 2);
	if (rest->len < 2 || *rest->at != '"')
		return false;
	skip(rest, 1);
	*tag = (struct text){ rest->at, 0 };
	while (tag->len < rest->len && is_tag_char(rest->at[tag->len]))
		tag->len++;
	if (tag->len == rest->len || rest->at[tag->len] != '"')
		return false;
	skip(rest, tag->len + 1);
	return true;
}

struct text etag_list(struct arena *arena, struct text header, enum etag_comparison comparison)
{
	static const struct text malformed = { NULL, 0 };
	struct text rest = header, tag;
	bool weak, comma = true, any = false;

	if (!header.at)
		return TEXT("");
	if (text_is(header, "*"))
		return TEXT("*");
	char *out = arena_alloc(arena, header.len + 3); /* each tag has two quotes, which two blanks replace */
	if (!out)
		return malformed;
	size_t n = 0;
	for (skip_between(&rest); rest.len; comma = skip_between(&rest)) {
		if (!comma || !take_tag(&rest, &tag, &weak))
			return malformed;
		any = true;
		if (weak && comparison == ETAG_STRONG)
			continue;
		out[n++] = ' ';
		memcpy(out + n, tag.at, tag.len);
		n += tag.len;
		out[n++] = ' ';
	}
	if (n == 0)
		out[n++] = ' '; /* a list without a tag that can match differs from an absent header */
	return any ? (struct text){ out, n } : malformed;
}
