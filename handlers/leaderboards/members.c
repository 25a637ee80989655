/*
 * members: members of leaderboards, which are ranked by up to four scores: pages, counts and single
 * members. Each operation is one script (lua/leaderboards/leaderboard_member_*.lua,
 * leaderboard_neighbor_list.lua).
 *
 * The scripts return members in the form in which they are stored, so that Redis has no work with
 * them (leaderboards/board_call.h).
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "contract/validation.h"
#include "leaderboards/board_call.h"

/* The names that the scripts use, indexed by the contract's enum. */
static const char *const orders[] = { NULL, "desc", "asc" };

static void answer_no_member(struct request *req, struct text board, struct text member)
{
	answer_problem(req, P_NOT_FOUND, "leaderboard '%s' has no member '%s'", board.at, member.at);
}

/*
 * Takes the outcomes about a member that all scripts share. Returns true if the member exists, else
 * answers.
 */
static bool is_there(struct request *req, const struct reply *r, struct text board, struct text member)
{
	if (reply_outcome(r) >= 0)
		return true;
	if (reply_outcome(r) == LEADERBOARD_MEMBER_GET_NO_BOARD)
		handler_answer_missing(req, "leaderboard", board);
	else
		answer_no_member(req, board, member);
	return false;
}

/* ---- GET /leaderboards/{name}/members, .../count ---- */

static void answer_page(struct request *req, struct text board, const struct reply *r)
{
	struct board_dimensions d = board_dimensions_of(reply_text(r, BOARD_PAGE_DIMENSIONS));
	const struct reply *elements = reply_item(r, BOARD_PAGE_ELEMENTS);
	int64_t first = reply_int(r, BOARD_PAGE_POSITION), next = reply_int(r, BOARD_PAGE_NEXT);

	for (size_t i = 0; i < elements->count; i++) {
		if (!board_is_element(&d, reply_text(elements, i))) {
			answer_problem(req, P_FOREIGN_KEY,
				       "another program has written to the ranks of leaderboard '%s'", board.at);
			return;
		}
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = 0; i < elements->count; i++) {
		out_object(o, NULL);
		board_out_ranked(o, &d, reply_text(elements, i), first + (int64_t)i);
		out_close(o);
	}
	out_close(o);
	handler_out_cursor(o, next > 0, next);
	answer_end(req);
}

static void on_page(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_list_input *in = req->input;

	if (reply_outcome(r) == LEADERBOARD_MEMBER_LIST_NO_BOARD)
		handler_answer_missing(req, "leaderboard", in->name);
	else
		answer_page(req, in->name, r);
}

/* A range of scores of the first dimension. An absent bound is open. */
struct score_range {
	bool has_min, has_max;
	int64_t min, max;
};

/* Answers 400 and returns false if the range is invalid. */
static bool is_range(struct request *req, const struct score_range *range)
{
	if (!range->has_min || !range->has_max || range->min <= range->max)
		return true;
	answer_field_problem(req, P_OUT_OF_RANGE, "?min_score", "must not be above max_score");
	return false;
}

static void call_range(struct call *c, const struct score_range *range)
{
	handler_call_optional(c, range->has_min, range->min);
	handler_call_optional(c, range->has_max, range->max);
}

/*
 * Starts the call for a page. A cursor is a position in the list, counted from 0. NULL: the request
 * was answered.
 */
static struct call *page_call(struct request *req, struct text board, struct text cursor, int64_t limit, int order,
			      const struct score_range *range)
{
	int64_t offset;

	if (!handler_cursor(req, cursor, &offset) || !is_range(req, range))
		return NULL;
	struct call *c = handler_call(req, &leaderboard_member_list_script, KEY_BOARD, board);
	call_key(c, KEY_BOARD, board, "ranks");
	call_int(c, offset);
	call_int(c, limit);
	if (order == LEADERBOARD_MEMBER_LIST_ORDER_ASC || range->has_min || range->has_max) {
		call_string(c, orders[order]);
		call_range(c, range);
	}
	return c;
}

