/*
 * leaderboard_merge: makes a board of other boards. It calls the scripts
 * lua/leaderboards/leaderboard_merge_*.lua in this order, each a bounded step:
 *
 *	begin      once; each source is looked at beside it
 *	page, put  for each source, until all its members were read
 *	rank       until all members are ranked
 *	end        puts the result in the board's place
 *
 * Each script has the keys of one slot, so sources may be in other slots of a Cluster than the
 * board. The result is built under separate keys with a TTL, so nothing needs to be undone if a
 * step fails. Only the scripts aggregate scores and rank members.
 */
#include <stdio.h>

#include "common/handler.h"
#include "common/key_kinds.h"
#include "leaderboards/board_call.h"

enum { NONCE_DIGITS = 16, CURSOR_SIZE = 24, PART_SIZE = 48 };

/* Indexed by the contract's enums. */
static const char *const aggregates[] = { NULL, "sum", "min", "max" };
static const char *const memberships[] = { NULL, "union", "intersection" };

/* The state of a merge, in the request's arena. */
struct board_merge {
	struct arena_mark since; /* of the request's arena: memory after it belongs to one step */
	char places[PART_SIZE], ranks[PART_SIZE];
	struct text dimensions;
	size_t source; /* index of the source that is added; the number of sources: ranking */
	char cursor[CURSOR_SIZE];
	int64_t built;  /* members so far */
	size_t pending; /* states that have not arrived; in `states` the board is last */
	struct board_state *states;
};

/* The state of a board that takes part. */
struct board_state {
	bool is_there;
	struct text dimensions;
	int64_t size;
};

static void next_page(struct request *req);

/* ---- The end ---- */

static void answer_differs(struct request *req, struct text board, struct text has, struct text wanted)
{
	const struct leaderboard_merge_input *in = req->input;

	answer_problem(req, P_LEADERBOARD_DIMENSIONS_DIFFER, "'%s' has the dimensions %s, not %s as '%s'", board.at,
		       board_dimensions_text(req, has).at, board_dimensions_text(req, wanted).at,
		       in->sources.items[0].at);
}

/* Returns the source with this index; for any other index the board itself. */
static struct text board_of(struct request *req, int64_t source)
{
	const struct leaderboard_merge_input *in = req->input;

	return source >= 0 && (size_t)source < in->sources.count ? in->sources.items[source] : in->name;
}

static void answer_differ(struct request *req, const struct reply *r)
{
	answer_differs(req, board_of(req, reply_int(r, MERGE_DIFFERS_SOURCE)), reply_text(r, MERGE_DIFFERS_DIMENSIONS),
		       reply_text(r, MERGE_DIFFERS_WANTED));
}

static void answer_made(struct request *req, const struct reply *r)
{
	const struct leaderboard_merge_input *in = req->input;

	board_out(answer_begin(req, 200), in->name, r);
	answer_end(req);
}

static void answer_lost_work(struct request *req)
{
	answer_problem(req, P_CONTENTION, "the partial result was lost in Redis; the leaderboard is unchanged");
}

static void on_ended(struct request *req, const struct reply *r)
{
	if (reply_outcome(r) > 0)
		answer_made(req, r);
	else if (reply_outcome(r) == LEADERBOARD_MERGE_END_DIFFERS)
		answer_differ(req, r);
	else
		answer_lost_work(req);
}

static void on_ranked(struct request *req, const struct reply *r)
{
	const struct leaderboard_merge_input *in = req->input;
	struct board_merge *b = req->work;

	if (reply_outcome(r) == LEADERBOARD_MERGE_RANK_LOST) {
		answer_lost_work(req);
		return;
	} else if (reply_outcome(r) == LEADERBOARD_MERGE_RANK_TOO_LARGE) {
		answer_problem(req, P_SCORE_OUT_OF_RANGE, "'%s' of '%s' would be larger than %lld",
			       reply_text(r, LEADERBOARD_MERGE_RANK_DIMENSION).at,
			       reply_text(r, LEADERBOARD_MERGE_RANK_MEMBER).at,
			       (long long)board_score_max(board_dimensions_of(b->dimensions).count));
		return;
	}
	struct call *c = call_script(req, &leaderboard_merge_end_script);
	board_call_keys(c, in->name);
	call_key(c, KEY_BOARD, in->name, b->places);
	call_key(c, KEY_BOARD, in->name, b->ranks);
	call_text(c, b->dimensions);
	call_int(c, reply_int(r, LEADERBOARD_MERGE_RANK_BUILT));
	call_send(c, on_ended);
}

static void rank(struct request *req, const struct board_merge *b)
{
	const struct leaderboard_merge_input *in = req->input;
	struct call *c = call_script(req, &leaderboard_merge_rank_script);

	call_key(c, KEY_BOARD, in->name, b->places);
	call_key(c, KEY_BOARD, in->name, b->ranks);
	call_text(c, b->dimensions);
	handler_call_optional(c, in->members == LEADERBOARD_MERGE_MEMBERS_INTERSECTION, (int64_t)in->sources.count);
	call_string(c, "0"); /* the cursor */
	call_int(c, 0);      /* none is ranked */
	call_int(c, b->built);
	call_send(c, on_ranked);
}

/* ---- Page by page ---- */

static void on_put(struct request *req, const struct reply *r)
{
	struct board_merge *b = req->work;

	if (reply_outcome(r) == LEADERBOARD_MERGE_PUT_LOST) {
		answer_lost_work(req);
		return;
	}
	b->built = reply_int(r, LEADERBOARD_MERGE_PUT_MEMBERS);
	b->source += strcmp(b->cursor, "0") == 0;
	arena_rewind(&req->arena, b->since);
	next_page(req);
}

