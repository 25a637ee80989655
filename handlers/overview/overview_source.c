/* overview_source: see overview/overview_source.h. */
#include "overview/overview_source.h"

#include <stdio.h>

#include "core/loop.h"
#include "request/problem.h"
#include "request/request.h"
#include "json/read.h"

enum { PAGE = 1000 }; /* the largest page of the contract */

bool overview_source_lacks(const struct overview_source *s)
{
	return s->unread > 0 || s->unreadable > 0;
}

void overview_source_explain(struct overview_source *s, const char *of)
{
	if (s->unread > 0) {
		snprintf(s->code, sizeof(s->code), "%s", problem_row(P_REDIS_CLUSTER_UNSETTLED)->code);
		snprintf(s->why, sizeof(s->why),
			 "%s in slots of the Cluster that could not be read, since their server cannot be asked, or "
			 "since they move: %lld slots",
			 of, (long long)s->unread);
		return;
	}
	snprintf(s->code, sizeof(s->code), "%s", problem_row(P_FOREIGN_KEY)->code);
	snprintf(
		s->why, sizeof(s->why),
		"%s that cannot be read, since another program or another version of the daemon wrote to their keys: %lld",
		of, (long long)s->unreadable);
}

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

static void on_answered(struct inner *i);

static void ask(struct overview_source *s)
{
	const struct text_pair query[] = { { TEXT("limit"), TEXT("1000") }, { TEXT("cursor"), s->cursor } };

	static_assert(PAGE == 1000, "the query has another limit");
	s->asked_us = loop_now_us();
	s->inner.answered = on_answered;
	if (!inner_run(&s->inner, inner_operation(s->operation),
		       &(struct inner_input){ .name = s->name,
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
	s->take(s, answer, s->inner.req->now_ms);
	s->cursor = next.at ? arena_copy(s->arena, next.at, next.len) : next;
	if (next.at && !s->cursor.at)
		fail_with(s, P_OVERLOADED, "there is no memory for the next page");
	else if (!s->is_list || !next.at)
		s->state = OVERVIEW_READ;
	else if (++s->pages == s->pages_most)
		s->state = OVERVIEW_CUT;
}

static void on_answered(struct inner *i)
{
	struct overview_source *s = container_of(i, struct overview_source, inner);
	struct json_error error;
	const struct json *answer = json_read(&i->req->arena, i->req->answer.body, NULL, NULL, &error);

	if (!answer)
		fail_with(s, P_OVERLOADED, "there is no memory to read the answer");
	else if (i->req->answer.problem)
		fail(s, i->req->answer.problem->code, json_tree_string(answer, "detail"));
	else
		take(s, answer);
	inner_end(i);
	if (s->state == OVERVIEW_ASKING)
		ask(s);
	if (s->state != OVERVIEW_ASKING)
		s->ended(s);
}

void overview_source_begin(struct overview_source *s)
{
	s->state = OVERVIEW_ASKING;
	s->cursor = (struct text){ 0 };
	s->pages = 0;
	ask(s);
}

void overview_source_cut(struct overview_source *s)
{
	if (s->state != OVERVIEW_ASKING)
		return;
	inner_end(&s->inner);
	if (s->has_answer || loop_now_us() - s->asked_us < OVERVIEW_ANSWER_US)
		s->state = OVERVIEW_CUT;
	else
		fail_with(s, P_NO_ANSWER, "no answer came within two seconds");
}

void overview_source_end(struct overview_source *s)
{
	inner_end(&s->inner);
}
