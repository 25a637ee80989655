#include "call/name_rebuild.h"

#include <assert.h>
#include <string.h>

#include "call/call.h"
#include "call/match.h"
#include "call/name_index.h"
#include "process/config.h"
#include "request/answer.h"
#include "request/request.h"
#include "scripts.h"
#include "topology/topology.h"

enum { SCAN_COUNT = 500, AT_ONCE = 32, NAME_BYTES = 200 };

/* The state of a rebuild, in the request's arena. */
struct rebuild {
	struct name_rebuild found;
	const char *const *kinds;
	void (*done)(struct request *req, const struct name_rebuild *found);
	struct text pattern; /* matches first keys */
	char step[24];       /* the cursor of the SCAN */
	int slot;            /* selects the node that is asked */
	struct call **adds;  /* the calls of this step */
	size_t add_count, add_next, adds_owed;
	struct arena_mark since; /* memory after it belongs to one step */
};

static void scan(struct request *req, struct rebuild *b);

static bool has_name(const struct rebuild *b, struct text rest)
{
	for (const char *const *kind = b->kinds; *kind; kind++) {
		size_t len = strlen(*kind);
		if (rest.len > len + 3 && rest.len <= len + 3 + NAME_BYTES && strncmp(rest.at, *kind, len) == 0 &&
		    strncmp(rest.at + len, ":{", 2) == 0)
			return memchr(rest.at, '}', rest.len) == rest.at + rest.len - 1;
	}
	return false;
}

static void proceed(struct request *req, struct rebuild *b)
{
	if (strcmp(b->step, "0") == 0) {
		b->slot = topology_next_node(b->slot);
		if (b->slot == REDIS_ANYWHERE) {
			b->done(req, &b->found);
			return;
		}
	}
	arena_rewind(&req->arena, b->since);
	scan(req, b);
}

static void add_some(struct request *req, struct rebuild *b);

static void on_added(struct request *req, const struct reply *r)
{
	struct rebuild *b = req->work;

	b->found.added += reply_outcome(r);
	if (--b->adds_owed == 0)
		add_some(req, b);
}

static void add_some(struct request *req, struct rebuild *b)
{
	size_t count = b->add_count - b->add_next;

	if (count == 0) {
		proceed(req, b);
		return;
	}
	assert(b->adds);
	b->adds_owed = count < AT_ONCE ? count : AT_ONCE;
	count = b->adds_owed;
	for (size_t i = 0; i < count; i++)
		call_send(b->adds[b->add_next++], on_added);
}

static void on_scan(struct request *req, const struct reply *r)
{
	struct rebuild *b = req->work;
	const struct reply *keys = reply_item(r, SCAN_KEYS);
	size_t lead = strlen(config()->prefix);

	b->adds = arena_alloc(&req->arena, (keys->count + 1) * sizeof(struct call *));
	b->add_count = b->add_next = 0;

	snprintf(b->step, sizeof(b->step), "%s", reply_text(r, SCAN_STEP).at);
	for (size_t i = 0; b->adds && i < keys->count; i++) {
		struct text key = reply_text(keys, i);
		if (key.len < lead)
			continue;
		struct text rest = { key.at + lead, key.len - lead };
		if (!has_name(b, rest))
			continue;
		struct call *c = b->adds[b->add_count++] = call_script(req, &name_add_script);
		call_raw_key(c, arena_copy(&req->arena, rest.at, rest.len));
	}
	b->found.names += (int64_t)b->add_count;
	add_some(req, b);
}

static void scan(struct request *req, struct rebuild *b)
{
	struct call *c = call_command(req, "SCAN", SCAN_FORM, false);

	call_at(c, b->slot);
	call_string(c, b->step);
	call_string(c, "MATCH");
	call_text(c, b->pattern);
	call_string(c, "COUNT");
	call_int(c, SCAN_COUNT);
	call_send(c, on_scan);
}

void name_rebuild_start(struct request *req, const char *const *kinds,
			void (*done)(struct request *req, const struct name_rebuild *found))
{
	struct rebuild *b = req->work = arena_alloc(&req->arena, sizeof(*b));
	struct text prefix = match_literal(req, text_of(config()->prefix));

	if (!b || !prefix.at) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*b = (struct rebuild){ .kinds = kinds, .done = done, .step = "0", .slot = topology_next_node(REDIS_ANYWHERE) };
	b->pattern = arena_printf(&req->arena, "%s*}", prefix.at);
	b->since = arena_mark(&req->arena);
	scan(req, b);
}
