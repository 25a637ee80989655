#include "process/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/loop.h"
#include "process/histogram.h"
#include "process/log.h"
#include "process/named.h"
#include "version.h"
#include "json/out.h"

enum { LOWEST_STATUS = 100, STATUSES = 500, BUCKETS = HISTOGRAM_BUCKETS, MAX_GAUGES = 24 };

enum { DURATION, WAIT, HISTOGRAMS };

static const struct histogram_kind kinds[HISTOGRAMS] = {
	[DURATION] = { "http_request_duration_seconds",
		       "Time from a request's first line to its last byte sent, without waiting and streaming.",
		       { 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000,
			 10000000 },
		       { "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5",
			 "1", "2.5", "10" } },
	[WAIT] = { .name = "wait_seconds",
		   .help = "Time that a request waited for an event, or streamed; other requests are not counted.",
		   HISTOGRAM_WAIT_BOUNDS },
};

struct operation_row {
	uint32_t *by_status; /* STATUSES numbers, allocated with the first request; owned */
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
static struct operation_row *rows; /* one per operation, and one for requests that matched none */
static size_t operation_count;
static const char *(*operation_name)(size_t i);
static int64_t started_us, started_at_ms;
/* longest request since the start, and since metrics_totals, without its wait */
static int64_t longest_us, longest_lately_us;
static uint64_t errors;

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

void metrics_add(enum metric m, uint64_t n)
{
	counters[m] += n;
}

void metrics_gauge(const char *name, const char *help, double (*read)(void))
{
	assert(gauge_count < MAX_GAUGES);
	gauges[gauge_count].name = name;
	gauges[gauge_count].help = help;
	gauges[gauge_count++].read = read;
}

void metrics_request(size_t operation, int status, int64_t duration_us, int64_t waited_us)
{
	struct operation_row *row = &rows[operation];
	int64_t busy_us = duration_us - waited_us;

	if (!row->by_status)
		row->by_status = calloc(STATUSES, sizeof(*row->by_status));
	if (row->by_status && status >= LOWEST_STATUS && status < LOWEST_STATUS + STATUSES)
		row->by_status[status - LOWEST_STATUS]++;
	histogram_measure(&row->histograms[DURATION], &kinds[DURATION], busy_us);
	if (waited_us > 0)
		histogram_measure(&row->histograms[WAIT], &kinds[WAIT], waited_us);
	errors += status >= 500;
	if (busy_us > longest_us)
		longest_us = busy_us;
	if (busy_us > longest_lately_us)
		longest_lately_us = busy_us;
}

/*
 * Writes the histogram of all operations together. Each bucket also counts the shorter durations.
 */
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

void metrics_totals(struct metrics_totals *out)
{
	*out = (struct metrics_totals){ .errors = errors,
					.refusals = counters[METRIC_requests_refused],
					.longest_us = longest_lately_us };
	longest_lately_us = 0;
	for (size_t i = 0; i <= operation_count; i++) {
		const struct histogram *h = &rows[i].histograms[DURATION];
		out->requests += h->count;
		for (size_t b = 0; b <= BUCKETS; b++)
			out->durations[b] += h->buckets[b];
	}
}

double metrics_quantile_ms(const struct metrics_totals *of, double part)
{
	double wanted = part * (double)of->requests, below = 0;
	size_t b = 0;

	while (b < BUCKETS && below + (double)of->durations[b] < wanted)
		below += (double)of->durations[b++];
	double low = b ? (double)kinds[DURATION].bounds_us[b - 1] : 0, high = (double)of->longest_us;
	if (b < BUCKETS && (double)kinds[DURATION].bounds_us[b] < high)
		high = (double)kinds[DURATION].bounds_us[b];
	double share = of->durations[b] ? (wanted - below) / (double)of->durations[b] : 0;
	return (low + (high - low) * share) / 1000;
}

double metrics_gauge_now(const char *name)
{
	for (size_t i = 0; i < gauge_count; i++)
		if (strcmp(gauges[i].name, name) == 0)
			return gauges[i].read();
	return 0;
}

uint64_t metrics_resident_bytes(void)
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
	out_int(o, "resident_bytes", (int64_t)metrics_resident_bytes());
}

static void add_requests(struct exposition *p)
{
	exposition_head(p, "http_requests_total", "counter",
			"Requests answered, by operation and status (499: the client disconnected).");
	for (size_t i = 0; i <= operation_count; i++)
		for (int s = 0; rows[i].by_status && s < STATUSES; s++)
			if (rows[i].by_status[s])
				exposition_add(p,
					       "patternd_http_requests_total{operation=\"%s\",status=\"%d\"} %" PRIu32
					       "\n",
					       operation_name(i), s + LOWEST_STATUS, rows[i].by_status[s]);
}

static void add_histograms(struct exposition *p, size_t kind)
{
	char label[96];

	exposition_head(p, kinds[kind].name, "histogram", kinds[kind].help);
	for (size_t i = 0; i <= operation_count; i++) {
		if (!rows[i].histograms[kind].count)
			continue;
		snprintf(label, sizeof(label), "operation=\"%s\"", operation_name(i));
		histogram_out(p, &kinds[kind], &rows[i].histograms[kind], text_of(label));
	}
}

static void add_counters(struct exposition *p)
{
	char name[96];

	for (size_t i = 0; i < METRIC_COUNT; i++) {
		snprintf(name, sizeof(name), "%s_total", counter_rows[i].name);
		exposition_counter(p, name, counter_rows[i].help, counters[i]);
	}
	exposition_counter(p, "log_lines_dropped_total", "Log lines dropped because stderr was full.", log_dropped());
}

static void add_loop(struct exposition *p)
{
	const struct loop_stats *stats = loop_stats();

	exposition_counter(p, "loop_stalls_total",
			   "Loop iterations of more than 20 ms, during which no client is served.", stats->stalls);
	exposition_head(p, "loop_stall_seconds_total", "counter", "Duration of all loop stalls.");
	exposition_add(p, "patternd_loop_stall_seconds_total %.6f\n", (double)stats->stall_us / 1e6);
	exposition_gauge(p, "loop_longest_iteration_seconds", "Longest loop iteration since start.",
			 (double)stats->longest_us / 1e6);
	exposition_gauge(p, "loop_longest_iteration_cpu_seconds", "Most CPU time of one loop iteration since start.",
			 (double)stats->longest_cpu_us / 1e6);
}

struct text metrics_text(struct arena *arena)
{
	struct exposition p = { .arena = arena };

	add_requests(&p);
	for (size_t kind = 0; kind < HISTOGRAMS; kind++)
		add_histograms(&p, kind);
	add_counters(&p);
	add_loop(&p);
	named_out(&p);
	for (size_t i = 0; i < gauge_count; i++)
		exposition_gauge(&p, gauges[i].name, gauges[i].help, gauges[i].read());
	exposition_gauge(&p, "resident_memory_bytes", "Resident memory of the daemon.",
			 (double)metrics_resident_bytes());
	exposition_gauge(&p, "uptime_seconds", "Time since start.", (double)metrics_uptime_ms() / 1000);
	exposition_head(&p, "build_info", "gauge", "Always 1; its label is the version.");
	exposition_add(&p, "patternd_build_info{version=\"%s\"} 1\n", PATTERND_VERSION);
	return (struct text){ p.at, p.len };
}
