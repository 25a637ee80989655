/*
 * One decision over limits in several slots of a Redis Cluster: all or nothing, never more than a
 * limit, with the same answers as in one slot.
 */
#include <pthread.h>
#include <signal.h>

#include "../support/pair.h"
#include "../support/redis_cluster.h"
#include "../support/slot_names.h"
#include "test.h"

enum { SOON_MS = 10000, CALLERS = 4, CALLS = 60 };

/* Three checks, one per algorithm, with these keys and limits. */
static const char *checks_of(const char *const keys[3], const int limits[3], const char *rest)
{
	static char body[1024];

	snprintf(
		body, sizeof(body),
		"{\"checks\":[{\"name\":\"f\",\"key\":\"%s\",\"limit\":%d,\"window_ms\":86400000},"
		"{\"name\":\"s\",\"key\":\"%s\",\"algorithm\":\"sliding_window\",\"limit\":%d,\"window_ms\":86400000},"
		"{\"name\":\"w\",\"key\":\"%s\",\"algorithm\":\"fixed_window\",\"limit\":%d,\"window_ms\":86400000}]%s}",
		keys[0], limits[0], keys[1], limits[1], keys[2], limits[2], rest);
	return body;
}

static struct answer take(const char *body)
{
	return http(pair.c[0], "POST", "/ratelimit", body);
}

static int64_t remaining_of(const char *key, const char *check)
{
	char target[96];

	snprintf(target, sizeof(target), "/ratelimit/keys/%s?check=%s", key, check);
	return pair_number(target, "/remaining");
}

static bool has_state(const char *key, const char *check)
{
	char target[96];

	snprintf(target, sizeof(target), "/ratelimit/keys/%s?check=%s", key, check);
	return !json_is_null(json_at(http(pair.c[0], "GET", target, NULL), "/algorithm"));
}

static void must_have_the_same(struct answer a, struct answer b, const char *member)
{
	const json_t *x = json_at(a, member), *y = json_at(b, member);

	if (json_is_integer(x) && strstr(member, "_ms")) /* the clock went on between them */
		assert_in_range(json_integer_value(y) + 2000 - json_integer_value(x), 0, 4000);
	else
		assert_true(json_equal(x, y));
}

/* Whichever check refuses, the values of each check are as in one slot, and nothing is taken. */
TEST(a_refusal_is_as_in_one_slot)
{
	static const char *const members[] = { "allowed",   "limit",          "window_ms",      "capacity",
					       "remaining", "retry_after_ms", "reset_after_ms", "check" };
	const char *apart[] = { middle, high, low };
	char beside[2][16];
	const char *together[] = { low, beside[0], beside[1] };
	char pointer[64];

	snprintf(beside[0], sizeof(beside[0]), "%s", name_beside(low, 1));
	snprintf(beside[1], sizeof(beside[1]), "%s", name_beside(low, 2));
	for (int refuses = 0; refuses < 4; refuses++) { /* the last round has no refusal */
		int limits[] = { 9, 9, 9 };
		struct answer answers[2];
		if (refuses < 3)
			limits[refuses] = 2;
		for (int i = 0; i < 2; i++) {
			const char *const *keys = i ? together : apart;
			for (int calls = 0; calls < 2; calls++)
				assert_status(take(checks_of(keys, limits, "")), 200);
			answers[i] = take(checks_of(keys, limits, ""));
			if (refuses < 3)
				assert_problem(answers[i], 429, "rate_limited", "none");
			else
				assert_status(answers[i], 200);
			static const char *const checks[] = { "f", "s", "w" };
			for (int k = 0; k < 3; k++)
				assert_int_equal(remaining_of(keys[k], checks[k]), limits[k] - (refuses < 3 ? 2 : 3));
		}
		for (size_t m = 0; m < COUNT(members); m++) {
			snprintf(pointer, sizeof(pointer), "/%s", members[m]);
			must_have_the_same(answers[0], answers[1], pointer);
			for (int k = 0; k < 3; k++) {
				snprintf(pointer, sizeof(pointer), "/checks/%d/%s", k, members[m]);
				must_have_the_same(answers[0], answers[1], pointer);
			}
		}
		server_command(&pair.redis, "FLUSHALL");
	}
}

TEST(what_counts_refusals_counts_them)
{
	char body[512];

	for (int i = 0; i < 2; i++) { /* before the check that refuses, and after it */
		const char *counts = i ? high : low;
		snprintf(body, sizeof(body),
			 "{\"checks\":[{\"name\":\"c\",\"key\":\"%s\",\"algorithm\":\"sliding_window\",\"limit\":5,"
			 "\"window_ms\":86400000,\"count_refused\":true},{\"name\":\"m\",\"key\":\"%s\",\"limit\":1,"
			 "\"window_ms\":86400000}]}",
			 counts, middle);
		server_command(&pair.redis, "FLUSHALL");
		assert_status(take(body), 200);
		struct answer a = take(body);
		assert_problem(a, 429, "rate_limited", "applied");
		assert_int_equal(int_at(a, "/checks/0/remaining"), 3);
		assert_int_equal(remaining_of(counts, "c"), 3);
		assert_int_equal(remaining_of(middle, "m"), 0);
	}
}

