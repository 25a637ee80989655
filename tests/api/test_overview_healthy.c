/*
 * GET /overview has no finding about programs that are healthy but look as if they were not.
 * `make alarms` runs more of them, for ten minutes.
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_clock.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 8000, SHARED_MS = 25000, CROWD = 11 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;
static volatile int64_t *redis_clock_us; /* Redis's clock, which moves only when a test changes it */

/* Returns an overview that the daemon began after this call. */
static struct answer look(void)
{
	struct answer a = http(client, "GET", "/overview", NULL);
	int64_t at_ms = int_at(a, "/at_ms");

	wait_until(int_at(a = http(client, "GET", "/overview", NULL), "/at_ms") != at_ms, SHARED_MS);
	return a;
}

static bool is_found(struct answer a, const char *kind)
{
	const json_t *list = json_at(a, "/findings");

	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "kind")), kind) == 0)
			return true;
	return false;
}

static void done(const char *method, const char *target, const char *body)
{
	struct answer a = http(client, method, target, body);

	assert_true(a.status >= 200 && a.status <= 204);
}

static struct raw *candidate(void)
{
	return waiter_at(&patternd, "/locks/a", "{\"ttl_ms\":1000,\"wait_ms\":60000}", "");
}

/* The holder extends a short lease, as a leader does, while a candidate waits. */
TEST(a_candidate_for_the_lock_of_a_leader)
{
	struct raw *waiting[CROWD];
	char token[128];

	struct answer a = http(client, "POST", "/locks/a", "{\"ttl_ms\":30000}");
	snprintf(token, sizeof(token), "%s", lock_token(text_at(a, "/token")));
	waiting[0] = candidate();
	wait_until(tickets_at(&redis, "p:lock:{a}") == 1, SOON_MS);
	for (int i = 0; i < 3; i++) {
		*redis_clock_us += 25000000;
		assert_status(http(client, "POST", "/locks/a/extend", "{\"ttl_ms\":30000}", token), 200);
	}
	a = look();
	assert_int_equal(int_at(a, "/finding_count"), 0);
	assert_int_equal(int_at(a, "/locks/waiters"), 1);
	for (int i = 1; i < CROWD; i++)
		waiting[i] = candidate();
	wait_until(tickets_at(&redis, "p:lock:{a}") == CROWD, SOON_MS);
	assert_true(is_found(look(), "lock_waiting"));
	for (int i = 0; i < CROWD; i++)
		raw_close(waiting[i]);
}

/* An operator pauses a queue. After an hour the pause may have been forgotten. */
TEST(a_queue_that_is_paused_on_purpose)
{
	done("PATCH", "/queues/shut", "{\"paused\":true}");
	done("POST", "/queues/shut/messages", "{\"body\":1}");
	done("PUT", "/queues/shut/schedules/s", "{\"every_ms\":1000,\"body\":1}");
	*redis_clock_us += 3500000000;
	struct answer a = look();
	assert_int_equal(int_at(a, "/finding_count"), 0);
	assert_int_equal(int_at(a, "/queues/paused"), 1);
	*redis_clock_us += 110000000;
	a = look();
	assert_true(is_found(a, "queue_paused"));
	assert_true(is_found(a, "schedule_missed"));
}

static int forget(void **state)
{
	server_command(&redis, "FLUSHALL");
	client_forget(client);
	return 0;
}

static int set_up(void **state)
{
	redis_clock_us = server_start_by_clock(&redis, INT64_C(1795219450378000));
	daemon_start(&patternd, "--redis", redis.url);
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

SUITE(.open = set_up, .close = tear_down, .after = forget);

/*
 * Until a daemon reaches Redis, it calls no program, and no program is to blame for that. This must
 * be the last test: Redis has another clock afterwards.
 */
TEST(a_target_without_redis)
{
	struct daemon d = { 0 };
	struct client *usual = client;
	char path[256];

	snprintf(path, sizeof(path), "%s/push.json", temp_dir());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "{\"jobs\":{\"url\":\"http://127.0.0.1:%d/jobs\"}}", free_port());
	fclose(file);
	server_kill(&redis);
	daemon_launch(&d, "--redis", redis.url, "--push", path);
	client = client_open(d.port);
	wait_until(json_is_string(json_at(http(client, "GET", "/push", NULL), "/items/0/reason")), SOON_MS);
	struct answer a = http(client, "GET", "/overview", NULL); /* it backs off for a second only */
	assert_int_equal(int_at(a, "/push/targets"), 1);
	assert_false(is_found(a, "push_backing_off"));
	assert_true(is_found(look(), "redis_away"));
	client_close(client);
	client = usual;
	daemon_stop(&d);
	server_restart(&redis);
}
