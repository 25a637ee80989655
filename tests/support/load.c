/*
 * load: see load.h. The threads fail no test by themselves: they note what is wrong, and load_stop
 * reports it.
 */
#include "load.h"

#include <pthread.h>
#include <stdatomic.h>

#include "daemon.h"
#include "http.h"
#include "proc.h"
#include "raw.h"
#include "test.h"

enum { CALLERS = 4, PAUSE_MS = 1, MARGIN_MS = 400, SANITIZED_MARGIN_MS = 3000, PATIENCE_MS = 10000, SETTLE_MS = 10000 };
enum { LIMIT = 1000000000 };

/* One fixed window, which does not end while the test runs. */
#define LIMITED "{\"key\":\"%s\",\"algorithm\":\"fixed_window\",\"limit\":1000000000,\"window_ms\":86400000"

enum kind { COUNT, SEND, TAKE, LOCK, LOOK, KINDS };

struct tally {
	atomic_long granted, unknown;
	_Atomic int64_t served_us; /* when the latest granted request was sent */
};

struct load {
	struct load_plan plan;
	struct tally tallies[LOAD_NAMES_MAX][KINDS];
	pthread_t threads[CALLERS];
	atomic_int next_caller;
	atomic_bool stop;
	atomic_long answers, failures, flaws;
	_Atomic int64_t worst_us, written_us;
	pthread_mutex_t mutex;
	char first_flaw[600]; /* under the mutex */
};

struct caller {
	struct load *l;
	struct raw *r;
	bool is_over; /* the connection ended: the caller needs another */
};

/* ---- one request ---- */

static void note_flaw(struct load *l, const char *request, struct answer a, const char *what)
{
	pthread_mutex_lock(&l->mutex);
	if (l->flaws++ == 0)
		snprintf(l->first_flaw, sizeof(l->first_flaw), "%.60s: %s\nafter %lld ms, status %d %.400s", request,
			 what, (long long)a.took_us / 1000, a.status, a.status ? a.body : a.error);
	pthread_mutex_unlock(&l->mutex);
}

static int64_t longest_us(const struct load *l)
{
	return (l->plan.timeout_ms + (daemon_is_sanitized() ? SANITIZED_MARGIN_MS : MARGIN_MS)) * INT64_C(1000);
}

/* What is wrong with an answer or its time. NULL: nothing. */
static const char *flaw_of(const struct load *l, enum kind kind, struct answer a)
{
	if (a.status == 0)
		return "no answer";
	if (a.took_us > longest_us(l))
		return "too late";
	if (a.status == 503)
		return problem_flaw(a, 503, NULL, "none");
	if (a.status == 504)
		return problem_flaw(a, 504, NULL, kind == LOOK ? "none" : "unknown");
	if (a.status == 409 && kind == LOCK)
		return problem_flaw(a, 409, NULL, "none");
	return a.status == 200 || a.status == 201 ? NULL : "not what may be answered";
}

static void account(struct load *l, size_t name, enum kind kind, struct answer a, int64_t sent_us)
{
	struct tally *t = &l->tallies[name][kind];

	l->answers++;
	l->failures += a.status == 503 || a.status == 504;
	if (a.took_us > l->worst_us)
		l->worst_us = a.took_us;
	if (a.status == 200 || a.status == 201) {
		t->granted++;
		t->served_us = sent_us;
		if (kind != LOOK)
			l->written_us = monotonic_us();
	} else if (a.status != 503 && a.status != 409) {
		t->unknown++;
	}
}

static struct answer ask(struct caller *c, const char *method, const char *target, const char *body, const char *header)
{
	char request[512];
	int64_t sent_us = monotonic_us();

	if (c->is_over) {
		raw_close(c->r);
		c->r = raw_try_connect(c->l->plan.port);
		c->is_over = false;
	}
	snprintf(
		request, sizeof(request),
		"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
		method, target, strlen(body), header, body);
	if (!c->r || !raw_text(c->r, request))
		return (struct answer){ .error = "the daemon takes no connection", .body = "" };
	struct answer a = raw_answer(c->r, PATIENCE_MS);
	const char *connection = a.status ? header_of(a, "Connection") : "close";
	c->is_over = connection && strcmp(connection, "close") == 0;
	a.took_us = monotonic_us() - sent_us;
	return a;
}

static struct answer ask_of(struct caller *c, size_t name, enum kind kind)
{
	static const char *const bodies[KINDS] = { "{\"counters\":{\"n\":1}}", "{\"body\":1}", NULL, "{\"ttl_ms\":500}",
						   "" };
	const char *is = c->l->plan.names[name];
	char target[96], limited[160];
	int64_t sent_us = monotonic_us();

	snprintf(limited, sizeof(limited), LIMITED "}", is);
	if (kind == TAKE)
		snprintf(target, sizeof(target), "/ratelimit");
	else if (kind == SEND)
		snprintf(target, sizeof(target), "/queues/%s/messages", is);
	else if (kind == COUNT)
		snprintf(target, sizeof(target), "/counters/%s/increment", is);
	else
		snprintf(target, sizeof(target), "/%s/%s", kind == LOCK ? "locks" : "counters", is);
	struct answer a = ask(c, kind == LOOK ? "GET" : "POST", target, kind == TAKE ? limited : bodies[kind], "");
	const char *flaw = flaw_of(c->l, kind, a);
	if (flaw)
		note_flaw(c->l, target, a, flaw);
	account(c->l, name, kind, a, sent_us);
	return a;
}

