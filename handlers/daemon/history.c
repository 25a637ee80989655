/*
 * history: see history.h. A ring of 150 samples, each of a period of 2 s, takes 12 KiB.
 *
 * If the process pauses (it is stopped, or the machine sleeps), the next sample covers the pause,
 * and its rates are means over it.
 */
#include "daemon/history.h"

#include "core/loop.h"
#include "operations.h"
#include "process/metrics.h"
#include "redis/connection.h"
#include "request/answer.h"
#include "request/request.h"

enum { SAMPLES = 150, INTERVAL_MS = 2000 };

struct sample {
	int64_t at_ms;
	double requests, errors, refusals; /* per second */
	double p50_ms, p99_ms, redis_ms;   /* -1: there was no request, or no call */
	unsigned connections, waiting, redis_calls;
	int64_t resident_bytes;
};

static struct sample ring[SAMPLES];
static size_t taken; /* samples since the start */
static struct metrics_totals before;
static struct redis_answers answers_before;
static int64_t before_us;
static struct loop_timer next;

static struct metrics_totals difference(const struct metrics_totals *now)
{
	struct metrics_totals d = *now;

	d.requests -= before.requests;
	d.errors -= before.errors;
	d.refusals -= before.refusals;
	for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++)
		d.durations[i] -= before.durations[i];
	return d;
}

static void take(struct loop_timer *t)
{
	struct metrics_totals now;
	struct redis_answers answers = connections_answers();
	double seconds = (double)(loop_now_us() - before_us) / 1e6;
	uint64_t calls = answers.count - answers_before.count;

	metrics_totals(&now);
	struct metrics_totals d = difference(&now);
	ring[taken++ % SAMPLES] = (struct sample){
		.at_ms = metrics_started_at_ms() + metrics_uptime_ms(), /* does not go back, as the wall clock may */
		.requests = (double)d.requests / seconds,
		.errors = (double)d.errors / seconds,
		.refusals = (double)d.refusals / seconds,
		.p50_ms = d.requests ? metrics_quantile_ms(&d, 0.5) : -1,
		.p99_ms = d.requests ? metrics_quantile_ms(&d, 0.99) : -1,
		.redis_ms = calls ? (double)(answers.took_us - answers_before.took_us) / 1000 / (double)calls : -1,
		.connections = (unsigned)metrics_gauge_now("http_connections"),
		.waiting = (unsigned)metrics_gauge_now("requests_waiting"),
		.redis_calls = (unsigned)metrics_gauge_now("redis_calls_in_flight"),
		.resident_bytes = (int64_t)metrics_resident_bytes(),
	};
	before = now;
	answers_before = answers;
	before_us = loop_now_us();
	loop_timer_set(t, before_us + INTERVAL_MS * 1000);
}

void history_open(void)
{
	before_us = loop_now_us();
	next.expired = take;
	loop_timer_set(&next, before_us + INTERVAL_MS * 1000);
}

/* ---- GET /info/history ---- */

static void out_real_or_null(struct json_out *o, const char *key, double value)
{
	if (value >= 0)
		out_real(o, key, value);
	else
		out_null(o, key);
}

static void out_sample(struct json_out *o, const struct sample *s)
{
	out_object(o, NULL);
	out_int(o, "at_ms", s->at_ms);
	out_real(o, "requests_per_second", s->requests);
	out_real(o, "errors_per_second", s->errors);
	out_real(o, "refusals_per_second", s->refusals);
	out_real_or_null(o, "p50_ms", s->p50_ms);
	out_real_or_null(o, "p99_ms", s->p99_ms);
	out_real_or_null(o, "redis_ms", s->redis_ms);
	out_int(o, "connections", s->connections);
	out_int(o, "waiting", s->waiting);
	out_int(o, "redis_calls", s->redis_calls);
	out_int(o, "resident_bytes", s->resident_bytes);
	out_close(o);
}

void info_history_get(struct request *req, const struct info_history_get_input *in)
{
	struct json_out *o = answer_begin(req, 200);

	out_int(o, "started_at_ms", metrics_started_at_ms());
	out_int(o, "interval_ms", INTERVAL_MS);
	out_array(o, "samples");
	for (size_t i = taken > SAMPLES ? taken - SAMPLES : 0; i < taken; i++)
		if (ring[i % SAMPLES].at_ms > in->after_at_ms)
			out_sample(o, &ring[i % SAMPLES]);
	out_close(o);
	answer_end(req);
}
