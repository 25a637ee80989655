/*
 * board_bulk: many members of a leaderboard in one request: POST /leaderboards/{name}/members, and
 * POST /leaderboards/{name}/lookup. Each calls a script that takes at most STEP members, as often
 * as needed. Only the scripts know which dimensions a board has.
 */
#include <stdlib.h>

#include "common/handler.h"
#include "common/key_kinds.h"
#include "contract/validation.h"
#include "leaderboards/board_call.h"

enum { MEMBERS_MAX = 1000, STEP = 250, STEPS_MAX = MEMBERS_MAX / STEP };

/* The names that the scripts use, indexed by the contract's enum. */
static const char *const orders[] = { NULL, "desc", "asc" };

/* ---- POST /leaderboards/{name}/members ---- */

/* The state of a write, in the request's arena. */
struct board_write {
	/*
	 * The dimensions that the request names. One more than a board can have is stored, and
	 * refused.
	 */
	struct text names[DIMENSIONS_MAX + 1];
	size_t named;
	int64_t largest; /* the largest score in the request */
	size_t next;     /* index of the next member; removed members come first, then put ones */
	int64_t added, updated, removed, dropped, size;
};

static int by_bytes(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	int order = memcmp(x->at, y->at, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Returns true if a sorted list has the member. */
static bool has(const struct text *sorted, size_t count, const struct text *member)
{
	return count && bsearch(member, sorted, count, sizeof(*sorted), by_bytes);
}

/* Answers 400 and returns false if a member is named twice. */
static bool are_distinct(struct request *req, const struct leaderboard_member_write_input *in)
{
	struct text *put = arena_alloc(&req->arena, in->put.count * sizeof(*put) + 1);

	if (!put) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	for (size_t i = 0; i < in->put.count; i++)
		put[i] = in->put.items[i].member;
	qsort(put, in->put.count, sizeof(*put), by_bytes);
	for (size_t i = 1; i < in->put.count; i++) {
		if (!text_equal(put[i - 1], put[i]))
			continue;
		answer_field_problem(req, P_INVALID_VALUE, "/put", "has '%s' twice; name each member once", put[i].at);
		return false;
	}
	for (size_t i = 0; i < in->remove.count; i++) {
		const struct text *member = &in->remove.items[i];
		if (!has(put, in->put.count, member))
			continue;
		answer_field_problem(req, P_INVALID_VALUE, arena_printf(&req->arena, "/remove/%zu", i).at,
				     "'%s' is in /put, too; a member can be put or removed, not both", member->at);
		return false;
	}
	return true;
}

/* Returns the index of a name, or `count` if it is not in the list. */
static size_t find_name(const struct text *names, size_t count, struct text name)
{
	size_t i = 0;

	while (i < count && !text_equal(names[i], name))
		i++;
	return i;
}

static void note_scores(struct board_write *w, const struct leaderboard_member_write_input *in)
{
	for (size_t i = 0; i < in->put.count; i++) {
		for (size_t k = 0; k < in->put.items[i].scores.count; k++) {
			struct text name = in->put.items[i].scores.items[k].key;
			int64_t score = in->put.items[i].scores.items[k].value;
			if (w->named <= DIMENSIONS_MAX && find_name(w->names, w->named, name) == w->named)
				w->names[w->named++] = name;
			w->largest = score > w->largest ? score : w->largest;
		}
	}
}

/* Answers with each score whose dimension the board does not have, or that is too large for it. */
static void answer_scores(struct request *req, const struct board_dimensions *known, int64_t most)
{
	const struct leaderboard_member_write_input *in = req->input;
	const struct json_pointer body = { 0 }, put = { .parent = &body, .key = "put" };
	struct validation v;

	validation_begin(&v, req);
	for (size_t i = 0; i < in->put.count; i++) {
		const struct json_pointer item = { .parent = &put, .index = i },
					  scores = { .parent = &item, .key = "scores" };
		for (size_t k = 0; k < in->put.items[i].scores.count; k++) {
			struct text name = in->put.items[i].scores.items[k].key;
			const struct json_pointer at = { .parent = &scores, .key = name.at };
			if (known && find_name(known->names, known->count, name) == known->count)
				validation_error(&v, &at, P_UNKNOWN_FIELD, "is not a dimension of '%s'", in->name.at);
			else if (!known && in->put.items[i].scores.items[k].value > most)
				validation_error(&v, &at, P_OUT_OF_RANGE,
						 "must be 0 to %lld, since '%s' has several dimensions",
						 (long long)most, in->name.at);
		}
	}
	validation_answer(&v);
}

static void answer_refused(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_write_input *in = req->input;

	if (reply_outcome(r) == LEADERBOARD_MEMBER_WRITE_NO_BOARD) {
		board_answer_missing(req, in->name);
	} else if (reply_outcome(r) == LEADERBOARD_MEMBER_WRITE_TOO_LARGE) {
		answer_scores(req, NULL, reply_int(r, LEADERBOARD_MEMBER_WRITE_MOST));
	} else {
		struct board_dimensions known = board_dimensions_of(reply_text(r, LEADERBOARD_MEMBER_WRITE_DIMENSIONS));
		answer_scores(req, &known, 0);
	}
}

static void answer_written(struct request *req, const struct board_write *w)
{
	const struct leaderboard_member_write_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "added_count", w->added);
	out_int(o, "updated_count", w->updated);
	out_int(o, "removed_count", w->removed);
	out_int(o, "dropped_count", w->dropped);
	out_int(o, "size", w->size);
	answer_end(req);
}

static void write_step(struct request *req);

static void on_written(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_write_input *in = req->input;
	struct board_write *w = req->work;

	if (reply_outcome(r) < 0) {
		answer_refused(req, r);
		return;
	}
	w->added += reply_int(r, LEADERBOARD_MEMBER_WRITE_ADDED);
	w->updated += reply_int(r, LEADERBOARD_MEMBER_WRITE_UPDATED);
	w->removed += reply_int(r, LEADERBOARD_MEMBER_WRITE_REMOVED);
	w->dropped += reply_int(r, LEADERBOARD_MEMBER_WRITE_DROPPED);
	w->size = reply_int(r, LEADERBOARD_MEMBER_WRITE_SIZE);
	req->has_effect = true; /* in case the next step fails */
	if (w->next < in->remove.count + in->put.count)
		write_step(req);
	else
		answer_written(req, w);
}

/*
 * Adds a member to put, with a score for each dimension that the request names. If these are more
 * than a board can have, the script refuses the request, whatever the scores are.
 */
static void call_put(struct call *c, const struct board_write *w, const struct leaderboard_member_write_put_item *item)
{
	int64_t scores[DIMENSIONS_MAX + 1] = { 0 };

	for (size_t k = 0; k < item->scores.count; k++)
		scores[find_name(w->names, w->named - 1, item->scores.items[k].key)] = item->scores.items[k].value;
	call_text(c, item->member);
	for (size_t k = 0; k < w->named; k++)
		call_int(c, scores[k]);
}

static void write_step(struct request *req)
{
	const struct leaderboard_member_write_input *in = req->input;
	struct board_write *w = req->work;
	struct call *c = board_call(req, &leaderboard_member_write_script, in->name);
	size_t first = w->next, all = in->remove.count + in->put.count;
	size_t end = first + STEP < all ? first + STEP : all;
	size_t remove_end = end < in->remove.count ? end : in->remove.count;

	call_int(c, (int64_t)w->named);
	for (size_t i = 0; i < w->named; i++)
		call_text(c, w->names[i]);
	call_int(c, w->largest);
	call_int(c, first < remove_end ? (int64_t)(remove_end - first) : 0);
	for (; w->next < remove_end; w->next++)
		call_text(c, in->remove.items[w->next]);
	for (; w->next < end; w->next++)
		call_put(c, w, &in->put.items[w->next - in->remove.count]);
	call_int(c, (int64_t)first); /* the part's name in the idempotency record */
	call_send(c, on_written);
}

void leaderboard_member_write(struct request *req, const struct leaderboard_member_write_input *in)
{
	size_t count = in->put.count + in->remove.count;
	struct board_write *w = arena_alloc(&req->arena, sizeof(*w));

	if (count == 0 || count > MEMBERS_MAX) {
		answer_field_problem(req, P_OUT_OF_RANGE, "/put",
				     "must have 1 to %d members together with /remove, not %zu", MEMBERS_MAX, count);
		return;
	}
	if (!w) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	if (!are_distinct(req, in))
		return;
	note_scores(w, in);
	req->work = w;
	write_step(req);
}

/* ---- POST /leaderboards/{name}/lookup ---- */

/* The state of a lookup, in the request's arena. */
struct board_lookup {
	struct board_dimensions dimensions[STEPS_MAX]; /* of each step, since they may change between steps */
	struct text elements[MEMBERS_MAX];             /* absent: the member does not exist */
	int64_t positions[MEMBERS_MAX];
	size_t under_way;
};

static void answer_found(struct request *req, const struct board_lookup *l)
{
	const struct leaderboard_member_lookup_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_array(o, "members");
	for (size_t i = 0; i < in->members.count; i++) {
		if (!l->elements[i].at) {
			out_null(o, NULL);
			continue;
		}
		out_object(o, NULL);
		board_out_ranked(o, &l->dimensions[i / STEP], l->elements[i], l->positions[i]);
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

static void on_found(struct request *req, const struct reply *r)
{
	const struct leaderboard_member_lookup_input *in = req->input;
	struct board_lookup *l = req->work;
	size_t first = req->result->tag * STEP;

	if (reply_outcome(r) == LEADERBOARD_MEMBER_LOOKUP_NO_BOARD) {
		handler_answer_missing(req, "leaderboard", in->name);
		return;
	}
	struct text lines = reply_text(r, LEADERBOARD_MEMBER_LOOKUP_DIMENSIONS);
	l->dimensions[req->result->tag] = board_dimensions_of(arena_copy(&req->arena, lines.at, lines.len));
	for (size_t at = LEADERBOARD_MEMBER_LOOKUP_MEMBERS, i = first; at < r->count && i < in->members.count;
	     at += BOARD_FOUND_ITEMS, i++) {
		struct text element = reply_text(r, at + BOARD_FOUND_ELEMENT);
		l->positions[i] = reply_int(r, at + BOARD_FOUND_POSITION);
		if (l->positions[i] >= 0)
			l->elements[i] = arena_copy(&req->arena, element.at, element.len);
	}
	if (req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	else if (--l->under_way == 0)
		answer_found(req, l);
}

void leaderboard_member_lookup(struct request *req, const struct leaderboard_member_lookup_input *in)
{
	size_t steps = (in->members.count + STEP - 1) / STEP;
	struct board_lookup *l = arena_alloc(&req->arena, sizeof(*l));

	if (!l) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	l->under_way = steps;
	req->work = l;
	for (size_t step = 0; step < steps; step++) {
		struct call *c = board_call(req, &leaderboard_member_lookup_script, in->name);
		call_string(c, orders[in->order]);
		for (size_t i = step * STEP; i < in->members.count && i < (step + 1) * STEP; i++)
			call_text(c, in->members.items[i]);
		call_tag(c, step);
		call_send(c, on_found);
	}
}
