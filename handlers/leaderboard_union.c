/*
 * leaderboard_union: makes a board of other boards. The scripts lua/leaderboard_union_*.lua are called in turn, each of them a
 * bounded step: begin; for each source add, until it was walked through; rank, until all are ranked; end. What is built
 * lies aside under keys with a TTL of their own until the end puts it in the board's place in one step, so nothing needs
 * to be undone when a step fails.
 */
#include <inttypes.h>
#include <stdio.h>

#include "handler.h"
#include "keys.h"
#include "leaderboard_call.h"

enum { NONCE_DIGITS = 16, CURSOR_SIZE = 24, PART_SIZE = 48 };

static const char *const aggregates[] = { NULL, "sum", "min", "max" }; /* by the contract's enum */

/* A union under way; in the request's arena. */
struct building {
	struct arena_mark since; /* of the request's arena: what comes after belongs to one step */
	char places[PART_SIZE], ranks[PART_SIZE];
	struct text dimensions;
	size_t source; /* that is being added; their count: ranking */
	char cursor[CURSOR_SIZE];
	int64_t built, ranked; /* members so far */
};

static void next_step(struct request *req);

/* ---- The end ---- */

static void answer_differ(struct request *req, const struct reply *r)
{
	const struct leaderboard_union_input *in = req->input;
	int64_t source = reply_int(r, 2);
	bool known = source >= 0 && (size_t)source < in->sources.count;

	answer_problem(req, P_DIMENSIONS_DIFFER, "'%s' has the dimensions %s, not %s as '%s'",
		       known ? in->sources.items[source].at : in->board.at, dimensions_told(req, reply_text(r, 3)).at,
		       dimensions_told(req, reply_text(r, 4)).at, in->sources.items[0].at);
}

static void answer_made(struct request *req, const struct reply *r)
{
	const struct leaderboard_union_input *in = req->input;

	leaderboard_write(answer_begin(req, 200), in->board, reply_text(r, 2), reply_int(r, 3));
	answer_end(req);
}

static void answer_lost_work(struct request *req)
{
	answer_problem(req, P_REDIS_UNAVAILABLE, "Redis lost what was built so far; the board is as it was");
}

static void on_ended(struct request *req, const struct reply *r)
{
	if (reply_int(r, 0) > 0)
		answer_made(req, r);
	else if (reply_int(r, 0) == -2)
		answer_differ(req, r);
	else
		answer_lost_work(req);
}

static void end(struct request *req, const struct building *b)
{
	const struct leaderboard_union_input *in = req->input;
	struct call *c = script_call(req, &leaderboard_union_end_script);

	leaderboard_keys(c, in->board);
	call_key(c, KEY_BOARD, in->board, b->places);
	call_key(c, KEY_BOARD, in->board, b->ranks);
	call_text(c, b->dimensions);
	call_int(c, b->built);
	call_send(c, on_ended);
}

/* ---- Step by step ---- */

/* A step was done; false when it was the last of its kind, and the next one begins anew. */
static bool is_under_way(struct building *b, const struct reply *r)
{
	struct text cursor = reply_text(r, 2);

	snprintf(b->cursor, sizeof(b->cursor), "%s", cursor.at ? cursor.at : "0");
	return strcmp(b->cursor, "0") != 0;
}

static void on_ranked(struct request *req, const struct reply *r)
{
	struct building *b = req->work;

	if (reply_int(r, 0) < 0) {
		answer_lost_work(req);
		return;
	}
	b->ranked = reply_int(r, 3);
	arena_rewind(&req->arena, b->since);
	if (is_under_way(b, r))
		next_step(req);
	else
		end(req, b);
}

static void rank(struct request *req, const struct building *b)
{
	const struct leaderboard_union_input *in = req->input;
	struct call *c = script_call(req, &leaderboard_union_rank_script);

	call_key(c, KEY_BOARD, in->board, b->places);
	call_key(c, KEY_BOARD, in->board, b->ranks);
	call_string(c, b->cursor);
	call_int(c, (int64_t)dimensions_of(b->dimensions).count);
	call_int(c, b->built);
	call_int(c, b->ranked);
	call_send(c, on_ranked);
}

