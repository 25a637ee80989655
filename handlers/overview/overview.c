/*
 * overview: see overview/overview.h. It asks operations of the contract, as a client does.
 *
 * At most one round of questions is under way. Requests that arrive during a round wait for its
 * end; requests soon afterwards are answered from the same round. Without a request nothing is
 * asked.
 */
#include "overview/overview.h"

#include <stdlib.h>

#include "common/handler.h"
#include "overview/overview_daemon.h"
#include "overview/overview_find.h"
#include "overview/overview_source.h"
#include "process/config.h"
#include "process/metrics.h"

enum {
	PAGES_MOST = 200, /* of the groups of a queue; a page takes Redis a millisecond */
	ROUND_US = 5000000,
	SHARED_US = 2000000,
	SHARED_TIMES = 10, /* a round that took longer is shared longer: this many times its duration */
};

/*
 * The sources of a round. The lists are asked side by side; then the groups; and last the daemon,
 * which has learned from the others' commands how Redis is.
 */
enum { PUSH, LOCKS, QUEUES, LISTS, DAEMON = LISTS, SOURCES };
static const char *const names[SOURCES] = { "push", "locks", "queues", "daemon" };

struct waiting {
	struct request *req;
	struct overview_get_input in;
	struct waiting *next;
};

struct round {
	struct loop_timer deadline;
	struct arena arena; /* has the cursors and the findings */
	struct overview_source sources[SOURCES], groups;
	struct overview_blocked blocked;
	size_t blocked_at;            /* the queue whose groups are asked about, or the next one */
	bool lacks_groups;            /* not all groups of each queue were read */
	bool has_failed;              /* a question about the groups of a queue */
	struct overview_groups still; /* of the queue that is asked about */
	struct overview_items items;
	struct overview_sums sums;
	int64_t began_us, began_at_ms;
};

static struct round *round_now; /* NULL: no round is under way */
static struct waiting *waiting;
static struct round *shared; /* the last round that ended; NULL at first */
static int64_t shared_until_us;
static double shared_up, shared_refusing; /* redis_up and redis_refusing when the round ended */

/* ---- The answer ---- */

static bool has_sums(const struct overview_source *s)
{
	return s->state != OVERVIEW_UNKNOWN && s->state != OVERVIEW_ABSENT;
}

static void out_sums(struct json_out *o, const struct round *r)
{
	const struct overview_sums *s = &r->sums;

	if (!has_sums(&r->sources[QUEUES])) {
		out_null(o, "queues");
	} else {
		out_object(o, "queues");
		out_int(o, "count", s->queues);
		out_int(o, "ready", s->ready);
		out_int(o, "blocked", s->blocked);
		out_int(o, "delayed", s->delayed);
		out_int(o, "in_flight", s->in_flight);
		out_int(o, "dead", s->dead);
		out_int(o, "paused", s->paused);
		out_close(o);
	}
	if (!has_sums(&r->sources[LOCKS])) {
		out_null(o, "locks");
	} else {
		out_object(o, "locks");
		out_int(o, "count", s->locks);
		out_int(o, "waiters", s->waiters);
		out_close(o);
	}
	if (!has_sums(&r->sources[PUSH])) {
		out_null(o, "push");
	} else {
		out_object(o, "push");
		out_int(o, "targets", s->targets);
		out_int(o, "backing_off", s->backing_off);
		out_close(o);
	}
}

static void out_unknown(struct json_out *o, const char *of, struct overview_source *s)
{
	if (s->state != OVERVIEW_UNKNOWN && overview_source_lacks(s))
		overview_source_explain(s, of);
	else if (s->state != OVERVIEW_UNKNOWN)
		return;
	out_object(o, NULL);
	out_string(o, "of", of);
	out_string(o, "code", s->code);
	out_string(o, "detail", s->why);
	out_close(o);
}

