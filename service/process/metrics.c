/* metrics: counts, and writes them out; see metrics.h. */
#include "process/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/loop.h"
#include "process/log.h"
#include "version.h"
#include "json/json_out.h"

enum { LOWEST_STATUS = 100, STATUSES = 500, BUCKETS = 14, MAX_GAUGES = 16 };

enum { DURATION, WAIT, HISTOGRAMS };

static const struct histogram_kind {
	const char *name, *help;
	int64_t bounds_us[BUCKETS]; /* beyond the last is +Inf */
	const char *bounds_text[BUCKETS];
} kinds[HISTOGRAMS] = {
	[DURATION] = { "http_request_duration_seconds",
		       "Time from a request's first line to its last byte sent, without waiting and streaming.",
		       { 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000,
			 10000000 },
		       { "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5",
			 "1", "2.5", "10" } },
	[WAIT] = { "wait_seconds",
		   "Time that a request waited for something to happen, or streamed; only requests that did.",
		   { 1000, 5000, 10000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 20000000,
		     30000000, 60000000 },
		   { "0.001", "0.005", "0.01", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "20", "30",
		     "60" } },
};

struct histogram {
	uint64_t buckets[BUCKETS + 1];
	uint64_t count;
	uint64_t sum_us;
};

struct operation_row {
	uint32_t *by_status; /* STATUSES numbers, allocated at the first request; owned */
	struct histogram histograms[HISTOGRAMS];
};

static const struct {
	const char *name, *help;
} counter_rows[] = {
#define COUNTER(name, help) { #name, (help) },
#include "process/metrics.def"
#undef COUNTER
};

static struct {
	const char *name, *help;
	double (*read)(void);
} gauges[MAX_GAUGES];
static size_t gauge_count;

static uint64_t counters[METRIC_COUNT];
static struct operation_row *rows; /* one an operation, and one for requests that matched none */
static size_t operation_count;
static const char *(*operation_name)(size_t i);
static int64_t started_us, started_at_ms;
static int64_t longest_us; /* request since start, without its wait */

bool metrics_open(size_t operations, const char *(*name)(size_t i))
{
	operation_count = operations;
	operation_name = name;
	started_us = loop_now_us();
	started_at_ms = loop_wall_ms();
	rows = calloc(operation_count + 1, sizeof(*rows));
	return rows != NULL;
}

void metrics_close(void)
{
	for (size_t i = 0; rows && i <= operation_count; i++)
		free(rows[i].by_status);
	free(rows);
	rows = NULL;
}

int64_t metrics_uptime_ms(void)
{
	return (loop_now_us() - started_us) / 1000;
}

int64_t metrics_started_at_ms(void)
{
	return started_at_ms;
}

void metrics_count(enum metric m)
{
	counters[m]++;
}

void metrics_gauge(const char *name, const char *help, double (*read)(void))
{
	assert(gauge_count < MAX_GAUGES);
	gauges[gauge_count].name = name;
	gauges[gauge_count].help = help;
	gauges[gauge_count++].read = read;
}

static void measure(struct operation_row *row, size_t kind, int64_t us)
{
	struct histogram *h = &row->histograms[kind];
	size_t bucket = 0;

	while (bucket < BUCKETS && us > kinds[kind].bounds_us[bucket])
		bucket++;
	h->buckets[bucket]++;
	h->count++;
	h->sum_us += (uint64_t)us;
}

void metrics_request(size_t operation, int status, int64_t duration_us, int64_t waited_us)
{
	struct operation_row *row = &rows[operation];
	int64_t busy_us = duration_us - waited_us;

	if (!row->by_status)
		row->by_status = calloc(STATUSES, sizeof(*row->by_status));
	if (row->by_status && status >= LOWEST_STATUS && status < LOWEST_STATUS + STATUSES)
		row->by_status[status - LOWEST_STATUS]++;
	measure(row, DURATION, busy_us);
	if (waited_us > 0)
		measure(row, WAIT, waited_us);
	if (busy_us > longest_us)
		longest_us = busy_us;
}

/* Of all operations together; each bucket counts the shorter ones, too. */
static void out_durations(struct json_out *o)
{
	uint64_t count = 0;

	out_object(o, "requests");
	out_array(o, "buckets");
	for (size_t b = 0; b <= BUCKETS; b++) {
		for (size_t i = 0; i <= operation_count; i++)
			count += rows[i].histograms[DURATION].buckets[b];
		out_object(o, NULL);
		if (b < BUCKETS)
			out_real(o, "le_ms", (double)kinds[DURATION].bounds_us[b] / 1000);
		else
			out_null(o, "le_ms");
		out_int(o, "count", (int64_t)count);
		out_close(o);
	}
	out_close(o);
	out_real(o, "longest_ms", (double)longest_us / 1000);
	out_close(o);
}

static uint64_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	uint64_t kib = 0;

	if (!f)
		return 0;
	while (kib == 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtoull(line + 6, NULL, 10);
	fclose(f);
	return kib * 1024;
}

void metrics_out(struct json_out *o)
{
	out_durations(o);
	out_object(o, "gauges");
	for (size_t i = 0; i < gauge_count; i++)
		out_int(o, gauges[i].name, (int64_t)gauges[i].read());
	out_close(o);
	out_int(o, "resident_bytes", (int64_t)resident_bytes());
}

/* A text that grows in a request's arena. */
struct page {
	struct arena *arena;
	char *at;
	size_t len, size;
};

