#include "waiter.h"

#include <math.h>
#include <poll.h>

#include "exchange.h"
#include "test.h"

enum { METRICS_MS = 5000, PARK_MS = 20000 };

bool waiter_ask(struct raw *r, const char *target, const char *body, const char *headers)
{
	char *text = NULL;

	if (asprintf(&text,
		     "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s"
		     "Content-Length: %zu\r\n\r\n%s",
		     target, headers, strlen(body), body) < 0)
		fail_msg("no memory");
	bool sent = raw_text(r, text);
	free(text);
	return sent;
}

struct raw *waiter_at(const struct daemon *d, const char *target, const char *body, const char *headers)
{
	struct raw *r = raw_connect(d->port);

	assert_true(waiter_ask(r, target, body, headers));
	return r;
}

struct raw *waiter(const struct daemon *d, const char *queue, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	return waiter_at(d, target, body, "");
}

struct answer waiter_answer(struct raw *r, const char *target, int timeout_ms)
{
	struct answer a = raw_answer(r, timeout_ms);

	exchange_record("POST", target, a);
	return a;
}

bool waiter_is_answered(const struct raw *r)
{
	struct pollfd p = { .fd = raw_fd(r), .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/*
 * Returns the page /metrics, which lives until the next call. Keeps the connection for the next
 * call at the same daemon.
 */
static const char *metrics_of(const struct daemon *d)
{
	static struct raw *r;
	static pid_t connected_pid;

	for (int i = 0; i < 2; i++) {
		if (!r || connected_pid != d->proc.pid) {
			raw_close(r);
			r = raw_connect(d->health_port ? d->health_port : d->port);
			connected_pid = d->proc.pid;
		}
		raw_forget(r);
		raw_text(r, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
		struct answer a = raw_answer(r, METRICS_MS);
		if (a.status == 200)
			return a.body;
		connected_pid = 0; /* perhaps it was idle for too long */
	}
	fail_msg("no /metrics");
	return "";
}

double metric_or_nan(const struct daemon *d, const char *series)
{
	char line[512];

	snprintf(line, sizeof(line), "\npatternd_%s ", series);
	const char *at = strstr(metrics_of(d), line);
	return at ? strtod(at + strlen(line), NULL) : NAN;
}

double metric_value(const struct daemon *d, const char *name)
{
	double value = metric_or_nan(d, name);

	if (isnan(value))
		fail_msg("there is no metric patternd_%s", name);
	return value;
}

long metric_of(const struct daemon *d, const char *name)
{
	return (long)metric_value(d, name);
}

long waiting_at(const struct daemon *d)
{
	return metric_of(d, "requests_waiting");
}

long subscribers_at(struct redis_server *r, const char *key)
{
	return (long)server_command(r, "PUBSUB SHARDCHANNELS %s@*", key)->elements;
}

long subscribers_of(struct redis_server *r, const char *queue)
{
	char key[256];

	snprintf(key, sizeof(key), "p:queue:{%s}", queue);
	return subscribers_at(r, key);
}

void wake_waiters(struct redis_server *r, const char *key)
{
	const redisReply *channels = server_command(r, "PUBSUB SHARDCHANNELS %s@*", key);
	char *names[64];
	size_t count = 0;

	assert_true(channels->elements <= COUNT(names));
	for (; count < channels->elements; count++)
		names[count] = strdup(channels->element[count]->str);
	while (count > 0) {
		server_command(r, "SPUBLISH %s !", names[--count]);
		free(names[count]);
	}
}

long tickets_at(struct redis_server *r, const char *key)
{
	return (long)server_command(r, "ZCOUNT %s:waiters 100000000000000 +inf", key)->integer;
}

bool all_parked(const struct daemon *d, long count)
{
	return waiting_at(d) == count && metric_of(d, "redis_calls_in_flight") == 0;
}

struct raw *waiter_parked_with(const struct daemon *d, struct redis_server *r, const char *queue, const char *body,
			       const char *headers)
{
	char target[128];
	long before = waiting_at(d);

	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	struct raw *w = waiter_at(d, target, body, headers);
	wait_until(subscribers_of(r, queue) > 0, PARK_MS);
	wait_until(all_parked(d, before + 1), PARK_MS);
	return w;
}

struct raw *waiter_parked(const struct daemon *d, struct redis_server *r, const char *queue, const char *body)
{
	return waiter_parked_with(d, r, queue, body, "");
}
