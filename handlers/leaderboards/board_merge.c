/*
 * leaderboard_merge: makes a board of other boards. It calls the scripts
 * lua/leaderboards/leaderboard_merge_*.lua in this order, each a bounded step:
 *
 *	begin   once
 *	add     for each source, until all its members were read
 *	rank    until all members are ranked
 *	end     once: puts the result in the board's place
 *
 * The result is built under separate keys with a TTL, so nothing needs to be undone if a step
 * fails. In a Cluster, sources may be in other slots than the board: then begin looks at each
 * source, and add reads a page of the source, which another script adds to the result. Only the
 * scripts aggregate scores and rank members.
 */
#include <stdio.h>

#include "common/handler.h"
#include "common/kinds.h"
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
	int64_t built, ranked; /* members so far */
	size_t pending;        /* states that have not arrived; in `states` the board is last */
	struct board_state *states;
};

/* The state of a board that takes part, if the boards are in several slots. */
struct board_state {
	bool is_there;
	struct text dimensions;
	int64_t size;
};

static void next_step(struct request *req);

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

static void end(struct request *req, const struct board_merge *b);

static void on_ended(struct request *req, const struct reply *r)
{
	struct board_merge *b = req->work;

	if (reply_outcome(r) == LEADERBOARD_MERGE_END_DROPPING) {
		b->built = reply_int(r, LEADERBOARD_MERGE_END_MEMBERS);
		arena_rewind(&req->arena, b->since);
		end(req, b);
	} else if (reply_outcome(r) > 0)
		answer_made(req, r);
	else if (reply_outcome(r) == LEADERBOARD_MERGE_END_DIFFERS)
		answer_differ(req, r);
	else
		answer_lost_work(req);
}

static void end(struct request *req, const struct board_merge *b)
{
	const struct leaderboard_merge_input *in = req->input;
	struct call *c = call_script(req, &leaderboard_merge_end_script);

	board_call_keys(c, in->name);
	call_key(c, KEY_BOARD, in->name, b->places);
	call_key(c, KEY_BOARD, in->name, b->ranks);
	call_text(c, b->dimensions);
	call_int(c, b->built);
	call_send(c, on_ended);
}

/* ---- Step by step ---- */

/* Stores the cursor of the next step. Returns false if the step was the last of its kind. */
static bool is_under_way(struct board_merge *b, struct text next_cursor)
{
	snprintf(b->cursor, sizeof(b->cursor), "%s", next_cursor.at);
	return strcmp(b->cursor, "0") != 0;
}

static void on_ranked(struct request *req, const struct reply *r)
{
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
	bool goes_on = is_under_way(b, reply_text(r, LEADERBOARD_MERGE_RANK_NEXT_CURSOR));
	b->ranked = reply_int(r, LEADERBOARD_MERGE_RANK_RANKED);
	b->built = reply_int(r, LEADERBOARD_MERGE_RANK_MEMBERS);
	arena_rewind(&req->arena, b->since);
	if (goes_on)
		next_step(req);
	else
		end(req, b);
}

static void rank(struct request *req, const struct board_merge *b)
{
	const struct leaderboard_merge_input *in = req->input;
	struct call *c = call_script(req, &leaderboard_merge_rank_script);

	call_key(c, KEY_BOARD, in->name, b->places);
	call_key(c, KEY_BOARD, in->name, b->ranks);
	call_string(c, b->cursor);
	call_text(c, b->dimensions);
	call_int(c, b->built);
	call_int(c, b->ranked);
	handler_call_optional(c, in->members == LEADERBOARD_MERGE_MEMBERS_INTERSECTION, (int64_t)in->sources.count);
	call_send(c, on_ranked);
}

/* The reply of leaderboard_merge_add, or of _page and _put, which have the same outcomes. */
static void on_added(struct request *req, const struct reply *r)
{
	const struct leaderboard_merge_input *in = req->input;
	struct board_merge *b = req->work;

	if (reply_outcome(r) == LEADERBOARD_MERGE_ADD_NO_SOURCE) {
		handler_answer_missing(req, "leaderboard", in->sources.items[b->source]);
	} else if (reply_outcome(r) == LEADERBOARD_MERGE_ADD_DIFFERS) {
		answer_differ(req, r);
	} else if (reply_outcome(r) == LEADERBOARD_MERGE_ADD_LOST) {
		answer_lost_work(req);
	} else {
		if (!is_under_way(b, reply_text(r, MERGE_STEP_NEXT_CURSOR)))
			b->source++;
		b->built = reply_int(r, MERGE_STEP_MEMBERS);
		arena_rewind(&req->arena, b->since);
		next_step(req);
	}
}

/* Adds the arguments that both ways to add have in common. */
static void call_source(struct request *req, struct call *c, const struct board_merge *b)
{
	const struct leaderboard_merge_input *in = req->input;

	call_int(c, (int64_t)b->source + 1);
	call_int(c, in->weights.count ? in->weights.items[b->source] : 1);
	call_string(c, aggregates[in->aggregate]);
	call_text(c, b->dimensions);
	call_int(c, b->built);
	call_string(c, memberships[in->members]);
}