/* Where `n` more bytes go; NULL without memory. */
static char *room(struct page *p, size_t n)
{
	if (p->len + n > p->size) {
		size_t size = (p->size + n) * 2;
		char *bigger = arena_grow(p->arena, p->at, p->len, size);
		if (!bigger)
			return NULL;
		p->at = bigger;
		p->size = size;
	}
	return p->at + p->len;
}

static void add(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct page *p, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	assert(n >= 0 && (size_t)n < sizeof(line));
	char *to = room(p, (size_t)n);
	if (!to)
		return;
	memcpy(to, line, (size_t)n);
	p->len += (size_t)n;
}

/*
 * The same of parts and a count: there may be thousands of such lines, and a scrape must not hold
 * up the loop.
 */
static void add_count(struct page *p, const struct text *parts, size_t n, uint64_t count)
{
	char digits[TEXT_DIGITS];
	struct text end[] = { text_of_int((int64_t)count, digits), TEXT("\n") };
	size_t len = end[0].len + end[1].len;

	for (size_t i = 0; i < n; i++)
		len += parts[i].len;
	char *to = room(p, len);
	if (!to)
		return;
	for (size_t i = 0; i < n + 2; i++) {
		struct text part = i < n ? parts[i] : end[i - n];
		memcpy(to, part.at, part.len);
		to += part.len;
	}
	p->len += len;
}

static void head(struct page *p, const char *name, const char *type, const char *help)
{
	add(p, "# HELP patternd_%s %s\n# TYPE patternd_%s %s\n", name, help, name, type);
}

static void gauge(struct page *p, const char *name, const char *help, double value)
{
	head(p, name, "gauge", help);
	add(p, "patternd_%s %.17g\n", name, value);
}

static void add_requests(struct page *p)
{
	head(p, "http_requests_total", "counter", "Requests answered, by operation and status (499: the client left).");
	for (size_t i = 0; i <= operation_count; i++)
		for (int s = 0; rows[i].by_status && s < STATUSES; s++)
			if (rows[i].by_status[s])
				add(p, "patternd_http_requests_total{operation=\"%s\",status=\"%d\"} %" PRIu32 "\n",
				    operation_name(i), s + LOWEST_STATUS, rows[i].by_status[s]);
}

static void add_histogram(struct page *p, const struct histogram_kind *kind, const struct histogram *h, const char *op)
{
	uint64_t sum = 0;

	for (size_t b = 0; b < BUCKETS; b++) {
		const struct text parts[] = { TEXT("patternd_"), text_of(kind->name), TEXT("_bucket{operation=\""),
					      text_of(op),       TEXT("\",le=\""),    text_of(kind->bounds_text[b]),
					      TEXT("\"} ") };
		sum += h->buckets[b];
		add_count(p, parts, sizeof(parts) / sizeof(parts[0]), sum);
	}
	add(p, "patternd_%s_bucket{operation=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", kind->name, op, h->count);
	add(p, "patternd_%s_sum{operation=\"%s\"} %.6f\n", kind->name, op, (double)h->sum_us / 1e6);
	add(p, "patternd_%s_count{operation=\"%s\"} %" PRIu64 "\n", kind->name, op, h->count);
}

static void add_histograms(struct page *p, size_t kind)
{
	head(p, kinds[kind].name, "histogram", kinds[kind].help);
	for (size_t i = 0; i <= operation_count; i++)
		if (rows[i].histograms[kind].count)
			add_histogram(p, &kinds[kind], &rows[i].histograms[kind], operation_name(i));
}

static void counter(struct page *p, const char *name, const char *help, uint64_t value)
{
	head(p, name, "counter", help);
	add(p, "patternd_%s %" PRIu64 "\n", name, value);
}

static void add_counters(struct page *p)
{
	char name[96];

	for (size_t i = 0; i < METRIC_COUNT; i++) {
		snprintf(name, sizeof(name), "%s_total", counter_rows[i].name);
		counter(p, name, counter_rows[i].help, counters[i]);
	}
	counter(p, "log_lines_dropped_total", "Log lines dropped because stderr was full.", log_dropped());
}

static void add_loop(struct page *p)
{
	const struct loop_stats *stats = loop_stats();

	counter(p, "loop_stalls_total", "Loop iterations of more than 20 ms: no client is served meanwhile.",
		stats->stalls);
	head(p, "loop_stall_seconds_total", "counter", "Duration of all loop stalls.");
	add(p, "patternd_loop_stall_seconds_total %.6f\n", (double)stats->stall_us / 1e6);
	gauge(p, "loop_longest_iteration_seconds", "Longest loop iteration since start.",
	      (double)stats->longest_us / 1e6);
	gauge(p, "loop_longest_iteration_cpu_seconds", "Most CPU time of one loop iteration since start.",
	      (double)stats->longest_cpu_us / 1e6);
}

struct text metrics_text(struct arena *arena)
{
	struct page p = { .arena = arena };

	add_requests(&p);
	for (size_t kind = 0; kind < HISTOGRAMS; kind++)
		add_histograms(&p, kind);
	add_counters(&p);
	add_loop(&p);
	for (size_t i = 0; i < gauge_count; i++)
		gauge(&p, gauges[i].name, gauges[i].help, gauges[i].read());
	gauge(&p, "resident_memory_bytes", "Resident memory of the daemon.", (double)resident_bytes());
	gauge(&p, "uptime_seconds", "Time since start.", (double)metrics_uptime_ms() / 1000);
	head(&p, "build_info", "gauge", "Always 1; its label is the version.");
	add(&p, "patternd_build_info{version=\"%s\"} 1\n", PATTERND_VERSION);
	return (struct text){ p.at, p.len };
}
