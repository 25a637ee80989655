/*
 * Topics: listeners receive messages over all daemons; nothing is stored; the stream reports when
 * it began to listen, and ends in order.
 */
#include <signal.h>

#include "../support/events.h"
#include "../support/proc.h"
#include "../support/raw.h"
#include "../support/stage.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 3000, CROWD = 50 };

static struct events *listen_to(int port, const char *topic)
{
	char target[128];

	snprintf(target, sizeof(target), "/topics/%s/stream", topic);
	struct events *e = events_get(port, target);
	assert_string_equal(events_next_named(e, SOON_MS).name, "listening");
	return e;
}

static const json_t *next_body(struct events *e)
{
	struct event v = events_next_named(e, SOON_MS);

	assert_string_equal(v.name, "message");
	assert_true(json_integer_value(json_object_get(v.json, "published_at_ms")) > 0);
	return json_object_get(v.json, "body");
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(listeners_receive_over_daemons)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url);
	struct events *here = listen_to(patternd.port, "news"), *there = listen_to(other.port, "news");
	struct events *elsewhere = listen_to(patternd.port, "weather");
	struct answer a = post("/topics/news", "{\"body\":{\"n\":1,\"text\":\"a\\nb\"}}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/daemons"), 2);
	assert_string_equal(json_string_value(json_object_get(next_body(here), "text")), "a\nb");
	assert_int_equal(json_integer_value(json_object_get(next_body(there), "n")), 1);
	assert_int_equal(int_at(post("/topics/weather", "{\"body\":null}"), "/daemons"), 1);
	const json_t *only = next_body(elsewhere); /* and none of the other topic */
	assert_true(json_is_null(only));
	events_close(here);
	events_close(there);
	events_close(elsewhere);
	daemon_stop(&other);
}

TEST(no_listener_is_needed)
{
	struct answer a = post("/topics/void", "{\"body\":1}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/daemons"), 0);
	assert_problem(post("/topics/void", "{}"), 400, "missing_field", "none");
	assert_int_equal(server_keys(&redis), 0);
}

TEST(a_retry_publishes_once)
{
	struct events *e = listen_to(patternd.port, "once");

	struct answer first = http(client, "POST", "/topics/once", "{\"body\":1}", "Idempotency-Key: t1");
	struct answer again = http(client, "POST", "/topics/once", "{\"body\":1}", "Idempotency-Key: t1");
	assert_status(again, 200);
	assert_int_equal(int_at(again, "/published_at_ms"), int_at(first, "/published_at_ms"));
	post("/topics/once", "{\"body\":2}");
	assert_int_equal(json_integer_value(next_body(e)), 1);
	assert_int_equal(json_integer_value(next_body(e)), 2);
	events_close(e);
}

/* After Redis was away the stream reports that messages may have been missed. */
TEST(it_reports_when_it_listens_again)
{
	struct events *e = listen_to(patternd.port, "back");

	server_kill(&redis);
	wait_until(get("/topics/gone/stream").status == 503, SOON_MS);
	server_restart(&redis);
	assert_string_equal(events_next_named(e, SOON_MS).name, "gap");
	wait_until(post("/topics/back", "{\"body\":5}").status == 200, SOON_MS);
	assert_int_equal(json_integer_value(next_body(e)), 5);
	events_close(e);
}

/* ---- While connections are renewed ---- */

enum { RENEWALS = 20, AT_ONCE = 20 };

/* Publishes 0, 1, 2 ..., with requests in flight whenever connections are renewed. */
static int publish_over_renewals(struct daemon *to)
{
	struct raw *r = raw_connect(to->port);
	char request[256], body[32];
	int number = 0;

	for (int round = 0; round < RENEWALS; round++) {
		for (int from = 0; from < 10; from++) {
			for (int i = 0; i < AT_ONCE; i++) {
				int len = snprintf(body, sizeof(body), "{\"body\":%d}", number++);
				snprintf(request, sizeof(request),
					 "POST /topics/renewed HTTP/1.1\r\nHost: localhost\r\n"
					 "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
					 len, body);
				raw_text(r, request);
			}
			if (from == 5)
				proc_signal(&patternd.proc, SIGHUP);
			for (int i = 0; i < AT_ONCE; i++)
				assert_status(raw_answer(r, SOON_MS), 200);
			raw_forget(r);
		}
	}
	raw_close(r);
	return number;
}

/* Each message arrives once, in order, and the stream reports no gap. */
TEST(it_continues_while_connections_are_renewed)
{
	struct events *e = listen_to(patternd.port, "renewed"), *quiet = listen_to(patternd.port, "quiet");
	struct events *by_pattern = events_get(patternd.port, "/topics/stream?name=renew*");
	struct daemon other = { 0 };
	long connects = metric_of(&patternd, "redis_connects_total");

	assert_string_equal(events_next_named(by_pattern, SOON_MS).name, "listening");
	daemon_start(&other, "--redis", redis.url);
	int count = publish_over_renewals(&other);
	for (int i = 0; i < count; i++)
		assert_int_equal(json_integer_value(next_body(e)), i);
	for (int i = 0; i < count; i++)
		assert_int_equal(json_integer_value(next_body(by_pattern)), i);
	assert_true(metric_of(&patternd, "redis_connects_total") >= connects + RENEWALS);
	wait_until(int_at(get("/topics/quiet"), "/daemons") == 1, SOON_MS); /* no connection is left over */
	post("/topics/quiet", "{\"body\":7}");
	assert_int_equal(json_integer_value(next_body(quiet)), 7);
	events_close(e);
	events_close(quiet);
	events_close(by_pattern);
	daemon_stop(&other);
}