/* Adds a page of a source to the result. */
static void on_page(struct request *req, const struct reply *r)
{
	const struct leaderboard_merge_input *in = req->input;
	struct board_merge *b = req->work;

	if (reply_outcome(r) == LEADERBOARD_MERGE_PAGE_NO_SOURCE) {
		handler_answer_missing(req, "leaderboard", in->sources.items[b->source]);
		return;
	} else if (reply_outcome(r) == LEADERBOARD_MERGE_PAGE_DIFFERS) {
		answer_differ(req, r);
		return;
	}
	const struct reply *found = reply_item(r, LEADERBOARD_MERGE_PAGE_FOUND);
	snprintf(b->cursor, sizeof(b->cursor), "%s", reply_text(r, LEADERBOARD_MERGE_PAGE_NEXT_CURSOR).at);
	struct call *c = call_script(req, &leaderboard_merge_put_script);
	call_key(c, KEY_BOARD, in->name, b->places);
	call_int(c, (int64_t)b->source + 1);
	call_int(c, in->weights.count ? in->weights.items[b->source] : 1);
	call_string(c, aggregates[in->aggregate]);
	call_text(c, b->dimensions);
	call_int(c, b->built);
	call_string(c, memberships[in->members]);
	for (size_t i = 0; i < found->count; i++)
		call_text(c, arena_copy(&req->arena, reply_text(found, i).at, reply_text(found, i).len));
	call_send(c, on_put);
}

static void next_page(struct request *req)
{
	const struct leaderboard_merge_input *in = req->input;
	const struct board_merge *b = req->work;

	if (b->source == in->sources.count) {
		rank(req, b);
		return;
	}
	struct call *c = call_script(req, &leaderboard_merge_page_script);
	struct text source = in->sources.items[b->source];
	call_key(c, KEY_BOARD, source, NULL);
	call_key(c, KEY_BOARD, source, "places");
	call_string(c, b->cursor);
	call_int(c, (int64_t)b->source + 1);
	call_text(c, b->dimensions);
	call_send(c, on_page);
}

/* ---- The beginning ---- */

/* Compares the boards once all were looked at. */
static void compare(struct request *req, struct board_merge *b)
{
	const struct leaderboard_merge_input *in = req->input;
	struct text first = b->states[0].dimensions;

	for (size_t i = 0; i <= in->sources.count; i++) {
		const struct board_state *state = &b->states[i];
		bool is_source = i < in->sources.count, differs = !text_equal(state->dimensions, first);
		if (is_source && !state->is_there) {
			handler_answer_missing(req, "leaderboard", in->sources.items[i]);
			return;
		}
		if (state->is_there && differs && (is_source || state->size > 0)) {
			answer_differs(req, is_source ? in->sources.items[i] : in->name, state->dimensions, first);
			return;
		}
	}
	b->dimensions = first;
	b->since = arena_mark(&req->arena);
	next_page(req);
}

static void on_state(struct request *req, const struct reply *r)
{
	struct board_merge *b = req->work;
	struct text dimensions = reply_text(r, LEADERBOARD_DIMENSIONS);

	if (reply_outcome(r) > 0) {
		answer_made(req, r); /* from an earlier request: this is a replay */
		return;
	}
	if (reply_outcome(r) != LEADERBOARD_GET_ABSENT)
		b->states[req->result->tag] = (struct board_state){
			.is_there = true,
			.dimensions = arena_copy(&req->arena, dimensions.at, dimensions.len),
			.size = reply_int(r, LEADERBOARD_SIZE),
		};
	if (--b->pending == 0)
		compare(req, b);
}

static void begin(struct request *req)
{
	const struct leaderboard_merge_input *in = req->input;
	struct board_merge *b = req->work;

	b->pending = in->sources.count + 1;
	b->states = arena_alloc(&req->arena, b->pending * sizeof(b->states[0]));
	if (!b->states) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	for (size_t i = 0; i <= in->sources.count; i++) {
		bool is_source = i < in->sources.count;
		struct call *c = board_call(req, is_source ? &leaderboard_get_script : &leaderboard_merge_begin_script,
					    is_source ? in->sources.items[i] : in->name);
		call_tag(c, i);
		call_send(c, on_state);
	}
}

static struct board_merge *merge_new(struct request *req)
{
	char nonce[NONCE_DIGITS + 1];
	struct board_merge *b = arena_alloc(&req->arena, sizeof(*b));

	if (!b)
		return NULL;
	hex_random(nonce, NONCE_DIGITS);
	snprintf(b->places, sizeof(b->places), "merge:%s:places", nonce);
	snprintf(b->ranks, sizeof(b->ranks), "merge:%s:ranks", nonce);
	snprintf(b->cursor, sizeof(b->cursor), "0");
	return b;
}

void leaderboard_merge(struct request *req, const struct leaderboard_merge_input *in)
{
	struct board_merge *b = merge_new(req);

	if (in->weights.count && in->weights.count != in->sources.count) {
		answer_field_problem(req, P_INVALID_VALUE, "/weights",
				     "must have as many items as sources: %zu, not %zu", in->sources.count,
				     in->weights.count);
		return;
	}
	if (!b) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	req->work = b;
	if (handler_slots(req, in->name, in->sources.items, in->sources.count))
		begin(req);
}