void leaderboard_member_list(struct request *req, const struct leaderboard_member_list_input *in)
{
	const struct score_range range = { in->has_min_score, in->has_max_score, in->min_score, in->max_score };
	struct call *c = page_call(req, in->name, in->cursor, in->limit, (int)in->order, &range);

	if (c)
		call_send(c, on_page);
}

static void on_counted(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_count_input *in = req->input;

	if (reply_outcome(r) == LEADERBOARD_MEMBER_COUNT_NO_BOARD) {
		handler_answer_missing(req, "leaderboard", in->name);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "count", reply_int(r, LEADERBOARD_MEMBER_COUNT_COUNT));
	answer_end(req);
}

void leaderboard_member_count(struct request *req, const struct leaderboard_member_count_input *in)
{
	const struct score_range range = { in->has_min_score, in->has_max_score, in->min_score, in->max_score };

	if (!is_range(req, &range))
		return;
	struct call *c = handler_call(req, &leaderboard_member_count_script, KEY_BOARD, in->name);
	call_key(c, KEY_BOARD, in->name, "ranks");
	call_range(c, &range);
	call_send(c, on_counted);
}

/* ---- PUT, GET, DELETE /leaderboards/{name}/members/{member}, POST .../increment ---- */

static void answer_unknown_dimensions(struct request *req, struct text board, const struct reply *r)
{
	const struct json_pointer body = { 0 }, scores = { .parent = &body, .key = "scores" };
	struct text known = board_dimensions_text(req, reply_text(r, LEADERBOARD_MEMBER_PUT_DIMENSIONS));
	struct validation v;

	validation_begin(&v, req);
	for (size_t i = LEADERBOARD_MEMBER_PUT_NAMES; i < r->count; i++) {
		struct json_pointer at = { .parent = &scores, .key = reply_text(r, i).at };
		validation_error(&v, &at, P_UNKNOWN_FIELD, "is not a dimension of '%s'; it has %s", board.at, known.at);
	}
	validation_answer(&v);
}

/* Answers 400: the score is allowed only on a board with one dimension. */
static void answer_too_large(struct request *req, struct text board, const struct reply *r)
{
	const struct json_pointer body = { 0 }, scores = { .parent = &body, .key = "scores" };
	const struct json_pointer at = { .parent = &scores, .key = reply_text(r, LEADERBOARD_MEMBER_PUT_DIMENSION).at };
	struct validation v;

	validation_begin(&v, req);
	validation_error(&v, &at, P_OUT_OF_RANGE, "must be 0 to %lld, since '%s' has several dimensions",
			 (long long)reply_int(r, LEADERBOARD_MEMBER_PUT_MOST), board.at);
	validation_answer(&v);
}

static void answer_out_of_range(struct request *req, struct text member, const struct reply *r)
{
	struct text dimension = reply_text(r, LEADERBOARD_MEMBER_PUT_DIMENSION);
	int64_t score = reply_int(r, LEADERBOARD_MEMBER_PUT_SCORE),
		change = reply_int(r, LEADERBOARD_MEMBER_PUT_CHANGE);

	answer_problem(req, P_SCORE_OUT_OF_RANGE, "'%s' of '%s' is %lld, and adding %lld leaves the range of 0 to %lld",
		       dimension.at, member.at, (long long)score, (long long)change,
		       (long long)reply_int(r, LEADERBOARD_MEMBER_PUT_MOST));
}

static void answer_member(struct request *req, int status, struct text board, const struct reply *r)
{
	struct board_dimensions d = board_dimensions_of(reply_text(r, BOARD_MEMBER_DIMENSIONS));
	struct json_out *o = answer_begin(req, status);

	out_text(o, "name", board);
	board_out_ranked(o, &d, reply_text(r, BOARD_MEMBER_ELEMENT), reply_int(r, BOARD_MEMBER_POSITION));
	answer_end(req);
}

