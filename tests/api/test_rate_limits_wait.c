/*
 * A call may wait for room in a limit. Calls are served in order of arrival, with an attempt or two
 * each, and a call that can never fit does not wait.
 */
#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000, CROWD = 6 };

#define SLOW(key, members) \
	"{\"key\":\"" key "\",\"limit\":10,\"window_ms\":1000,\"burst\":1" members "}" /* one per 100 ms */

static struct raw *ask(const char *body, const char *headers)
{
	return waiter_at(&patternd, "/ratelimit", body, headers);
}

static void until_waiting(int count)
{
	wait_until(waiting_at(&patternd) == count, SOON_MS);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(it_waits_until_it_fits)
{
	static const char slow[] = "{\"key\":\"a\",\"limit\":1,\"window_ms\":800,\"burst\":1,\"wait_ms\":5000}";
	assert_status(post("/ratelimit", slow), 200);
	struct answer a = post("/ratelimit", slow);
	assert_status(a, 200);
	assert_true(json_is_true(json_at(a, "/allowed")));
	assert_true(a.took_us / 1000 >= 200); /* less than the whole, since the first answer took its time */
}

TEST(what_cannot_help_is_refused_at_once)
{
	static const char once[] = "{\"key\":\"b\",\"limit\":1,\"window_ms\":60000,\"wait_ms\":5000}";
	assert_status(post("/ratelimit", once), 200);
	struct answer a = post("/ratelimit", once);
	assert_problem(a, 429, "rate_limited", "none");
	assert_in_range(int_at(a, "/retry_after_ms"), 50000, 60000);
	assert_in_range(a.took_us / 1000, 0, 2000);
}

TEST(a_crowd_goes_in_order_and_costs_little)
{
	struct raw *waiting[CROWD];

	assert_status(post("/ratelimit", SLOW("c", "")), 200);
	double before = metric_value(&patternd, "wait_retries_total");
	for (int i = 0; i < CROWD; i++) {
		waiting[i] = ask(SLOW("c", ",\"wait_ms\":5000"), "");
		if (i < 3) /* the first waiters are served before the last ones come */
			wait_until(waiting_at(&patternd) >= 1, SOON_MS);
	}
	for (int i = 0; i < CROWD; i++) {
		assert_status(raw_answer(waiting[i], SOON_MS), 200);
		raw_close(waiting[i]);
	}
	assert_true(metric_value(&patternd, "wait_retries_total") - before <= 3 * CROWD);
	until_waiting(0);
}

TEST(several_checks_wait_for_the_slowest)
{
	static const char both[] = "{\"wait_ms\":3000,\"checks\":["
				   "{\"name\":\"fast\",\"key\":\"d\",\"limit\":100,\"window_ms\":1000,\"burst\":1},"
				   "{\"name\":\"slow\",\"key\":\"e\",\"limit\":5,\"window_ms\":1000,\"burst\":1}]}";
	assert_status(post("/ratelimit", both), 200);
	struct answer a = post("/ratelimit", both);
	assert_status(a, 200);
	assert_true(a.took_us / 1000 >= 20);
}

TEST(a_client_that_leaves_takes_nothing)
{
	assert_status(post("/ratelimit", SLOW("f", "")), 200);
	struct raw *r = ask("{\"key\":\"f\",\"limit\":10,\"window_ms\":10000,\"burst\":1,\"wait_ms\":5000}", "");
	until_waiting(1);
	raw_reset(r);
	until_waiting(0);
}

/* A waiting call is not refused yet, so it counts only once it is granted. */
TEST(waiting_counts_nothing)
{
	static const char counting[] = "{\"key\":\"h\",\"algorithm\":\"sliding_window\",\"limit\":1,"
				       "\"window_ms\":1000,\"count_refused\":true,\"wait_ms\":5000}";
	static const char latest[] = "ZREVRANGE p:limit:{h}:@:sliding_window 1 1";

	assert_status(post("/ratelimit", counting), 200);
	struct raw *r = ask(counting, "Idempotency-Key: h1\r\n");
	until_waiting(1);
	redisReply *log = server_command(&redis, latest);
	assert_int_equal(log->elements, 1);
	assert_int_equal(strtoll(log->element[0]->str, NULL, 10), 1);
	assert_status(raw_answer(r, SOON_MS), 200);
	raw_close(r);
	assert_status(http(client, "POST", "/ratelimit", counting, "Idempotency-Key: h1"), 200);
	log = server_command(&redis, latest);
	assert_in_range(strtoll(log->element[0]->str, NULL, 10), 1, 2);
}

TEST(a_duplicate_of_a_waiter_is_in_progress)
{
	static const char slow[] = "{\"key\":\"g\",\"limit\":1,\"window_ms\":1500,\"wait_ms\":5000}";
	assert_status(post("/ratelimit", slow), 200);
	struct raw *r = ask(slow, "Idempotency-Key: w1\r\n");
	until_waiting(1);
	struct answer a = http(client, "POST", "/ratelimit", slow, "Idempotency-Key: w1");
	assert_problem(a, 409, "request_in_progress", "none");
	a = http(client, "POST", "/ratelimit", SLOW("g", ""), "Idempotency-Key: w1");
	assert_problem(a, 422, "idempotency_key_reused", "none");
	assert_status(raw_answer(r, SOON_MS), 200);
	raw_close(r);
	assert_status(http(client, "POST", "/ratelimit", slow, "Idempotency-Key: w1"), 200);
}