static void add(struct request *req, const struct board_merge *b)
{
	const struct leaderboard_merge_input *in = req->input;
	struct call *c = call_script(req, &leaderboard_merge_add_script);
	struct text source = in->sources.items[b->source];

	call_key(c, KEY_BOARD, source, NULL);
	call_key(c, KEY_BOARD, source, "places");
	call_key(c, KEY_BOARD, in->name, b->places);
	call_string(c, b->cursor);
	call_source(req, c, b);
	call_send(c, on_added);
}

/* Adds a page of a source in another slot to the result. */
static void on_paged(struct request *req, const struct reply *r)
{
	const struct leaderboard_merge_input *in = req->input;
	const struct board_merge *b = req->work;

	if (reply_outcome(r) < 0) {
		on_added(req, r);
		return;
	}
	const struct reply *found = reply_item(r, LEADERBOARD_MERGE_PAGE_FOUND);
	struct text cursor = reply_text(r, LEADERBOARD_MERGE_PAGE_NEXT_CURSOR);
	struct call *c = call_script(req, &leaderboard_merge_put_script);
	call_key(c, KEY_BOARD, in->name, b->places);
	call_text(c, arena_copy(&req->arena, cursor.at, cursor.len));
	call_source(req, c, b);
	for (size_t i = 0; i < found->count; i++)
		call_text(c, arena_copy(&req->arena, reply_text(found, i).at, reply_text(found, i).len));
	call_send(c, on_added);
}

static void ask_page(struct request *req, const struct board_merge *b)
{
	const struct leaderboard_merge_input *in = req->input;
	struct call *c = call_script(req, &leaderboard_merge_page_script);
	struct text source = in->sources.items[b->source];

	call_key(c, KEY_BOARD, source, NULL);
	call_key(c, KEY_BOARD, source, "places");
	call_string(c, b->cursor);
	call_int(c, (int64_t)b->source + 1);
	call_text(c, b->dimensions);
	call_send(c, on_paged);
}

static void next_step(struct request *req)
{
	const struct leaderboard_merge_input *in = req->input;
	const struct board_merge *b = req->work;

	if (b->source == in->sources.count)
		rank(req, b);
	else if (slots_are_one(in->sources.items[b->source], in->name))
		add(req, b);
	else
		ask_page(req, b);
}

/* ---- The beginning ---- */

static void build(struct request *req, struct text dimensions)
{
	struct board_merge *b = req->work;

	b->dimensions = dimensions;
	b->since = arena_mark(&req->arena);
	next_step(req);
}

static void on_begun(struct request *req, const struct reply *r)
{
	if (reply_outcome(r) > 0) {
		answer_made(req, r); /* from an earlier request: this is a replay */
	} else if (reply_outcome(r) == LEADERBOARD_MERGE_BEGIN_NO_SOURCE) {
		int64_t source = reply_int(r, LEADERBOARD_MERGE_BEGIN_SOURCE);
		handler_answer_missing(req, "leaderboard", board_of(req, source));
	} else if (reply_outcome(r) == LEADERBOARD_MERGE_BEGIN_DIFFERS) {
		answer_differ(req, r);
	} else {
		struct text dimensions = reply_text(r, LEADERBOARD_MERGE_BEGIN_DIMENSIONS);
		build(req, arena_copy(&req->arena, dimensions.at, dimensions.len));
	}
}

static void begin(struct request *req)
{
	const struct leaderboard_merge_input *in = req->input;
	struct call *c = handler_call(req, &leaderboard_merge_begin_script, KEY_BOARD, in->name);

	call_key(c, KEY_BOARD, in->name, "ranks");
	for (size_t i = 0; i < in->sources.count; i++)
		call_key(c, KEY_BOARD, in->sources.items[i], NULL);
	call_send(c, on_begun);
}

/* Compares the boards once all were looked at, as leaderboard_merge_begin does. */
static void compare(struct request *req, const struct board_merge *b)
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
	build(req, first);
}

static void on_state(struct request *req, const struct reply *r)
{
	struct board_merge *b = req->work;
	struct text dimensions = reply_text(r, LEADERBOARD_DIMENSIONS);

	if (reply_outcome(r) != LEADERBOARD_GET_ABSENT)
		b->states[req->result->tag] = (struct board_state){
			.is_there = true,
			.dimensions = arena_copy(&req->arena, dimensions.at, dimensions.len),
			.size = reply_int(r, LEADERBOARD_SIZE),
		};
	if (--b->pending == 0)
		compare(req, b);
}

static void get_all(struct request *req)
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
		struct text board = i < in->sources.count ? in->sources.items[i] : in->name;
		struct call *c = call_script(req, &leaderboard_get_script);
		board_call_keys(c, board);
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
	const struct slots *slots = handler_slots(req, in->name, in->sources.items, in->sources.count);
	req->work = b;
	if (slots && slots->count > 1)
		get_all(req);
	else if (slots)
		begin(req);
}