/* Answers by the round that ended last. */
static void send(struct request *req, const struct overview_get_input *in)
{
	struct round *r = shared;
	struct json_out o;
	bool has_groups = !r->lacks_groups && !r->blocked.lacks_queues;
	bool is_complete = r->groups.state == OVERVIEW_UNKNOWN || (r->groups.state == OVERVIEW_READ && has_groups);
	enum overview_kind only = in->kind ? (enum overview_kind)(in->kind - 1) : OVERVIEW_KINDS;

	static_assert((int)OVERVIEW_GET_KIND_CLOCK_OFF == (int)OVERVIEW_CLOCK_OFF + 1, "the contract's order");
	for (size_t i = 0; i < SOURCES; i++)
		is_complete = is_complete && r->sources[i].state != OVERVIEW_CUT;
	out_init(&o, &req->arena, 2048);
	out_object(&o, NULL);
	out_int(&o, "at_ms", r->began_at_ms);
	out_bool(&o, "complete", is_complete);
	overview_items_out(&r->items, only, (size_t)in->limit, &o);
	out_sums(&o, r);
	out_array(&o, "unknown");
	for (size_t i = 0; i < SOURCES; i++)
		out_unknown(&o, names[i], &r->sources[i]);
	out_unknown(&o, "groups", &r->groups);
	out_close(&o);
	out_close(&o);
	struct text answer = out_all(&o);
	if (answer.at && !r->arena.failed)
		answer_body(req, 200, "application/json", answer);
	else
		answer_no_memory(req, EFFECT_NONE);
}

/*
 * A round is not shared if Redis was lost, came back, or began or ceased to refuse calls after it
 * ended.
 */
static bool is_fresh(void)
{
	return shared && loop_now_us() < shared_until_us && metrics_gauge_now("redis_up") == shared_up &&
	       metrics_gauge_now("redis_refusing") == shared_refusing;
}

static void send_all(void)
{
	while (waiting) {
		struct waiting *w = waiting;
		waiting = w->next;
		struct request *req = w->req; /* its arena has `w` */
		send(req, &w->in);
		request_call_ended(req);
	}
}

/* ---- A round ---- */

static void free_round(struct round *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < SOURCES; i++)
		overview_source_end(&r->sources[i]);
	overview_source_end(&r->groups);
	loop_timer_stop(&r->deadline);
	arena_free(&r->arena);
	free(r);
}

static void finish(struct round *r)
{
	/* If Redis answered nothing, it spent no time, and may be back soon. */
	bool has_answers = r->sources[LOCKS].has_answer || r->sources[QUEUES].has_answer;
	int64_t from_us = has_answers ? r->began_us : loop_now_us();
	int64_t shared_us = (loop_now_us() - from_us) * SHARED_TIMES;

	free_round(shared);
	shared = r;
	round_now = NULL;
	shared_until_us = from_us + (shared_us > SHARED_US ? shared_us : SHARED_US);
	shared_up = metrics_gauge_now("redis_up");
	shared_refusing = metrics_gauge_now("redis_refusing");
	if (r->arena.failed)
		shared_until_us = 0;
	send_all();
}

/* Called at the start of a round or of its groups, and with each page. False: memory ran out. */
static bool set_deadline(struct round *r)
{
	int64_t at_us = loop_now_us() + OVERVIEW_ANSWER_US, last_us = r->began_us + ROUND_US;

	return loop_timer_set(&r->deadline, at_us < last_us ? at_us : last_us);
}

static void on_daemon(struct overview_source *s)
{
	finish(s->context);
}

/* The daemon answers without Redis, so the deadline does not apply to it. */
static void ask_daemon(struct round *r)
{
	loop_timer_stop(&r->deadline);
	overview_source_begin(&r->sources[DAEMON]);
	if (r->sources[DAEMON].state != OVERVIEW_ASKING)
		finish(r);
}

static void ask_groups(struct round *r);

static void take_groups(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;

	set_deadline(r);
	overview_add_groups(&r->still, &r->blocked.of[r->blocked_at], json_tree_member(answer, "items"), now_ms);
}

static void end_queue(struct round *r, bool has_all)
{
	overview_find_groups(&r->items, &r->blocked.of[r->blocked_at++], &r->still, has_all);
	r->still = (struct overview_groups){ 0 };
	r->lacks_groups = r->lacks_groups || !has_all;
}

/* Queues about which nothing was asked, because a question failed or took too long. */
static void end_groups(struct round *r)
{
	while (r->blocked_at < r->blocked.count)
		end_queue(r, false);
	if (r->has_failed)
		r->groups.state = OVERVIEW_UNKNOWN;
	ask_daemon(r);
}

static void on_groups(struct overview_source *s)
{
	struct round *r = s->context;

	end_queue(r, s->state == OVERVIEW_READ);
	r->has_failed = r->has_failed || s->state == OVERVIEW_UNKNOWN;
	s->state = OVERVIEW_READ; /* the next queue may have fewer groups, and be sound */
	ask_groups(r);
}

