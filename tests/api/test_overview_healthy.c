/*
 * GET /overview has no finding about programs that are healthy but look as if they were not.
 * `make alarms` runs more of them, for ten minutes.
 */
#include "../support/raw.h"
#include "../support/waiter.h"
#include "overview_stage.h"

enum { CROWD = 11 };

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
	assert_int_equal(found(a), 0);
	assert_int_equal(int_at(a, "/locks/waiters"), 1);
	for (int i = 1; i < CROWD; i++)
		waiting[i] = candidate();
	wait_until(tickets_at(&redis, "p:lock:{a}") == CROWD, SOON_MS);
	assert_non_null(finding(look(), "lock_waiting"));
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
	assert_int_equal(found(a), 0);
	assert_int_equal(int_at(a, "/queues/paused"), 1);
	*redis_clock_us += 110000000;
	a = look();
	assert_non_null(finding(a, "queue_paused"));
	assert_non_null(finding(a, "schedule_missed"));
}

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
	assert_null(finding(a, "push_backing_off"));
	assert_non_null(finding(look(), "redis_away"));
	client_close(client);
	client = usual;
	daemon_stop(&d);
	server_restart(&redis);
}

SUITE(.open = start, .close = stop, .after = forget_all);
