/* list: see list.h. It reads each name that was found, and writes the response. */
#include "call/list.h"

#include <string.h>

#include "call/call_problem.h"
#include "call/list_names.h"
#include "call/list_scan.h"
#include "call/match.h"
#include "core/loop.h"
#include "request/request.h"

/*
 * A page that is not full after this time is answered as it is. A scan costs Redis all of that
 * time. Reading all indexes of a Cluster takes about 50 ms, and more if other clients use Redis.
 */
enum { SCAN_US = 100000, INDEX_US = 1000000 };

static void finish(struct request *req, struct listing *l)
{
	struct json_out *o = req->answer.out;

	out_close(o);
	out_text(o, "next_cursor", l->next);
	out_bool(o, "complete", !l->unread_slots && (!l->next.at || l->found_count == l->limit));
	if (l->unreadable)
		out_int(o, "unreadable", l->unreadable);
	if (l->unread_slots)
		out_int(o, "unread_slots", l->unread_slots);
	answer_end(req);
}

static void begin(struct request *req)
{
	out_array(answer_begin(req, 200), "items");
}

static void on_look(struct request *req, const struct reply *reply)
{
	struct listing *l = req->work;
	const struct found *f = &l->found[req->result->tag];

	l->looks_owed--;
	if (req->result->failed && listing_has_failed(l, req->result->failed))
		return;
	if (reply)
		l->of->item(req->answer.out, req, f->name, f->part, reply);
	else if (req->result->failed)
		l->unread_slots++;
	else /* an index has the daemon's names only, so another program or a newer daemon wrote to this key */
		l->unreadable += l->of->is_indexed;
	if (l->looks_owed == 0)
		finish(req, l);
}

static void answer(struct request *req, struct listing *l)
{
	begin(req);
	if (!l->of->look) {
		for (size_t i = 0; i < l->found_count; i++)
			l->of->item(req->answer.out, req, l->found[i].name, l->found[i].part, NULL);
		finish(req, l);
		return;
	}
	l->looks_owed = l->found_count;
	if (l->found_count == 0)
		finish(req, l);
	for (size_t i = 0; i < l->found_count; i++) {
		struct call *c = l->of->look(req, l->found[i].name, l->found[i].part);
		call_tag(c, i);
		call_skip_foreign(c);
		if (listing_is_partial())
			call_may_fail(c);
		call_send(c, on_look);
	}
}

static void look_further(struct request *req, struct listing *l)
{
	if (l->of->is_indexed)
		list_names(req, l);
	else
		list_scan(req, l);
}

static void proceed(struct request *req, struct listing *l)
{
	if (l->found_count < l->limit && l->next.at && loop_now_us() < l->until_us)
		look_further(req, l);
	else if (!l->has_read && l->failed)
		call_problem_answer(l->failed);
	else
		answer(req, l);
}

void list_keys(struct request *req, const struct list_of *of, struct text match, struct text cursor, int64_t limit)
{
	list_typed_keys(req, of, match, NULL, cursor, limit);
}

void list_typed_keys(struct request *req, const struct list_of *of, struct text match, const char *type,
		     struct text cursor, int64_t limit)
{
	struct listing *l = arena_alloc(&req->arena, sizeof(*l));
	struct text glob;

	if (of->kind && match.at &&
	    (memchr(match.at, '{', match.len) || memchr(match.at, '}', match.len) ||
	     memchr(match.at, '\0', match.len))) {
		answer_field_problem(req, P_INVALID_VALUE, "?match", "must not contain { or }, since no name does");
		return;
	}
	if (!match_glob(req, match, &glob))
		return;
	if (l) {
		*l = (struct listing){ .of = of,
				       .match = match,
				       .glob = glob,
				       .type = type,
				       .limit = (size_t)limit,
				       .proceed = proceed,
				       .until_us = loop_now_us() + (of->is_indexed ? INDEX_US : SCAN_US) };
		l->found = arena_alloc(&req->arena, l->limit * sizeof(*l->found));
	}
	if (!l || !l->found) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	if (!(of->is_indexed ? list_names_at : list_scan_at)(req, l, cursor)) {
		answer_field_problem(req, P_INVALID_VALUE, "?cursor",
				     "must be the next_cursor of an earlier page of this list");
		return;
	}
	req->work = l;
	look_further(req, l);
}