TEST(a_shadow_does_not_decide)
{
	char body[512];

	assert_status(http(pair.c[0], "PUT", "/ratelimit/policies/shade",
			   "{\"algorithm\":\"fixed_window\",\"limit\":1,\"window_ms\":86400000,\"shadow\":true}"),
		      201);
	snprintf(body, sizeof(body),
		 "{\"checks\":[{\"key\":\"%s\",\"policy\":\"shade\"},{\"name\":\"h\",\"key\":\"%s\",\"limit\":2,"
		 "\"window_ms\":86400000}]}",
		 low, high);
	assert_status(take(body), 200);
	struct answer a = take(body);
	assert_status(a, 200);
	assert_false(bool_at(a, "/shadow_allowed"));
	assert_problem(take(body), 429, "rate_limited", "none");
	assert_status(http(pair.c[0], "DELETE", "/ratelimit/policies/shade", NULL), 204);
}

TEST(a_record_needs_one_slot)
{
	const char *keys[] = { low, high, middle };
	const int limits[] = { 5, 5, 5 };

	assert_problem(http(pair.c[0], "POST", "/ratelimit", checks_of(keys, limits, ""), "Idempotency-Key: k"), 400,
		       "idempotency_unavailable", "none");
	assert_false(has_state(low, "f"));
	const char *beside[] = { low, low, low };
	for (int i = 0; i < 2; i++)
		assert_status(http(pair.c[0], "POST", "/ratelimit", checks_of(beside, limits, ""),
				   "Idempotency-Key: k"),
			      200);
	assert_int_equal(remaining_of(low, "f"), 4);
}

TEST(it_waits_until_all_fit)
{
	static const char counting[] = "\"algorithm\":\"sliding_window\",\"count_refused\":true,";
	const char *const roomy[] = { low, low, high }; /* its slot is before or after the slot of the full check */
	char body[512];

	for (int i = 0; i < 3; i++) {
		snprintf(body, sizeof(body),
			 "{\"wait_ms\":20000,\"checks\":[{\"name\":\"r\",\"key\":\"%s\",%s\"limit\":9,"
			 "\"window_ms\":86400000},{\"name\":\"h\",\"key\":\"%s\",\"algorithm\":\"fixed_window\","
			 "\"limit\":1,\"window_ms\":400}]}",
			 roomy[i], i ? counting : "", roomy[i] == low ? high : low);
		assert_status(take(body), 200);
		assert_status(take(body), 200);
		assert_int_equal(remaining_of(roomy[i], "r"), 7); /* a call that waits is not refused */
		server_command(&pair.redis, "FLUSHALL");
	}
}

/* ---- Many at once ---- */

struct caller {
	int number, granted;
};

static void *call(void *arg)
{
	struct caller *me = arg;
	struct client *c = client_open(pair.d[me->number % 2].port);
	char body[512];

	for (int i = 0; i < CALLS; i++) {
		bool turned = (i + me->number) % 2;
		snprintf(body, sizeof(body),
			 "{\"checks\":[{\"name\":\"%s\",\"key\":\"%s\",\"algorithm\":\"%s\",\"limit\":%d,"
			 "\"window_ms\":86400000},{\"name\":\"%s\",\"key\":\"%s\",\"algorithm\":\"%s\",\"limit\":%d,"
			 "\"window_ms\":86400000}]}",
			 turned ? "w" : "f", turned ? high : low, turned ? "fixed_window" : "gcra", turned ? 60 : 100,
			 turned ? "f" : "w", turned ? low : high, turned ? "gcra" : "fixed_window", turned ? 100 : 60);
		int status = http(c, "POST", "/ratelimit", body).status;
		me->granted += status == 200;
		if (status != 200 && status != 429)
			me->granted = -1000000;
	}
	client_close(c);
	return NULL;
}

/*
 * Each limit has counted exactly the granted calls, and as many calls were granted as there was
 * room for.
 */
TEST(many_at_once_never_get_more)
{
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	int granted = 0;

	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .number = i };
		pthread_create(&threads[i], NULL, call, &callers[i]);
	}
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(threads[i], NULL);
		granted += callers[i].granted;
	}
	assert_int_equal(granted, 60);
	assert_int_equal(remaining_of(low, "f"), 40);
	assert_int_equal(remaining_of(high, "w"), 0);
}

/* ---- When Redis fails half-way ---- */

