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
#include "overview/overview_groups.h"
#include "overview/overview_source.h"
#include "process/metrics.h"

enum {
	ROUND_US = 5000000,
	SHARED_US = 2000000,
	SHARED_TIMES = 10, /* a round that took longer is shared longer: this many times its duration */
	SUMS_MOST = 8,
};

/*
 * The sources of a round. The lists are asked side by side; then the groups; and last the daemon,
 * which has learned from the others' commands how Redis is.
 */
enum { PUSH, LOCKS, QUEUES, LISTS, DAEMON = LISTS, GROUPS, SOURCES };
static const struct {
	const char *of, *operation;
	struct {
		const char *name, *member; /* of an item; NULL: each item counts 1 */
	} sums[SUMS_MOST];
} known[SOURCES] = {
	[PUSH] = { "push", "push_list", { { "targets", NULL }, { "backing_off", "state" } } },
	[LOCKS] = { "locks", "lock_list", { { "count", NULL }, { "waiters", "waiter_count" } } },
	[QUEUES] = { "queues",
		     "queue_list",
		     { { "count", NULL },
		       { "ready", "ready" },
		       { "blocked", "blocked" },
		       { "delayed", "delayed" },
		       { "in_flight", "in_flight" },
		       { "dead", "dead" },
		       { "paused", "paused" } } },
	[DAEMON] = { .of = "daemon", .operation = "info_get" },
	[GROUPS] = { .of = "groups", .operation = "queue_group_list" },
};

struct waiting {
	struct request *req;
	struct overview_get_input in;
	struct waiting *next;
};

struct round {
	struct arena arena; /* has the cursors, the queues and the findings */
	struct overview_source sources[SOURCES];
	int64_t sums[LISTS][SUMS_MOST];
	struct overview_groups groups;
	bool has_failed; /* a question about the groups of a queue */
	struct overview_items items;
	int64_t began_us, began_at_ms;
};

static struct round *round_now; /* NULL: no round is under way */
static struct waiting *waiting;
static struct round *shared; /* the last round that ended; NULL at first */
static int64_t shared_until_us;
static double shared_up, shared_refusing; /* redis_up and redis_refusing when the round ended */

/* ---- The answer ---- */

static void out_sums(struct json_out *o, const struct round *r, size_t list)
{
	if (r->sources[list].state == OVERVIEW_UNKNOWN || r->sources[list].state == OVERVIEW_ABSENT) {
		out_null(o, known[list].of);
		return;
	}
	out_object(o, known[list].of);
	for (size_t i = 0; known[list].sums[i].name; i++)
		out_int(o, known[list].sums[i].name, r->sums[list][i]);
	out_close(o);
}

/* Answers from the round that ended last. */
static void send(struct request *req, const struct overview_get_input *in)
{
	struct round *r = shared;
	bool is_complete = true;
	struct json_out o;

	for (size_t i = 0; i < SOURCES; i++)
		is_complete = is_complete && r->sources[i].state != OVERVIEW_CUT;
	out_init(&o, &req->arena, 2048);
	out_object(&o, NULL);
	out_int(&o, "at_ms", r->began_at_ms);
	out_bool(&o, "complete", is_complete);
	overview_items_out(&r->items, in->kind, (size_t)in->limit, &o);
	for (size_t i = LISTS; i > 0; i--)
		out_sums(&o, r, i - 1);
	out_array(&o, "unknown");
	for (size_t i = 0; i < SOURCES; i++)
		overview_source_out_unknown(&r->sources[i], known[i].of, &o);
	out_close(&o);
	out_close(&o);
	struct text answer = out_all(&o);
	if (answer.at && !r->arena.failed)
		answer_body(req, 200, "application/json", answer);
	else
		answer_no_memory(req, EFFECT_NONE);
}

/*
 * A round is not shared if Redis was lost, came back, or began or stopped to refuse calls after it
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
		struct request *req = w->req; /* `w` is in its arena, and may be freed with it */
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

static void on_daemon(struct overview_source *s)
{
	finish(s->context);
}