static void answer_changed(struct request *req, struct text board, struct text member, const struct reply *r)
{
	switch (reply_outcome(r)) {
	case LEADERBOARD_MEMBER_PUT_NO_BOARD:
		board_answer_missing(req, board);
		return;
	case LEADERBOARD_MEMBER_PUT_OUT_OF_RANGE:
		answer_out_of_range(req, member, r);
		return;
	case LEADERBOARD_MEMBER_PUT_UNKNOWN:
		answer_unknown_dimensions(req, board, r);
		return;
	default:
		answer_member(req, reply_outcome(r) == LEADERBOARD_MEMBER_PUT_NEW ? 201 : 200, board, r);
	}
}

static void on_put(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_put_input *in = req->input;

	if (reply_outcome(r) == LEADERBOARD_MEMBER_PUT_OUT_OF_RANGE)
		answer_too_large(req, in->name, r);
	else
		answer_changed(req, in->name, in->member, r);
}

void leaderboard_member_put(struct request *req, const struct leaderboard_member_put_input *in)
{
	struct call *c = board_call(req, &leaderboard_member_put_script, in->name);

	call_text(c, in->member);
	call_string(c, "set");
	for (size_t i = 0; i < in->scores.count; i++) {
		call_text(c, in->scores.items[i].key);
		call_int(c, in->scores.items[i].value);
	}
	call_send(c, on_put);
}

static void on_added(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_increment_input *in = req->input;
	const struct text member[] = { TEXT("leaderboards"), in->name, TEXT("members"), in->member };

	if (reply_outcome(r) == LEADERBOARD_MEMBER_PUT_NEW)
		answer_location(req, member, 4);
	answer_changed(req, in->name, in->member, r);
}

void leaderboard_member_increment(struct request *req, const struct leaderboard_member_increment_input *in)
{
	struct call *c = board_call(req, &leaderboard_member_put_script, in->name);

	call_text(c, in->member);
	call_string(c, "add");
	for (size_t i = 0; i < in->scores.count; i++) {
		call_text(c, in->scores.items[i].key);
		call_int(c, in->scores.items[i].value);
	}
	call_send(c, on_added);
}

static void on_member(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_get_input *in = req->input;

	if (is_there(req, r, in->name, in->member))
		answer_member(req, 200, in->name, r);
}

void leaderboard_member_get(struct request *req, const struct leaderboard_member_get_input *in)
{
	struct call *c = board_call(req, &leaderboard_member_get_script, in->name);

	call_text(c, in->member);
	call_string(c, orders[in->order]);
	call_send(c, on_member);
}

static void on_removed(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_delete_input *in = req->input;

	if (is_there(req, r, in->name, in->member))
		answer_empty(req, 204);
}

void leaderboard_member_delete(struct request *req, const struct leaderboard_member_delete_input *in)
{
	struct call *c = board_call(req, &leaderboard_member_delete_script, in->name);

	call_text(c, in->member);
	call_send(c, on_removed);
}

/* ---- GET /leaderboards/{name}/members/{member}/around ---- */

static void on_neighbors(struct request *req, const struct reply *r)
{
	const struct leaderboard_neighbor_list_input *in = req->input;

	if (is_there(req, r, in->name, in->member))
		answer_page(req, in->name, r);
}

void leaderboard_neighbor_list(struct request *req, const struct leaderboard_neighbor_list_input *in)
{
	struct call *c;

	if (in->cursor.at) {
		c = page_call(req, in->name, in->cursor, in->limit, (int)in->order, &(struct score_range){ 0 });
	} else {
		c = board_call(req, &leaderboard_neighbor_list_script, in->name);
		call_text(c, in->member);
		call_int(c, in->limit);
		call_string(c, orders[in->order]);
	}
	if (c)
		call_send(c, on_neighbors);
}
