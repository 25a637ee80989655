/*
 * A request whose script does a bounded part of the work at a time, and is called again until
 * nothing is left. A board has 2500 members and is to keep one: a call drops 500. Between two calls
 * the client disconnects, the connection to Redis breaks, or Redis refuses the next call.
 */
#include "../support/many.h"
#include "../support/raw.h"
#include "../support/waiter.h"
#include "test.h"
#include "through_proxy.h"

enum { DELAY_MS = 200, SOON_MS = 8000, MEMBERS = 2500, A_PUT = 500, A_CALL = 500, CALLS = 5 };

#define PATCH_BODY "{\"max_members\":1}"

static int start(void **state)
{
	return start_through_proxy("1000");
}

static int heal(void **state)
{
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, SOON_MS);
	server_command(&redis, "FLUSHALL");
	return 0;
}

SUITE(.open = start, .close = stop_through_proxy, .after = heal);

static void fill(void)
{
	assert_status(http(client, "PUT", "/leaderboards/b", "{\"dimensions\":[\"n\"]}"), 201);
	for (int from = 0; from < MEMBERS; from += A_PUT)
		assert_status(http(client, "POST", "/leaderboards/b/members",
				   many("{\"put\":[", "{\"member\":\"m", from, A_PUT, "\",\"scores\":{\"n\":1}}",
					"]}")),
			      200);
}

static long long size(void)
{
	return server_command(&redis, "ZCARD p:board:{b}:ranks")->integer;
}

static long long kept(void)
{
	redisReply *max = server_command(&redis, "HGET p:board:{b} max_members");

	return max->type == REDIS_REPLY_NIL ? -1 : atoll(max->str);
}

static struct raw *sent(const char *head, const char *body)
{
	struct raw *r = raw_connect(patternd.port);
	char text[400];

	proxy_set(proxy, (struct proxy_fault){ .delay_ms = DELAY_MS });
	snprintf(text, sizeof(text),
		 "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s%zu\r\n\r\n%s", head,
		 "Idempotency-Key: k\r\nContent-Length: ", strlen(body), body);
	assert_true(raw_text(r, text));
	return r;
}

/*
 * Sends the PATCH, and returns once its first call has run. The reply is on its way for DELAY_MS.
 */
static struct raw *patch_begun(void)
{
	fill();
	struct raw *r = sent("PATCH /leaderboards/b", PATCH_BODY);
	wait_until(size() < MEMBERS, SOON_MS);
	assert_int_equal(size(), MEMBERS - A_CALL);
	return r;
}

TEST(it_is_called_until_nothing_is_left)
{
	fill();
	long long before = server_scripts_run(&redis);
	struct answer a = http(client, "PATCH", "/leaderboards/b", PATCH_BODY);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/size"), 1);
	assert_int_equal(server_scripts_run(&redis) - before, CALLS);
	assert_int_equal(kept(), 1);
}

/* Redis forgets the scripts between two calls: only the next call is sent whole. */
TEST(a_forgotten_script_is_sent_whole)
{
	struct raw *r = patch_begun();

	long long before = server_calls(&redis, "eval");
	server_command(&redis, "SCRIPT FLUSH");
	struct answer a = raw_answer(r, SOON_MS);
	assert_status(a, 200);
	assert_int_equal(size(), 1);
	assert_int_equal(server_calls(&redis, "eval") - before, 1);
	raw_close(r);
}

/* At most the call that was on its way when the client disconnected runs. */
TEST(nothing_is_called_for_a_client_that_left)
{
	struct raw *r = patch_begun();

	raw_close(r);
	wait_until(metric_of(&patternd, "redis_calls_in_flight") == 0, SOON_MS);
	assert_in_range(size(), MEMBERS - 2 * A_CALL, MEMBERS - A_CALL);
	assert_int_equal(kept(), -1);
}

TEST(a_lost_reply_leaves_the_effect_unknown)
{
	struct raw *r = patch_begun();

	wait_until(size() < MEMBERS - A_CALL, SOON_MS); /* the second call has run */
	proxy_set(proxy, (struct proxy_fault){ .drop_down = true });
	assert_problem(raw_answer(r, SOON_MS), 504, "no_answer", "unknown");
	raw_close(r);
	assert_in_range(size(), MEMBERS - 3 * A_CALL, MEMBERS - 2 * A_CALL);
}

/* The first call dropped members, so the effect is not `none` although the second one failed. */
TEST(a_refused_call_has_the_effect_of_the_calls_before)
{
	struct raw *r = patch_begun();

	server_command(&redis, "DEL p:board:{b}");
	server_command(&redis, "SET p:board:{b} foreign");
	assert_problem(raw_answer(r, SOON_MS), 500, "foreign_key", "unknown");
	raw_close(r);
	assert_int_equal(size(), MEMBERS - A_CALL);
}

static long long delayed(void)
{
	return server_command(&redis, "ZCARD p:queue:{q}:delayed")->integer;
}

/* A record keeps the reply of each call, so a retry continues where the purge broke off. */
TEST(a_retry_continues)
{
	enum { A_SEND = 100 };

	for (int from = 0; from < MEMBERS; from += A_SEND)
		assert_status(http(client, "POST", "/queues/q/messages",
				   many("{\"messages\":[", "{\"delay_ms\":60000,\"body\":", from, A_SEND, "}", "]}")),
			      201);
	struct raw *r = sent("POST /queues/q/purge", "{\"state\":\"delayed\"}");
	wait_until(delayed() < MEMBERS, SOON_MS);
	long long once = delayed();
	wait_until(delayed() < once, SOON_MS);
	proxy_set(proxy, (struct proxy_fault){ .drop_down = true });
	assert_problem(raw_answer(r, SOON_MS), 504, "no_answer", "unknown");
	raw_close(r);
	assert_in_range(delayed(), 1, once);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	wait_until(http(client, "GET", "/queues/q", NULL).status == 200, SOON_MS);
	for (int i = 0; i < 2; i++) {
		struct answer a =
			http(client, "POST", "/queues/q/purge", "{\"state\":\"delayed\"}", "Idempotency-Key: k");
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/purged"), MEMBERS);
	}
}