static void ask_daemon(struct round *r)
{
	overview_source_begin(&r->sources[DAEMON]);
	if (r->sources[DAEMON].state != OVERVIEW_ASKING)
		finish(r);
}

/* Asks why the messages of each queue are blocked, one queue after the other. */
static void ask_groups(struct round *r)
{
	struct overview_source *s = &r->sources[GROUPS];
	struct overview_groups *g = &r->groups;

	while (g->at < g->count) {
		s->name = g->queues[g->at].name;
		if (s->state != OVERVIEW_CUT)
			overview_source_begin(s);
		if (s->state == OVERVIEW_ASKING)
			return;
		r->has_failed = r->has_failed || s->state == OVERVIEW_UNKNOWN;
		overview_groups_end(g, &r->items, false);
	}
	if (r->has_failed)
		s->state = OVERVIEW_UNKNOWN;
	ask_daemon(r);
}

static void on_groups(struct overview_source *s)
{
	struct round *r = s->context;

	r->has_failed = r->has_failed || s->state == OVERVIEW_UNKNOWN;
	overview_groups_end(&r->groups, &r->items, s->state == OVERVIEW_READ);
	ask_groups(r);
}

/* False: a list is still being read. */
static bool all_ended(const struct round *r)
{
	for (size_t i = 0; i < LISTS; i++)
		if (r->sources[i].state == OVERVIEW_ASKING)
			return false;
	return true;
}

static void on_list(struct overview_source *s)
{
	struct round *r = s->context;

	if (!all_ended(r))
		return;
	overview_groups_sort(&r->groups);
	ask_groups(r);
}

/* ---- The sources ---- */

/* What an item adds to a sum: a number, or 1 if it is true, or a target that backs off. */
static int64_t size_of(const struct json *item, const char *member)
{
	struct text state = member ? json_tree_string(item, member) : (struct text){ 0 };

	if (!member || json_tree_is_true(item, member) || text_is(state, "backing_off"))
		return 1;
	if (text_is(state, "checking"))
		return json_tree_string(item, "reason").at != NULL;
	return json_tree_int(item, member, 0);
}

static void take_list(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;
	const struct json *items = json_tree_member(answer, "items");
	size_t list = (size_t)(s - r->sources);

	(void)now_ms;
	for (const struct json *item = items ? items->first : NULL; item; item = item->next) {
		for (size_t i = 0; known[list].sums[i].name; i++)
			r->sums[list][i] += size_of(item, known[list].sums[i].member);
		overview_items_collect(&r->items, item);
		if (list == QUEUES)
			overview_groups_note(&r->groups, item);
	}
}

static void take_groups(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;

	overview_groups_take(&r->groups, answer, now_ms);
}

static void take_daemon(struct overview_source *s, const struct json *answer, int64_t now_ms)
{
	struct round *r = s->context;

	(void)now_ms;
	overview_items_collect(&r->items, answer);
}

/* False: memory ran out. */
static bool begin_round(void)
{
	struct round *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	r->began_us = loop_now_us();
	r->began_at_ms = loop_wall_ms();
	r->items.arena = r->groups.arena = &r->arena;
	for (size_t i = 0; i < SOURCES; i++)
		r->sources[i] = (struct overview_source){
			.operation = known[i].operation,
			.take = i == DAEMON   ? take_daemon
				: i == GROUPS ? take_groups
					      : take_list,
			.ended = i == DAEMON   ? on_daemon
				 : i == GROUPS ? on_groups
					       : on_list,
			.context = r,
			.arena = &r->arena,
			.is_list = i != DAEMON,
			.last_us = r->began_us + ROUND_US,
		};
	for (size_t i = 0; i < LISTS; i++)
		if (i == LOCKS && *config()->lock_quorum)
			r->sources[i].state = OVERVIEW_ABSENT;
		else
			overview_source_begin(&r->sources[i]);
	if (all_ended(r)) { /* no list was asked */
		free_round(r);
		return false;
	}
	round_now = r;
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