TEST(a_drain_ends_it_in_order)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url);
	struct events *e = listen_to(other.port, "end");
	kill(other.proc.pid, SIGTERM);
	assert_string_equal(events_next_named(e, SOON_MS).name, "closing");
	assert_true(events_ended(e, SOON_MS));
	events_close(e);
	daemon_stop(&other);
}

/* The request is sent before the drain, and its stream begins during it. */
TEST(one_that_begins_in_the_drain_ends_in_order)
{
	struct daemon other = { 0 };
	bool closing = false;

	daemon_start(&other, "--redis", redis.url);
	struct raw *r = raw_connect(other.port);
	raw_text(r, "GET /topics/late/stream HTTP/1.1\r\nHo");
	assert_true(daemon_is_alive(&other)); /* it has read the first part */
	kill(other.proc.pid, SIGTERM);
	wait_until(!raw_listens(other.port), SOON_MS);
	raw_text(r, "st: localhost\r\n\r\n");
	assert_status(raw_head(r, SOON_MS), 200);
	char *chunk = raw_chunk(r, SOON_MS);
	while (chunk && *chunk) {
		closing = closing || strstr(chunk, "event: closing");
		free(chunk);
		chunk = raw_chunk(r, SOON_MS);
	}
	free(chunk);
	assert_true(closing);
	assert_true(raw_closed(r, SOON_MS));
	raw_close(r);
	daemon_stop(&other);
}

TEST(streams_count_for_max_parked)
{
	struct daemon other = { 0 };

	daemon_start(&other, "--redis", redis.url, "--max-parked", "1");
	struct client *c = client_open(other.port);
	struct events *e = listen_to(other.port, "only");
	assert_problem(http(c, "GET", "/topics/only/stream", NULL), 503, "overloaded", "none");
	client_close(c);
	events_close(e);
	daemon_stop(&other);
}

TEST(a_client_that_leaves_is_forgotten)
{
	struct events *listeners[CROWD];

	for (size_t i = 0; i < CROWD; i++)
		listeners[i] = listen_to(patternd.port, "crowd");
	assert_int_equal(int_at(post("/topics/crowd", "{\"body\":1}"), "/daemons"), 1);
	for (size_t i = 0; i < CROWD; i++) {
		assert_int_equal(json_integer_value(next_body(listeners[i])), 1);
		if (i % 2)
			events_close(listeners[i]);
		else
			events_reset(listeners[i]);
	}
	wait_until(strstr(get("/metrics").body, "patternd_http_requests_in_progress 1\n") != NULL, SOON_MS);
}

/*
 * Returns how many topics GET /topics lists on all pages; `daemons` is how many daemons listen to
 * `name`.
 */
static size_t topics_listed(const char *query, const char *name, int64_t *daemons)
{
	char target[128];

	snprintf(target, sizeof(target), "/topics?%s", query);
	const json_t *items = json_at(get_all(target), "/items");
	*daemons = 0;
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);
		if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
			*daemons = json_integer_value(json_object_get(item, "daemons"));
	}
	return json_array_size(items);
}

TEST(topics_with_listeners_are_listed)
{
	struct daemon other = { 0 }, stranger = { 0 };
	struct events *e[5];
	int64_t daemons;

	daemon_start(&other, "--redis", redis.url);
	daemon_start(&stranger, "--redis", redis.url, "--prefix", "stranger:");
	e[0] = listen_to(patternd.port, "listed-a");
	e[1] = listen_to(patternd.port, "listed-a");
	e[2] = listen_to(other.port, "listed-a");
	e[3] = listen_to(other.port, "listed-b");
	e[4] = listen_to(stranger.port, "listed-c");
	assert_status(post("/queues/listed-q/receive", "{\"wait_ms\":1}"), 200); /* its channel is not a topic */
	assert_int_equal(topics_listed("match=listed-*", "listed-a", &daemons), 2);
	assert_int_equal(daemons, 2);
	assert_int_equal(topics_listed("match=listed-*&limit=1", "listed-a", &daemons), 2); /* over pages */
	assert_int_equal(daemons, 2);
	assert_int_equal(topics_listed("match=*-b", "listed-b", &daemons), 1);
	assert_int_equal(daemons, 1);
	assert_int_equal(int_at(get("/topics/listed-a"), "/daemons"), 2);
	assert_int_equal(int_at(get("/topics/listed-b"), "/daemons"), 1);
	assert_int_equal(int_at(get("/topics/listed-c"), "/daemons"), 0);
	assert_string_equal(text_at(get("/topics/listed-c"), "/name"), "listed-c");
	assert_problem(get("/topics?cursor=x"), 400, "invalid_value", "none");
	for (size_t i = 0; i < 5; i++)
		events_close(e[i]);
	daemon_stop(&other);
	wait_until(int_at(get("/topics/listed-b"), "/daemons") == 0, SOON_MS);
	assert_int_equal(topics_listed("match=listed-b", "listed-b", &daemons), 0);
	daemon_stop(&stranger);
}
