/*
 * info_stream: GET /info/stream: what this daemon does, each second, to whoever looks.
 *
 * One timer and one look at the figures for all of them; without any there is neither.
 */
#include <stdlib.h>
#include <time.h>

#include "process/config.h"
#include "core/loop.h"
#include "process/metrics.h"
#include "operations.h"
#include "redis/redis.h"
#include "request/request.h"
#include "request/stream.h"
#include "wait/wait.h"

enum { EVERY_MS = 1000, FIRST_BYTES = 2048 };

struct watcher {
	struct stream *stream; /* (ref) */
	struct watcher *next;
};

/* What rates are made of: the difference of two. */
struct figures {
	int64_t at_us;
	struct metrics_durations requests;
	struct redis_answers redis;
};

static struct watcher *watchers;
static struct timer tick;
static struct figures latest; /* as of the latest tick */

static struct figures look(void)
{
	return (struct figures){ loop_now_us(), metrics_durations(), redis_answers() };
}

static int64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What happened between both; null where nothing did. */
static void out_interval(struct json_out *o, const struct figures *before, const struct figures *now)
{
	static const struct {
		const char *key;
		double part;
	} quantiles[] = { { "p50_ms", 0.5 }, { "p99_ms", 0.99 } };
	int64_t us = now->at_us - before->at_us;
	uint64_t requests = now->requests.count - before->requests.count;
	uint64_t answers = now->redis.count - before->redis.count;

	out_int(o, "interval_ms", us / 1000);
	if (us)
		out_real(o, "requests_per_second", (double)requests * 1e6 / (double)us);
	else
		out_null(o, "requests_per_second");
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		if (requests)
			out_real(o, quantiles[i].key,
				 metrics_quantile_ms(&before->requests, &now->requests, quantiles[i].part));
		else
			out_null(o, quantiles[i].key);
	if (answers)
		out_real(o, "redis_ms", (double)(now->redis.took_us - before->redis.took_us) / 1000 / (double)answers);
	else
		out_null(o, "redis_ms");
}

static struct text event(struct arena *arena, const struct figures *before, const struct figures *now)
{
	const struct loop_turns *turns = loop_turns();
	bool connected = redis_connections() > 0;
	struct json_out o;

	out_init(&o, arena, FIRST_BYTES);
	out_object(&o, NULL);
	out_int(&o, "at_ms", loop_wall_ms());
	out_int(&o, "uptime_ms", metrics_uptime_ms());
	out_interval(&o, before, now);
	out_int(&o, "requests", (int64_t)now->requests.count);
	out_int(&o, "streams", stream_count());
	out_string(&o, "redis_mode", redis_mode());
	out_string(&o, "redis_trouble", connected ? NULL : redis_trouble(NULL));
	out_int(&o, "resident_bytes", (int64_t)metrics_resident_bytes());
	out_int(&o, "cpu_ms", cpu_ms());
	out_int(&o, "stalls", (int64_t)turns->stalls);
	out_int(&o, "stalled_ms", turns->stall_us / 1000);
	out_int(&o, "longest_turn_ms", turns->longest_us / 1000);
	metrics_out(&o);
	out_close(&o);
	return out_all(&o);
}

/* To these, one or all. */
static void tell(const struct watcher *first, const struct watcher *end, const struct figures *before,
		 const struct figures *now)
{
	struct arena arena;

	if (!arena_new(1, &arena))
		return;
	struct text data = event(&arena, before, now);
	for (const struct watcher *w = first; w != end && data.at; w = w->next)
		stream_event(w->stream, "figures", data);
	arena_free(&arena);
}

static void on_tick(struct timer *t)
{
	struct figures now = look();

	tell(watchers, NULL, &latest, &now);
	latest = now;
	metrics_interval();
	timer_set(t, loop_now_us() + EVERY_MS * 1000);
}

static void on_left(void *whose)
{
	struct watcher **at = &watchers;

	while (*at != whose)
		at = &(*at)->next;
	*at = (*at)->next;
	free(whose);
	if (!watchers)
		timer_stop(&tick);
}

void info_stream(struct request *req, const struct info_stream_input *in)
{
	static const struct stream_owner owner = { .left = on_left };
	struct figures now = look();

	(void)in;
	if (!wait_has_room(req))
		return;
	struct watcher *w = calloc(1, sizeof(*w));
	if (!w) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	w->stream = stream_begin(req, &owner, w);
	if (!w->stream) {
		free(w);
		return;
	}
	w->next = watchers;
	watchers = w;
	tick.expired = on_tick;
	if (!w->next) {
		latest = now;
		metrics_interval();
		timer_set(&tick, loop_now_us() + EVERY_MS * 1000);
	}
	if (tick.place)
		tell(w, w->next, &now, &now);
	else
		stream_end(w->stream); /* there was no memory for the timer */
}