TEST(what_is_not_a_limit_takes_nothing)
{
	const char *keys[] = { low, middle, high };
	const int limits[] = { 5, 5, 5 };
	char key[96];

	assert_status(take(checks_of(keys, limits, "")), 200);
	snprintf(key, sizeof(key), "p:limit:{%s}:@w:fixed_window", high);
	server_command(&pair.redis, "SET %s foreign", key);
	assert_problem(take(checks_of(keys, limits, "")), 500, "foreign_key", "none");
	assert_int_equal(remaining_of(low, "f"), 4);
	assert_int_equal(remaining_of(middle, "s"), 4);
}

static struct proc *last_node(void)
{
	return &pair.redis.cluster->nodes[2].server.proc;
}

static void wake_last_node(void)
{
	char target[64];

	proc_signal(last_node(), SIGCONT);
	snprintf(target, sizeof(target), "/locks/%s", high);
	for (int i = 0; i < 2; i++)
		wait_until(http(pair.c[i], "GET", target, NULL).status == 200, SOON_MS);
}

TEST(a_node_that_does_not_answer_takes_nothing)
{
	const char *keys[] = { low, middle, high };
	const int limits[] = { 5, 5, 5 };

	assert_status(take(checks_of(keys, limits, "")), 200);
	proc_signal(last_node(), SIGSTOP);
	struct answer a = take(checks_of(keys, limits, ""));
	int64_t left = remaining_of(low, "f") + remaining_of(middle, "s");
	const char *beside[] = { high, name_beside(high, 1), name_beside(high, 2) };
	struct answer one = http(pair.c[1], "POST", "/ratelimit", checks_of(beside, limits, "")); /* one slot */
	wake_last_node();
	assert_problem(a, 504, "no_answer", "unknown");
	assert_null(strstr(text_at(a, "/detail"), "Idempotency-Key")); /* a key is refused over several slots */
	assert_problem(one, 504, "no_answer", "unknown");
	assert_non_null(strstr(text_at(one, "/detail"), "Idempotency-Key"));
	assert_int_equal(left, 8);
}

/*
 * One node refuses, and another node cannot refund: the error must not claim that nothing happened.
 */
TEST(what_cannot_be_refunded_is_unknown)
{
	const char *keys[] = { low, middle, high };
	const char *others[] = { name_beside(high, 1), name_beside(high, 2), high };
	const int limits[] = { 5, 5, 1 };
	struct redis_server *first = &pair.redis.cluster->nodes[0].server;

	assert_status(take(checks_of(others, limits, "")), 200);
	server_command(first, "ACL SETUSER default -del");
	struct answer a = take(checks_of(keys, limits, ""));
	server_command(first, "ACL SETUSER default +@all");
	assert_problem(a, 429, "rate_limited", "unknown");
	assert_int_equal(remaining_of(low, "f"), 4);
}

/* A policy that fails open also grants when a node does not answer, and the call is not counted. */
TEST(what_fails_open_is_granted)
{
	char body[512], policy[64];

	snprintf(policy, sizeof(policy), "/ratelimit/policies/%s", low);
	assert_status(http(pair.c[0], "PUT", policy,
			   "{\"algorithm\":\"fixed_window\",\"limit\":5,\"window_ms\":86400000,\"on_error\":\"open\"}"),
		      201);
	snprintf(body, sizeof(body),
		 "{\"checks\":[{\"name\":\"l\",\"key\":\"%s\",\"policy\":\"%s\"},{\"name\":\"h\",\"key\":\"%s\","
		 "\"policy\":\"%s\"}]}",
		 low, low, high, low);
	assert_status(take(body), 200);
	proc_signal(last_node(), SIGSTOP);
	struct answer a = take(body);
	snprintf(body, sizeof(body), "/ratelimit/keys/%s?policy=%s", low, low);
	int64_t left = pair_number(body, "/remaining");
	wake_last_node();
	assert_status(a, 200);
	assert_true(bool_at(a, "/degraded"));
	assert_int_equal(left, 4);
	assert_status(http(pair.c[0], "DELETE", policy, NULL), 204);
}

/* A client that disconnects half-way has taken nothing. */
TEST(a_client_that_leaves_takes_nothing)
{
	const char *keys[] = { low, middle, high };
	const int limits[] = { 5, 5, 5 };

	assert_status(take(checks_of(keys, limits, "")), 200);
	proc_signal(last_node(), SIGSTOP);
	struct raw *r = pair_ask(0, "/ratelimit", checks_of(keys, limits, ""), "");
	wait_until(remaining_of(low, "f") == 3, SOON_MS);
	raw_reset(r);
	wait_until(remaining_of(low, "f") == 4 && remaining_of(middle, "s") == 4, SOON_MS);
	wake_last_node();
}

static int open_on_a_cluster(void **state)
{
	slots_on_a_cluster();
	return pair_open(state);
}

SUITE(.open = open_on_a_cluster, .close = pair_close, .after = pair_forget);