static void on_added(struct request *req, const struct reply *r)
{
	const struct leaderboard_union_input *in = req->input;
	struct building *b = req->work;

	if (reply_int(r, 0) == -1) {
		answer_no_board(req, in->sources.items[b->source]);
	} else if (reply_int(r, 0) == -2) {
		answer_differ(req, r);
	} else if (reply_int(r, 0) == -4) {
		answer_problem(req, P_SCORE_OUT_OF_RANGE, "'%s' of '%s' would be larger than %" PRIu32,
			       reply_text(r, 3).at, reply_text(r, 2).at, UINT32_MAX);
	} else if (reply_int(r, 0) < 0) {
		answer_lost_work(req);
	} else {
		b->built = reply_int(r, 3);
		arena_rewind(&req->arena, b->since);
		if (!is_under_way(b, r))
			b->source++;
		next_step(req);
	}
}

static void add(struct request *req, const struct building *b)
{
	const struct leaderboard_union_input *in = req->input;
	struct call *c = script_call(req, &leaderboard_union_add_script);
	struct text source = in->sources.items[b->source];

	call_key(c, KEY_BOARD, source, NULL);
	call_key(c, KEY_BOARD, source, "places");
	call_key(c, KEY_BOARD, in->board, b->places);
	call_string(c, b->cursor);
	call_int(c, (int64_t)b->source + 1);
	call_int(c, in->weights.count ? in->weights.items[b->source] : 1);
	call_string(c, aggregates[in->aggregate]);
	call_text(c, b->dimensions);
	call_int(c, b->built);
	call_send(c, on_added);
}

static void next_step(struct request *req)
{
	const struct leaderboard_union_input *in = req->input;
	const struct building *b = req->work;

	if (b->source < in->sources.count)
		add(req, b);
	else
		rank(req, b);
}

/* ---- The beginning ---- */

static void on_begun(struct request *req, const struct reply *r)
{
	const struct leaderboard_union_input *in = req->input;
	struct building *b = req->work;
	struct text dimensions = reply_text(r, 2);
	int64_t outcome = reply_int(r, 0), source = reply_int(r, 2);

	if (outcome > 0) {
		answer_made(req, r); /* before: this is a replay */
	} else if (outcome == -1 && source >= 0 && (size_t)source < in->sources.count) {
		answer_no_board(req, in->sources.items[source]);
	} else if (outcome < 0) {
		answer_differ(req, r);
	} else {
		b->dimensions = arena_copy(&req->arena, dimensions.at, dimensions.len);
		b->since = arena_mark(&req->arena);
		next_step(req);
	}
}

static struct building *building_new(struct request *req)
{
	char nonce[NONCE_DIGITS + 1];
	struct building *b = arena_alloc(&req->arena, sizeof(*b));

	if (!b)
		return NULL;
	random_hex(nonce, NONCE_DIGITS);
	snprintf(b->places, sizeof(b->places), "union:%s:places", nonce);
	snprintf(b->ranks, sizeof(b->ranks), "union:%s:ranks", nonce);
	snprintf(b->cursor, sizeof(b->cursor), "0");
	return b;
}

void leaderboard_union(struct request *req, const struct leaderboard_union_input *in)
{
	struct building *b = building_new(req);

	if (in->weights.count && in->weights.count != in->sources.count) {
		answer_field_problem(req, P_INVALID_VALUE, "/weights", "has %zu items, for %zu sources",
				     in->weights.count, in->sources.count);
		return;
	}
	if (!b) {
		answer_problem(req, P_OVERLOADED, "the daemon is out of memory");
		return;
	}
	req->work = b;
	struct call *c = script_call(req, &leaderboard_union_begin_script);
	call_key(c, KEY_BOARD, in->board, NULL);
	call_key(c, KEY_BOARD, in->board, "ranks");
	for (size_t i = 0; i < in->sources.count; i++)
		call_key(c, KEY_BOARD, in->sources.items[i], NULL);
	call_send(c, on_begun);
}
