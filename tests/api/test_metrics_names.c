/*
 * /metrics of single queues, policies and locks (--metrics-names). Each event is counted once.
 * Figures from Redis follow with a later scrape, and are left out when they are old. Names and
 * scrapes cost no more than promised. (The rest of /metrics: test_metrics.c.)
 */
#include <math.h>
#include <signal.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/leap.h"
#include "../support/raw.h"
#include "../support/redis_cluster.h"
#include "../support/waiter.h"
#include "test.h"

/* A round begins every 5 s, and figures are old after 15 s. */
enum { SOON_MS = 8000, OLD_MS = 30000, ROUND_S = 5, OLD_S = 16 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;
static const struct daemon *scraped = &patternd;

/* The present value of a series; NAN if it is not there. `id` has no `patternd_`. */
static double value(const char *id)
{
	return metric_or_nan(scraped, id);
}

static void assert_value(const char *id, double wanted)
{
	double found = value(id);

	if (!(found == wanted))
		fail_msg("%s is %g, not %g", id, found, wanted);
}

static void events_are(const char *queue, double sent, double received, double acknowledged, double rejected,
		       double duplicate)
{
	static const char *const names[] = { "sent", "received", "acknowledged", "rejected", "duplicate" };
	const double wanted[] = { sent, received, acknowledged, rejected, duplicate };
	char id[256];

	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "queue_events_total{queue=\"%s\",event=\"%s\"}", queue, names[i]);
		assert_value(id, wanted[i]);
	}
}

/* The target "/queues/NAME/deliveries/RECEIPT" of an answer's i-th delivery, and `behind`. */
static const char *delivery(const char *queue, struct answer a, int i, const char *behind)
{
	static char target[256];
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "/messages/%d/receipt", i);
	snprintf(target, sizeof(target), "/queues/%s/deliveries/%s%s", queue, text_at(a, pointer), behind);
	return target;
}

TEST(events_of_queues_are_counted_once)
{
	static const char key[] = "Idempotency-Key: sent-once";
	char body[256];

	for (int i = 0; i < 2; i++) /* the second is a replay */
		assert_status(http(client, "POST", "/queues/orders/messages",
				   "{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":2},{\"body\":3},{\"body\":4}]}",
				   key),
			      201);
	assert_status(http(client, "POST", "/queues/orders/messages", "{\"body\":1,\"id\":\"a\"}"),
		      200); /* a duplicate */
	events_are("orders", 4, 0, 0, 0, 1);
	struct answer a = http(client, "POST", "/queues/orders/receive", "{\"limit\":3}");
	assert_status(a, 200);
	for (int i = 0; i < 2; i++) /* the second has no effect */
		assert_status(http(client, "DELETE", delivery("orders", a, 0, ""), NULL), 204);
	assert_status(http(client, "POST", delivery("orders", a, 1, "/reject"), "{\"dead\":true}"), 200);
	snprintf(body, sizeof(body), "{\"acknowledge\":[\"%s\",\"%s\"]}", text_at(a, "/messages/0/receipt"),
		 text_at(a, "/messages/2/receipt"));
	assert_status(http(client, "POST", "/queues/orders/settle", body), 200);
	a = http(client, "POST", "/queues/receive", "{\"queues\":[\"other\",\"orders\"],\"acknowledge\":true}");
	assert_status(a, 200);
	events_are("orders", 4, 4, 3, 1, 1);
	assert_true(isnan(value("queue_events_total{queue=\"other\",event=\"sent\"}"))); /* not in --metrics-names */
}

TEST(figures_of_queues_come_from_redis)
{
	assert_status(http(client, "POST", "/queues/ordinary/messages",
			   "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3,\"delay_ms\":600000}]}"),
		      201);
	int64_t sent_ms = monotonic_ms();
	leap(&patternd, ROUND_S);
	wait_until(value("queue_messages{queue=\"ordinary\",state=\"ready\"}") == 2, SOON_MS);
	assert_value("queue_messages{queue=\"ordinary\",state=\"delayed\"}", 1);
	assert_value("queue_messages{queue=\"ordinary\",state=\"in_flight\"}", 0);
	wait_until(monotonic_ms() >= sent_ms + 100, SOON_MS);
	leap(&patternd, ROUND_S);
	wait_until(value("queue_oldest_ready_seconds{queue=\"ordinary\"}") >= 0.1, SOON_MS);
	assert_value("queue_messages{queue=\"known\",state=\"ready\"}", 0); /* named without a star */
	assert_value("queue_messages{queue=\"orders\",state=\"dead\"}", 1);
	assert_value("queue_oldest_ready_seconds{queue=\"known\"}", 0);
	assert_value("queue_paused{queue=\"ordinary\"}", 0);
	assert_status(http(client, "PATCH", "/queues/ordinary", "{\"paused\":true}"), 200);
	leap(&patternd, ROUND_S);
	wait_until(value("queue_paused{queue=\"ordinary\"}") == 1, SOON_MS);
	assert_status(http(client, "DELETE", "/queues/ordinary", NULL), 204);
	leap(&patternd, ROUND_S);
	wait_until(value("queue_messages{queue=\"ordinary\",state=\"ready\"}") == 0, SOON_MS);
}

