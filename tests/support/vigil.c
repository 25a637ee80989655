#include "vigil.h"

#include "test.h"
#include "waiter.h"

enum { SOON_MS = 10000, PUBLISH_EACH_MS = 20 };

#define HELD_MS "60000"
#define WAIT_MS "30000"

/* "/<kind>/<name><rest>" */
static const char *target(const struct vigil *v, const char *kind, const char *rest)
{
	static char text[160];

	snprintf(text, sizeof(text), "/%s/%s%s", kind, v->name, rest);
	return text;
}

static void hold(struct vigil *v)
{
	struct answer a = http(v->others, "POST", target(v, "locks", ""), "{\"ttl_ms\":" HELD_MS "}");

	assert_status(a, 201);
	snprintf(v->lock_token, sizeof(v->lock_token), "%s", text_at(a, "/token"));
	a = http(v->others, "POST", target(v, "semaphores", "/permits"), "{\"limit\":1,\"ttl_ms\":" HELD_MS "}");
	assert_status(a, 201);
	snprintf(v->permit, sizeof(v->permit), "%s", text_at(a, "/permit"));
	assert_status(http(v->others, "POST", target(v, "cache", "/fill"), "{\"fill_ms\":" HELD_MS "}"), 201);
	assert_status(http(v->others, "PATCH", target(v, "queues", ""), "{\"result_ms\":" HELD_MS "}"), 200);
}

void vigil_begin(struct vigil *v, const struct daemon *d, struct client *others, const char *name)
{
	long before = waiting_at(d);

	*v = (struct vigil){ .others = others };
	snprintf(v->name, sizeof(v->name), "%s", name);
	hold(v);
	v->lock = waiter_at(d, target(v, "locks", ""), "{\"wait_ms\":" WAIT_MS "}", "");
	v->semaphore = waiter_at(d, target(v, "semaphores", "/permits"), "{\"limit\":1,\"wait_ms\":" WAIT_MS "}", "");
	v->queue = waiter_at(d, target(v, "queues", "/receive"), "{\"wait_ms\":" WAIT_MS "}", "");
	v->cache = waiter_at(d, target(v, "cache", "/fill"), "{\"wait_ms\":" WAIT_MS "}", "");
	v->end = waiter_at(d, target(v, "queues", "/messages"),
			   "{\"id\":\"end\",\"body\":1,\"delay_ms\":600000,\"wait_result_ms\":" WAIT_MS "}", "");
	wait_until(all_parked(d, before + 5), SOON_MS);
	v->topic = events_get(d->port, target(v, "topics", "/stream"));
	char pattern[96];
	snprintf(pattern, sizeof(pattern), "/topics/stream?name=%s*", v->name);
	v->pattern = events_get(d->port, pattern);
	/*
	 * The topics are subscribed last, over the same connections. Once they are, the other
	 * channels are subscribed, too.
	 */
	assert_string_equal(events_next_named(v->topic, SOON_MS).name, "listening");
	assert_string_equal(events_next_named(v->pattern, SOON_MS).name, "listening");
}

static bool release(struct vigil *v)
{
	char rest[96], token[96];

	snprintf(token, sizeof(token), "Lock-Token: %s", v->lock_token);
	snprintf(rest, sizeof(rest), "/permits/%s", v->permit);
	int lock = http(v->others, "DELETE", target(v, "locks", ""), NULL, token).status;
	int permit = http(v->others, "DELETE", target(v, "semaphores", rest), NULL).status;
	int message = http(v->others, "POST", target(v, "queues", "/messages"), "{\"body\":1}").status;
	int ticket = http(v->others, "DELETE", target(v, "cache", ""), NULL).status;
	int end = http(v->others, "DELETE", target(v, "queues", "/messages/end"), NULL).status;
	return lock == 200 && permit == 204 && message == 201 && ticket == 204 && end == 204;
}

static void publish(struct vigil *v)
{
	char body[32];

	snprintf(body, sizeof(body), "{\"body\":%d}", ++v->published);
	assert_status(http(v->others, "POST", target(v, "topics", ""), body), 200);
}

/* True when a message belongs to another topic, whose name begins with this name. */
static bool is_foreign(const struct vigil *v, struct event e)
{
	const char *topic = json_string_value(json_object_get(e.json, "topic"));

	return topic && strcmp(topic, v->name) != 0;
}

/* Publishes numbers until the listener receives one. */
static void must_receive(struct vigil *v, struct events *listener, int within_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(within_ms), next = 1;
	bool gap = false;

	for (;;) {
		publish(v);
		struct event e = events_next_named(listener, PUBLISH_EACH_MS);
		if (strcmp(e.name, "message") == 0 && !is_foreign(v, e)) {
			int64_t number = json_integer_value(json_object_get(e.json, "body"));
			if (number != next && !gap)
				fail_msg("%s: message %d came instead of %d, and no gap before it", v->name,
					 (int)number, (int)next);
			return;
		}
		gap = gap || strcmp(e.name, "gap") == 0;
		if (monotonic_ms() > until_ms)
			fail_msg("%s: the listener has received none of %d messages", v->name, v->published);
	}
}

static void must_be_answered(const struct vigil *v, struct raw *r, const char *kind, const char *rest, int status,
			     int64_t until_ms)
{
	int64_t left_ms = until_ms - monotonic_ms();
	struct answer a = waiter_answer(r, target(v, kind, rest), left_ms > 1 ? (int)left_ms : 1);

	if (a.status == 0)
		fail_msg("%s: the waiter at /%s was not woken", v->name, kind);
	assert_status(a, status);
	raw_close(r);
}

int64_t vigil_must_wake(struct vigil *v, int within_ms)
{
	wait_until(http(v->others, "GET", target(v, "locks", ""), NULL).status == 200, SOON_MS);
	int64_t from_ms = monotonic_ms(), until_ms = from_ms + within_ms;
	assert_true(release(v));
	must_be_answered(v, v->lock, "locks", "", 201, until_ms);
	must_be_answered(v, v->semaphore, "semaphores", "/permits", 201, until_ms);
	must_be_answered(v, v->queue, "queues", "/receive", 200, until_ms);
	must_be_answered(v, v->cache, "cache", "/fill", 201, until_ms);
	must_be_answered(v, v->end, "queues", "/messages", 201, until_ms);
	must_receive(v, v->topic, (int)(until_ms - monotonic_ms()));
	must_receive(v, v->pattern, (int)(until_ms - monotonic_ms()));
	events_close(v->topic);
	events_close(v->pattern);
	return monotonic_ms() - from_ms;
}