/* Asks why the messages of each queue are blocked, one queue after the other. */
static void ask_groups(struct round *r)
{
	if (r->groups.state == OVERVIEW_READ && r->blocked_at < r->blocked.count) {
		r->groups.name = text_of(r->blocked.of[r->blocked_at].name);
		set_deadline(r);
		overview_source_begin(&r->groups);
	}
	if (r->groups.state != OVERVIEW_ASKING)
		end_groups(r);
}

static bool all_ended(const struct round *r)
{
	for (size_t i = 0; i < LISTS; i++)
		if (r->sources[i].state == OVERVIEW_ASKING)
			return false;
	return true;
}

static void on_ended(struct overview_source *s)
{
	struct round *r = s->context;

	if (!all_ended(r))
		return;
	overview_sort_blocked(&r->blocked);
	ask_groups(r);
}

static void on_deadline(struct loop_timer *t)
{
	struct round *r = container_of(t, struct round, deadline);

	for (size_t i = 0; i < LISTS; i++)
		overview_source_cut(&r->sources[i]);
	if (r->groups.state == OVERVIEW_ASKING)
		overview_source_cut(&r->groups);
	end_groups(r);
}

/* ---- The sources ---- */

static void take_queues(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;
	const struct json *items = json_tree_member(answer, "items");

	set_deadline(r);
	for (const struct json *item = items ? items->first : NULL; item; item = item->next)
		overview_find_queue(&r->items, &r->blocked, &r->sums, item, now_ms);
}

static void take_locks(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;
	const struct json *items = json_tree_member(answer, "items");

	set_deadline(r);
	for (const struct json *item = items ? items->first : NULL; item; item = item->next)
		overview_find_lock(&r->items, &r->sums, item, now_ms);
}

static void take_push(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;
	const struct json *items = json_tree_member(answer, "items");

	for (const struct json *item = items ? items->first : NULL; item; item = item->next)
		overview_find_target(&r->items, &r->sums, item, now_ms);
}

static void take_info(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;

	(void)now_ms;
	overview_find_daemon(&r->items, answer);
}

/* False: memory ran out. */
static bool begin_round(void)
{
	static const struct overview_source asked[SOURCES] = {
		[PUSH] = { .operation = "push_list", .take = take_push, .is_list = true },
		[LOCKS] = { .operation = "lock_list", .take = take_locks, .is_list = true },
		[QUEUES] = { .operation = "queue_list", .take = take_queues, .is_list = true },
		[DAEMON] = { .operation = "info_get", .take = take_info },
	};
	struct round *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	r->deadline.expired = on_deadline;
	r->began_us = loop_now_us();
	r->began_at_ms = loop_wall_ms();
	r->items.arena = &r->arena;
	if (!set_deadline(r)) {
		free(r);
		return false;
	}
	round_now = r;
	r->groups = (struct overview_source){ .operation = "queue_group_list",
					      .take = take_groups,
					      .ended = on_groups,
					      .context = r,
					      .arena = &r->arena,
					      .is_list = true,
					      .pages_most = PAGES_MOST,
					      .state = OVERVIEW_READ };
	for (size_t i = 0; i < SOURCES; i++) {
		r->sources[i] = asked[i];
		r->sources[i].ended = i == DAEMON ? on_daemon : on_ended;
		r->sources[i].context = r;
		r->sources[i].arena = &r->arena;
	}
	if (*config()->lock_quorum)
		r->sources[LOCKS].state = OVERVIEW_ABSENT;
	for (size_t i = 0; i < LISTS; i++)
		if (r->sources[i].state == OVERVIEW_ASKING)
			overview_source_begin(&r->sources[i]);
	if (all_ended(r)) /* without memory no source was asked; the round then ends at its deadline */
		loop_timer_set(&r->deadline, loop_now_us());
	return true;
}

void overview_get(struct request *req, const struct overview_get_input *in)
{
	if (is_fresh()) {
		send(req, in);
		return;
	}
	struct waiting *w = arena_alloc(&req->arena, sizeof(*w));
	if (!w || (!round_now && !begin_round())) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*w = (struct waiting){ req, *in, waiting };
	waiting = w;
	request_expect_answer(req);
}

void overview_close(void)
{
	free_round(round_now);
	free_round(shared);
	round_now = shared = NULL;
	while (waiting) {
		struct request *req = waiting->req;
		waiting = waiting->next;
		request_call_ended(req);
	}
}