TEST(work_that_fails_is_a_figure)
{
	assert_status(http(client, "POST", "/queues/ordinary/messages",
			   "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3}]}"),
		      201);
	struct answer a = http(client, "POST", "/queues/ordinary/receive", "{\"limit\":3}");
	assert_status(a, 200);
	assert_value("queue_work_failing{queue=\"ordinary\"}", 0);
	for (int i = 0; i < 3; i++)
		assert_status(http(client, "POST", delivery("ordinary", a, i, "/reject"), "{}"), 200);
	leap(&patternd, ROUND_S);
	wait_until(value("queue_work_failing{queue=\"ordinary\"}") == 3, SOON_MS);
	assert_status(http(client, "DELETE", "/queues/ordinary", NULL), 204);
}

TEST(decisions_of_policies_are_counted)
{
	static const char one[] = "{\"key\":\"k\",\"policy\":\"calls\"}", key[] = "Idempotency-Key: decided-once";
	double refused = value("requests_refused_total");

	assert_status(http(client, "PUT", "/ratelimit/policies/calls", "{\"limit\":1,\"window_ms\":600000}"), 201);
	assert_status(http(client, "PUT", "/ratelimit/policies/shade",
			   "{\"limit\":1,\"window_ms\":600000,\"shadow\":true}"),
		      201);
	for (int i = 0; i < 2; i++)
		assert_status(http(client, "POST", "/ratelimit", one, key), 200);
	for (int i = 0; i < 3; i++)
		assert_status(http(client, "POST", "/ratelimit", one), 429);
	for (int i = 0; i < 3; i++)
		assert_status(http(client, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"shade\"}"), 200);
	assert_status(http(client, "POST", "/ratelimit", "{\"key\":\"k\",\"limit\":9,\"window_ms\":1000}"), 200);
	assert_value("ratelimit_decisions_total{policy=\"calls\",outcome=\"allowed\"}", 1);
	assert_value("ratelimit_decisions_total{policy=\"calls\",outcome=\"refused\"}", 3);
	assert_value("ratelimit_decisions_total{policy=\"shade\",outcome=\"allowed\"}", 1);
	assert_value("ratelimit_decisions_total{policy=\"shade\",outcome=\"shadow_refused\"}", 2);
	assert_value("requests_refused_total", refused + 3);
}

/* A delivery is one decision of its queue's policy, whether it was handed out or held back. */
TEST(decisions_about_deliveries_are_counted)
{
	static const char four[] = "{\"messages\":[{\"body\":1},{\"body\":2},{\"body\":3},{\"body\":4}]}";

	for (int is_shadow = 0; is_shadow < 2; is_shadow++) {
		const char *name = is_shadow ? "paid-shade" : "paid";
		char target[64], body[128], id[128];
		snprintf(target, sizeof(target), "/ratelimit/policies/%s", name);
		snprintf(body, sizeof(body), "{\"limit\":2,\"window_ms\":600000%s}",
			 is_shadow ? ",\"shadow\":true" : "");
		assert_status(http(client, "PUT", target, body), 201);
		snprintf(target, sizeof(target), "/queues/%s", name);
		snprintf(body, sizeof(body), "{\"policy\":{\"name\":\"%s\",\"key\":\"k\"}}", name);
		assert_status(http(client, "PUT", target, body), 201);
		snprintf(target, sizeof(target), "/queues/%s/messages", name);
		assert_status(http(client, "POST", target, four), 201);
		snprintf(target, sizeof(target), "/queues/%s/receive", name);
		struct answer a = http(client, "POST", target, "{\"limit\":10}");
		assert_int_equal(json_array_size(json_at(a, "/messages")), is_shadow ? 4 : 2);
		snprintf(id, sizeof(id), "ratelimit_decisions_total{policy=\"%s\",outcome=\"allowed\"}", name);
		assert_value(id, 2);
		snprintf(id, sizeof(id), "ratelimit_decisions_total{policy=\"%s\",outcome=\"%s\"}", name,
			 is_shadow ? "shadow_refused" : "refused");
		assert_value(id, 2);
	}
}