/* A failover may have lost the lock, or it may have expired by now. */
static void release(struct caller *c, size_t name, const char *token)
{
	char target[96], header[96];

	snprintf(target, sizeof(target), "/locks/%s", c->l->plan.names[name]);
	snprintf(header, sizeof(header), "Lock-Token: %s\r\n", token);
	struct answer a = ask(c, "DELETE", target, "", header);
	const char *flaw = flaw_of(c->l, LOCK, a);
	if (flaw)
		note_flaw(c->l, target, a, flaw);
}

static void *call(void *arg)
{
	struct load *l = arg;
	struct caller c = { .l = l, .is_over = true };

	for (unsigned i = (unsigned)l->next_caller++; !l->stop; i++) {
		size_t name = i % l->plan.count;
		enum kind kind = (enum kind)(i / l->plan.count % KINDS);
		struct answer a = ask_of(&c, name, kind);
		if (kind == LOCK && a.status == 201)
			release(&c, name, json_string_value(json_at(a, "/token")));
		if (c.r)
			raw_forget(c.r);
		nap_ms(l->plan.pause_ms ? l->plan.pause_ms : PAUSE_MS);
	}
	raw_close(c.r);
	return NULL;
}

struct load *load_start(struct load_plan plan)
{
	struct load *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	assert_in_range(plan.count, 1, LOAD_NAMES_MAX);
	l->plan = plan;
	pthread_mutex_init(&l->mutex, NULL);
	for (int i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&l->threads[i], NULL, call, l), 0);
	return l;
}

/* ---- what is known while the load runs ---- */

int64_t load_served_us(const struct load *l, const char *name)
{
	int64_t oldest_us = INT64_MAX;

	for (size_t i = 0; i < l->plan.count; i++) {
		for (int kind = 0; kind < KINDS && (!name || strcmp(name, l->plan.names[i]) == 0); kind++) {
			int64_t served_us = l->tallies[i][kind].served_us;
			oldest_us = served_us < oldest_us ? served_us : oldest_us;
		}
	}
	return oldest_us;
}

void load_wait_served(struct load *l, int timeout_ms)
{
	int64_t from_us = monotonic_us();

	wait_until(load_served_us(l, NULL) > from_us, timeout_ms);
}

int64_t load_written_us(const struct load *l)
{
	return l->written_us;
}

long load_answers(const struct load *l)
{
	return l->answers;
}

long load_failures(const struct load *l)
{
	return l->failures;
}

/* ---- the account ---- */

/*
 * The count, the ready messages or the used part of the limit; -1 when the daemon cannot report it
 * now.
 */
static int64_t found(struct client *c, const char *name, enum kind kind)
{
	char text[192];

	if (kind == COUNT)
		snprintf(text, sizeof(text), "/counters/%s", name);
	else if (kind == SEND)
		snprintf(text, sizeof(text), "/queues/%s", name);
	else
		snprintf(text, sizeof(text), LIMITED ",\"cost\":0}", name);
	struct answer a = kind == TAKE ? http(c, "POST", "/ratelimit", text) : http(c, "GET", text, NULL);
	if (a.status != 200)
		return -1;
	if (kind == TAKE)
		return LIMIT - int_at(a, "/remaining");
	return kind == SEND ? int_at(a, "/ready") : json_integer_value(json_at(a, "/counters/n"));
}

static bool is_borne_out(struct load *l, struct client *c, int lost_max)
{
	static const char *const things[] = { [COUNT] = "counter", [SEND] = "queue", [TAKE] = "rate limit" };
	bool right = true;

	for (size_t i = 0; i < l->plan.count; i++) {
		for (int kind = COUNT; kind <= TAKE; kind++) {
			const struct tally *t = &l->tallies[i][kind];
			int64_t is;
			wait_until((is = found(c, l->plan.names[i], (enum kind)kind)) >= 0, SETTLE_MS);
			if (is >= t->granted - lost_max && is <= t->granted + t->unknown)
				continue;
			print_error("%s %s is %lld: %ld were granted, %ld are unknown\n", things[kind],
				    l->plan.names[i], (long long)is, t->granted, t->unknown);
			right = false;
		}
	}
	return right;
}

void load_stop(struct load *l, int lost_max)
{
	l->stop = true;
	for (int i = 0; i < CALLERS; i++)
		pthread_join(l->threads[i], NULL);
	struct client *c = client_open(l->plan.port);
	bool right = is_borne_out(l, c, lost_max);
	client_close(c);
	if (l->flaws)
		print_error("%ld of %ld answers were wrong, the first: %s\n", l->flaws, l->answers, l->first_flaw);
	right = right && l->flaws == 0;
	pthread_mutex_destroy(&l->mutex);
	free(l);
	assert_true(right);
}
