#include "call/measure.h"

#include <assert.h>

#include "core/loop.h"
#include "process/metrics.h"
#include "request/request.h"
#include "topology/topology.h"

/* After a scrape, rounds are made for SCRAPES_END_US, five minutes. */
enum { MOST_MEASURES = 4, ROUND_US = 1000 * MEASURE_ROUND_MS, SCRAPES_END_US = 300000000 };

static const struct operation operation = { .id = "measure", .method = "GET" };
static const struct measure *measures[MOST_MEASURES];
static size_t measure_count;
static size_t kind_at, name_at; /* the name that is being asked about, or is next */
static unsigned asked;          /* `born` of that name */
static bool is_asking, has_failed;
static int64_t scraped_us; /* 0: never */
static struct loop_timer next_round;

void measure_register(const struct measure *m)
{
	assert(measure_count < MOST_MEASURES);
	measures[measure_count++] = m;
}

static bool is_scraped(void)
{
	return scraped_us && loop_now_us() - scraped_us <= SCRAPES_END_US;
}

static void sample(const struct measure *m, size_t i)
{
	named_sample(m->kind, i, metrics_started_at_ms() + metrics_uptime_ms());
}

static void on_measured(struct request *req, const struct reply *r)
{
	const struct measure *m = measures[kind_at];

	has_failed = !r && req->result->failed && !topology_is_cluster();
	if (!r || m->kind->names[name_at].born != asked)
		return;
	m->read(named_measured(m->kind, name_at), req, r);
	sample(m, name_at);
}

static void ask_next(void);

static void on_ended(struct request *req)
{
	(void)req;
	is_asking = false;
	name_at++;
	ask_next();
}

static void ask(const struct measure *m)
{
	struct request *req = request_background(&operation, NULL, on_ended);

	if (!req)
		return; /* if memory runs out, this round ends */
	is_asking = true;
	asked = m->kind->names[name_at].born;
	struct call *c = m->look(req, m->kind->names[name_at].name);
	call_skip_foreign(c);
	call_may_fail(c);
	call_send(c, on_measured);
	request_background_start(req);
}

/*
 * Asks about the next name of this round. A round ends with the last name, or if Redis did not
 * answer; in a Cluster another server may answer.
 */
static void ask_next(void)
{
	while (kind_at < measure_count) {
		const struct measure *m = measures[kind_at];
		bool is_kind = m->look && name_at < m->kind->count;
		if (is_kind && named_is_wanted(m->kind, name_at, is_scraped()))
			break;
		name_at = is_kind ? name_at + 1 : 0;
		kind_at += !is_kind;
	}
	if (kind_at < measure_count && !has_failed)
		ask(measures[kind_at]);
}

/* Samples the counters, which are the daemon's own, in case Redis is not reachable. */
static void sample_counters(void)
{
	for (size_t m = 0; m < measure_count; m++)
		for (size_t i = 0; !measures[m]->look && i < measures[m]->kind->count; i++)
			if (named_is_wanted(measures[m]->kind, i, is_scraped()))
				sample(measures[m], i);
}

/* Returns true if a round would have a name, now or soon. */
static bool is_wanted(void)
{
	for (size_t i = 0; i < measure_count; i++)
		if ((measures[i]->kind->is_on && is_scraped()) || named_is_looked_at(measures[i]->kind))
			return true;
	return false;
}

static void begin_round(struct loop_timer *t)
{
	if (!is_wanted())
		return;
	loop_timer_set(t, loop_now_us() + ROUND_US);
	sample_counters();
	if (is_asking)
		return;
	if (kind_at >= measure_count) /* otherwise the last round failed, and this one continues after that name */
		kind_at = name_at = 0;
	has_failed = false;
	ask_next();
}

void measure_looked(void)
{
	if (loop_timer_is_set(&next_round))
		return;
	next_round.expired = begin_round;
	begin_round(&next_round);
}

void measure_scraped(void)
{
	scraped_us = loop_now_us();
	measure_looked();
}
