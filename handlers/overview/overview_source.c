#include "overview/overview_source.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/loop.h"
#include "request/problem.h"
#include "request/request.h"
#include "json/read.h"

enum { ANSWER_US = 2000000 /* the longest wait for a page, which may take a second to read */ };

static void fail(struct overview_source *s, const char *code, struct text why)
{
	s->state = OVERVIEW_UNKNOWN;
	snprintf(s->code, sizeof(s->code), "%s", code);
	snprintf(s->why, sizeof(s->why), "%.*s", (int)why.len, why.at ? why.at : "");
}

static void fail_with(struct overview_source *s, enum problem p, const char *why)
{
	fail(s, problem_row(p)->code, text_of(why));
}

static void on_answered(struct self_call *i);

static void ask(struct overview_source *s)
{
	/* The limit is the largest page of the contract. */
	const struct text_pair query[] = { { TEXT("limit"), TEXT("1000") }, { TEXT("cursor"), s->cursor } };
	int64_t until_us = loop_now_us() + ANSWER_US;

	s->call.answered = on_answered;
	s->call.until_us = s->last_us && s->last_us < until_us ? s->last_us : until_us;
	if (!self_call_run(&s->call, self_call_operation(s->operation),
			   &(struct self_call_input){ .name = s->name,
						      .query = query,
						      .query_count = s->is_list ? 1 + (s->cursor.at != NULL) : 0 }))
		fail_with(s, P_OVERLOADED, "there is no memory to ask");
}

static void take(struct overview_source *s, const struct json *answer)
{
	struct text next = json_tree_string(answer, "next_cursor");

	s->has_answer = true;
	s->unreadable += json_tree_int(answer, "unreadable", 0);
	s->unread += json_tree_int(answer, "unread_slots", 0);
	s->take(s, answer, s->call.req->now_ms);
	s->cursor = next.at ? arena_copy(s->arena, next.at, next.len) : next;
	if (next.at && !s->cursor.at)
		fail_with(s, P_OVERLOADED, "there is no memory for the next page");
	else if (!s->is_list || !next.at)
		s->state = OVERVIEW_READ;
}

static void on_answered(struct self_call *i)
{
	struct overview_source *s = container_of(i, struct overview_source, call);
	bool has_answer = i->req->state == ANSWERED;
	struct json_error error;
	const struct json *answer =
		has_answer ? json_read(&i->req->arena, i->req->answer.body, NULL, NULL, &error) : NULL;

	if (!has_answer && (s->has_answer || loop_now_us() >= s->last_us))
		s->state = OVERVIEW_CUT;
	else if (!has_answer)
		fail_with(s, P_NO_ANSWER, "no answer came within two seconds");
	else if (!answer)
		fail_with(s, P_OVERLOADED, "there is no memory to read the answer");
	else if (i->req->answer.problem)
		fail(s, i->req->answer.problem->code, json_tree_string(answer, "detail"));
	else
		take(s, answer);
	self_call_end(i);
	if (s->state == OVERVIEW_ASKING)
		ask(s);
	if (s->state != OVERVIEW_ASKING)
		s->ended(s);
}

void overview_source_begin(struct overview_source *s)
{
	s->state = OVERVIEW_ASKING;
	s->cursor = (struct text){ 0 };
	ask(s);
}

void overview_source_out_unknown(const struct overview_source *s, const char *of, struct json_out *o)
{
	struct text code = text_of(s->code), why = text_of(s->why);

	if (s->state != OVERVIEW_UNKNOWN && s->unread > 0) {
		code = text_of(problem_row(P_REDIS_CLUSTER_UNSETTLED)->code);
		why = arena_printf(o->arena,
				   "%s in slots of the Cluster that could not be read, since their server cannot be "
				   "asked, or since they move: %" PRId64 " slots",
				   of, s->unread);
	} else if (s->state != OVERVIEW_UNKNOWN && s->unreadable > 0) {
		code = text_of(problem_row(P_FOREIGN_KEY)->code);
		why = arena_printf(o->arena,
				   "%s that cannot be read, since another program or another version of the daemon "
				   "wrote to their keys: %" PRId64,
				   of, s->unreadable);
	} else if (s->state != OVERVIEW_UNKNOWN) {
		return;
	}
	out_object(o, NULL);
	out_string(o, "of", of);
	out_text(o, "code", code);
	out_text(o, "detail", why);
	out_close(o);
}

void overview_source_end(struct overview_source *s)
{
	self_call_end(&s->call);
}