TEST(acquisitions_and_waits_of_locks_are_counted)
{
	struct answer a = http(client, "POST", "/locks/jobs", "{\"ttl_ms\":600000}");
	char token[80];
	snprintf(token, sizeof(token), "Lock-Token: %s", text_at(a, "/token"));
	assert_status(http(client, "POST", "/locks/jobs", "{\"ttl_ms\":1000}"), 409);
	assert_status(http(client, "POST", "/locks/jobs", "{\"ttl_ms\":1000,\"wait_ms\":30}"), 409);
	struct raw *waiting = waiter_at(&patternd, "/locks/jobs", "{\"ttl_ms\":1000,\"wait_ms\":30000}", "");
	wait_until(value("requests_waiting") == 1, SOON_MS);
	leap(&patternd, ROUND_S);
	wait_until(value("lock_waiters{lock=\"jobs\"}") == 1, SOON_MS);
	assert_status(http(client, "DELETE", "/locks/jobs", NULL, token), 200);
	assert_status(waiter_answer(waiting, "/locks/jobs", SOON_MS), 201);
	raw_close(waiting);
	assert_value("lock_acquisitions_total{lock=\"jobs\",outcome=\"acquired\"}", 2);
	assert_value("lock_acquisitions_total{lock=\"jobs\",outcome=\"refused\"}", 1);
	assert_value("lock_acquisitions_total{lock=\"jobs\",outcome=\"timed_out\"}", 1);
	assert_value("lock_wait_seconds_count", 4);
	assert_value("lock_wait_seconds_bucket{le=\"0.001\"}", 2);
	assert_value("lock_wait_seconds_bucket{le=\"60\"}", 4);
	leap(&patternd, ROUND_S);
	wait_until(value("lock_waiters{lock=\"jobs\"}") == 0, SOON_MS);
}

/* Quotes and backslashes of a name are escaped in its label. */
TEST(names_are_escaped)
{
	assert_status(http(client, "POST", "/queues/ord%22%5C%7D/messages", "{\"body\":1}"),
		      400); /* names have no braces */
	assert_status(http(client, "POST", "/queues/ord%22%5C%20x/messages", "{\"body\":1}"), 201);
	events_are("ord\\\"\\\\ x", 1, 0, 0, 0, 0);
}

TEST(a_hundred_names_are_the_most)
{
	char target[64];
	int series = 0;

	for (int i = 0; i < 120; i++) {
		snprintf(target, sizeof(target), "/locks/many-%d", i);
		assert_status(http(client, "POST", target, "{\"ttl_ms\":60000}"), 201);
	}
	struct answer a = http(client, "GET", "/metrics", NULL);
	for (const char *at = a.body; (at = strstr(at, "lock_acquisitions_total{")); at++)
		series++;
	assert_int_equal(series, 3 * 100);
	client_forget(client);
	assert_value("metrics_names_dropped_total{kind=\"locks\"}", 120 - 99); /* one of the 100 names is `jobs` */
	assert_value("metrics_names_dropped_total{kind=\"queues\"}", 0);
}

/*
 * However often /metrics is scraped, the daemon reads each name once per round, and a round begins
 * every 5 s.
 */
TEST(scrapes_ask_redis_little)
{
	enum { SCRAPES = 100, NAMES = 100 + 4 /* queues */ };

	for (int round = 0; round < 3; round++) {
		leap(&patternd, ROUND_S);
		double before = value("redis_commands_total");
		for (int i = 0; i < SCRAPES; i++)
			value("uptime_seconds");
		wait_until(value("redis_calls_in_flight") == 0, SOON_MS);
		assert_true(value("redis_commands_total") - before <= NAMES + 10);
	}
}

/* A scrape does not wait for a stopped Redis, and old figures are left out. */
TEST(old_figures_are_left_out)
{
	assert_true(!isnan(value("queue_messages{queue=\"known\",state=\"ready\"}")));
	server_signal(&redis, SIGSTOP);
	int64_t began_ms = monotonic_ms();
	for (int i = 0; i < 20; i++)
		value("uptime_seconds");
	assert_true(monotonic_ms() - began_ms < patience_ms(500));
	leap(&patternd, OLD_S);
	wait_until(isnan(value("queue_messages{queue=\"known\",state=\"ready\"}")), OLD_MS);
	assert_value("queue_events_total{queue=\"known\",event=\"sent\"}", 0); /* the daemon's own counts stay */
	server_signal(&redis, SIGCONT);
	wait_until(value("queue_messages{queue=\"known\",state=\"ready\"}") == 0, OLD_MS);
}

TEST(an_empty_option_admits_none)
{
	struct daemon plain = { 0 };

	daemon_start(&plain, "--redis", redis.url, "--metrics-names", "");
	struct client *c = client_open(plain.port);
	assert_status(http(c, "POST", "/queues/orders/messages", "{\"body\":1}"), 201);
	struct answer a = http(c, "GET", "/metrics", NULL);
	assert_null(strstr(a.body, "queue_events_total"));
	assert_null(strstr(a.body, "metrics_names_dropped"));
	client_close(c);
	daemon_stop(&plain);
}

/* A queue has metrics even if its workers get no message, since it may be paused. */
TEST(by_default_there_are_queues_and_policies)
{
	struct daemon plain = { 0 };
	struct client *usual = client;

	assert_status(http(client, "POST", "/queues/by-default/messages", "{\"body\":1}"), 201);
	assert_status(http(client, "PATCH", "/queues/by-default", "{\"paused\":true}"), 200);
	daemon_start(&plain, "--redis", redis.url);
	client = client_open(plain.port);
	scraped = &plain;
	assert_status(http(client, "POST", "/queues/by-default/receive", NULL), 200);
	assert_status(http(client, "POST", "/ratelimit", "{\"key\":\"k\",\"policy\":\"shade\"}"), 200);
	assert_status(http(client, "POST", "/locks/by-default", "{\"ttl_ms\":1000}"), 201);
	wait_until(value("queue_messages{queue=\"by-default\",state=\"ready\"}") == 1, SOON_MS);
	assert_true(value("queue_oldest_ready_seconds{queue=\"by-default\"}") > 0);
	assert_value("ratelimit_decisions_total{policy=\"shade\",outcome=\"shadow_refused\"}", 1);
	assert_true(isnan(value("lock_waiters{lock=\"by-default\"}")));
	client_close(client);
	client = usual;
	scraped = &patternd;
	daemon_stop(&plain);
}

static int queue_series(const char *queue)
{
	char label[64];
	int found = 0;
	struct answer a = http(client, "GET", "/metrics", NULL);

	snprintf(label, sizeof(label), "queue_events_total{queue=\"%s\"", queue);
	for (const char *at = a.body; (at = strstr(at, label)); at++)
		found++;
	client_forget(client);
	return found;
}

static void send_to(const char *queue, int i)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s-%d/messages", queue, i);
	assert_status(http(client, "POST", target, "{\"body\":1}"), 201);
}

/* Only a name that was not used for half an hour makes room for another. */
TEST(idle_names_make_room)
{
	struct daemon busy = { 0 };
	struct client *usual = client;

	if (daemon_is_sanitized())
		skip(); /* the test would wait for an hour */
	may_leap(&busy);
	daemon_start(&busy, "--redis", redis.url, "--metrics-names", "queues:*,queues:fixed-0");
	client = client_open(busy.port);
	scraped = &busy;
	for (int i = 0; i < 150; i++) { /* names without messages give way at once */
		char target[64];
		snprintf(target, sizeof(target), "/queues/typo-%d/receive", i);
		assert_status(http(client, "POST", target, NULL), 200);
	}
	for (int i = 0; i < 99; i++)
		send_to("idle", i);
	assert_int_equal(queue_series("idle-98"), 5);
	send_to("late", 0);
	assert_int_equal(queue_series("late-0"), 0);
	assert_value("metrics_names_dropped_total{kind=\"queues\"}", 1);
	client_close(client);

	leap(&busy, 3600);
	client = client_open(busy.port);
	send_to("idle", 0);
	send_to("late", 0);
	assert_int_equal(queue_series("late-0"), 5);
	assert_int_equal(queue_series("idle-0"), 5);
	assert_int_equal(queue_series("idle-1"), 0);
	assert_int_equal(queue_series("fixed-0"), 5);
	leap(&busy, ROUND_S);
	wait_until(value("queue_messages{queue=\"late-0\",state=\"ready\"}") == 2, 3 * SOON_MS);
	assert_value("metrics_names_dropped_total{kind=\"queues\"}", 1);
	client_close(client);
	client = usual;
	scraped = &patternd;
	daemon_stop(&busy);
}

static int set_up(void **state)
{
	server_start(&redis);
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url, "--metrics-names",
		     "queues:ord*,queues:known,policies:*,locks:jobs,locks:many-*");
	client = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
