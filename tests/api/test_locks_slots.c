/*
 * Several locks in several slots of a Redis Cluster: a client gets all of them or none, waiters
 * never deadlock, and a refused client keeps no lock.
 */
#include <signal.h>

#include "../support/pair.h"
#include "../support/redis_cluster.h"
#include "../support/slot_names.h"
#include "test.h"

enum { SOON_MS = 10000, FORKS = 5, MEALS = 12 };

static const char *body_of(const char *first, const char *second, const char *rest)
{
	static char bodies[8][256];
	static unsigned next;
	char *body = bodies[next++ % 8];

	snprintf(body, sizeof(bodies[0]), "{\"names\":[\"%s\",\"%s\"]%s}", first, second, rest);
	return body;
}

static const char *target_of(const char *name)
{
	static char targets[4][64];
	static unsigned next;
	char *target = targets[next++ % 4];

	snprintf(target, sizeof(targets[0]), "/locks/%s", name);
	return target;
}

static struct answer take(const char *body)
{
	return http(pair.c[0], "POST", "/locks", body);
}

static struct answer take_one(const char *name, const char *body)
{
	return http(pair.c[0], "POST", target_of(name), body);
}

static struct answer release(const char *name, const char *token)
{
	char header[128];

	snprintf(header, sizeof(header), "Lock-Token: %s", token);
	return http(pair.c[0], "DELETE", target_of(name), NULL, header);
}

static bool is_held(const char *name)
{
	return json_is_true(json_at(http(pair.c[1], "GET", target_of(name), NULL), "/held"));
}

static int waiters_of(const char *name)
{
	return (int)pair_number(target_of(name), "/waiter_count");
}

TEST(all_or_nothing)
{
	struct answer both = take(body_of(high, low, ",\"owner\":\"me\",\"ttl_ms\":20000"));
	assert_status(both, 201);
	assert_string_equal(text_at(both, "/locks/0/name"), high);
	assert_string_equal(text_at(both, "/owner"), "me");
	assert_in_range(int_at(both, "/ttl_ms"), 15000, 20000);
	assert_int_equal(int_at(both, "/locks/0/fence"), pair_number(target_of(high), "/fence"));
	assert_int_equal(int_at(both, "/locks/1/fence"), pair_number(target_of(low), "/fence"));
	for (int i = 0; i < 2; i++) { /* one is held, in the later or the earlier slot */
		const char *held = i ? low : high;
		struct answer refused = take(body_of(middle, held, ""));
		assert_problem(refused, 409, "lock_held", "none");
		assert_string_equal(text_at(refused, "/name"), held);
		assert_string_equal(text_at(refused, "/holders/0/owner"), "me");
		assert_non_null(header_of(refused, "Retry-After"));
		assert_false(is_held(middle));
	}
	assert_int_equal(int_at(release(high, text_at(both, "/token")), "/holds"), 0);
	assert_true(is_held(low));
	assert_int_equal(int_at(release(low, text_at(both, "/token")), "/holds"), 0);
	assert_status(take(body_of(middle, high, "")), 201);
}

TEST(a_record_needs_one_slot)
{
	const char *beside = name_beside(low, 1);

	struct answer refused =
		http(pair.c[0], "POST", "/locks", body_of(low, high, ",\"wait_ms\":9000"), "Idempotency-Key: k");
	assert_problem(refused, 400, "idempotency_unavailable", "none");
	assert_string_equal(text_at(refused, "/errors/0/pointer"), "Idempotency-Key:");
	assert_false(is_held(low));
	struct answer won = http(pair.c[0], "POST", "/locks", body_of(low, beside, ""), "Idempotency-Key: k");
	struct answer again = http(pair.c[1], "POST", "/locks", body_of(low, beside, ""), "Idempotency-Key: k");
	assert_status(won, 201);
	assert_status(again, 201);
	assert_string_equal(text_at(again, "/token"), text_at(won, "/token"));
}

TEST(it_waits_for_the_one_that_is_held)
{
	struct answer held = take_one(high, "{}");
	struct raw *w = pair_ask(1, "/locks", body_of(high, low, ",\"wait_ms\":20000,\"ttl_ms\":9000"), "");
	wait_until(waiters_of(high) == 1, SOON_MS);
	assert_true(is_held(low));
	assert_int_equal(waiters_of(low), 0);
	assert_problem(take_one(high, "{}"), 409, "lock_held", "none");
	assert_true(pair_waits(w));
	release(high, text_at(held, "/token"));
	struct answer won = pair_answer(w, "/locks");
	assert_status(won, 201);
	assert_true(int_at(won, "/waited_ms") > 0);
	assert_int_equal(waiters_of(high), 0);
	/* The lock had a longer ttl during the wait; now it has the requested ttl. */
	assert_true(pair_number(target_of(low), "/ttl_ms") <= 9000);
	assert_int_equal(int_at(release(low, text_at(won, "/token")), "/holds"), 0);
	assert_int_equal(int_at(release(high, text_at(won, "/token")), "/holds"), 0);
	raw_close(w);
}

/* Locks that a waiter already holds do not expire while it waits for the others. */
TEST(a_short_ttl_bears_a_long_wait)
{
	struct answer held = take_one(high, "{}");
	struct raw *w = pair_ask(0, "/locks", body_of(low, high, ",\"wait_ms\":20000,\"ttl_ms\":300"), "");
	wait_until(waiters_of(high) == 1, SOON_MS);
	int64_t until_ms = monotonic_ms() + 700;
	while (monotonic_ms() < until_ms)
		assert_true(is_held(low));
	release(high, text_at(held, "/token"));
	assert_status(pair_answer(w, "/locks"), 201);
	wait_until(!is_held(low) && !is_held(high), SOON_MS);
	raw_close(w);
}

TEST(a_lock_lost_during_the_wait_keeps_none)
{
	struct answer held = take_one(high, "{}");
	struct raw *w = pair_ask(0, "/locks", body_of(low, high, ",\"wait_ms\":20000"), "");
	wait_until(waiters_of(high) == 1, SOON_MS);
	char target[64];
	snprintf(target, sizeof(target), "/locks/%s?force=true", low);
	assert_status(http(pair.c[0], "DELETE", target, NULL), 200);
	release(high, text_at(held, "/token"));
	assert_problem(pair_answer(w, "/locks"), 409, "not_holder", "none");
	assert_false(is_held(high));
	assert_false(is_held(low));
	raw_close(w);
}

TEST(when_the_wait_ends_nothing_is_kept)
{
	take_one(high, "{}");
	struct answer refused = take(body_of(low, high, ",\"wait_ms\":300"));
	assert_problem(refused, 409, "lock_held", "none");
	assert_string_equal(text_at(refused, "/name"), high);
	assert_false(is_held(low));
	assert_int_equal(waiters_of(high), 0);
}

TEST(a_client_that_leaves_keeps_nothing)
{
	take_one(high, "{}");
	struct raw *w = pair_ask(1, "/locks", body_of(low, high, ",\"wait_ms\":20000"), "");
	wait_until(waiters_of(high) == 1 && is_held(low), SOON_MS);
	raw_reset(w);
	wait_until(waiters_of(high) == 0 && !is_held(low), SOON_MS);
}

TEST(what_is_not_a_lock_keeps_none)
{
	char key[64];

	snprintf(key, sizeof(key), "p:lock:{%s}", high);
	server_command(&pair.redis, "SET %s foreign", key);
	assert_problem(take(body_of(low, high, "")), 500, "foreign_key", "none");
	assert_false(is_held(low));
}

TEST(a_node_that_does_not_answer_keeps_none)
{
	struct redis_cluster *c = pair.redis.cluster;

	assert_status(take(body_of(low, high, ",\"ttl_ms\":200")), 201); /* both nodes know the scripts */
	wait_until(!is_held(low), SOON_MS);
	proc_signal(&c->nodes[2].server.proc, SIGSTOP);
	struct answer a = take(body_of(low, high, ",\"ttl_ms\":1000"));
	bool is_free = !is_held(low);
	proc_signal(&c->nodes[2].server.proc, SIGCONT);
	assert_problem(a, 504, "no_answer", "unknown");
	assert_null(strstr(text_at(a, "/detail"), "Idempotency-Key")); /* that header is refused for several slots */
	assert_true(is_free);
	for (int i = 0; i < 2; i++)
		wait_until(http(pair.c[i], "GET", target_of(high), NULL).status == 200, SOON_MS);
	/* The call reached the node later, and no release followed, so the ttl frees the lock. */
	wait_until(!is_held(high), SOON_MS);
}

/*
 * One node refuses, and the other node cannot release its lock: the error must not claim that
 * nothing happened.
 */
TEST(what_cannot_be_released_is_unknown)
{
	struct redis_server *first = &pair.redis.cluster->nodes[0].server;

	assert_status(take_one(high, NULL), 201);
	server_command(first, "ACL SETUSER default -unlink -del");
	struct answer a = take(body_of(low, high, ",\"ttl_ms\":1000"));
	bool is_kept = is_held(low);
	server_command(first, "ACL SETUSER default +@all");
	assert_problem(a, 409, "lock_held", "unknown");
	assert_true(is_kept);
	wait_until(!is_held(low), SOON_MS);
}

/*
 * `count` clients at two daemons acquire the two locks of their body MEALS times each. Each wait
 * must succeed.
 */
static void eat(const char *const bodies[], int count)
{
	struct raw *at[FORKS];
	int meals[FORKS] = { 0 };

	for (int i = 0; i < count; i++)
		at[i] = pair_ask(i % 2, "/locks", bodies[i], "");
	for (int eaten = 0; eaten < count * MEALS;) {
		for (int i = 0; i < count; i++) {
			if (meals[i] == MEALS || pair_waits(at[i]))
				continue;
			struct answer a = pair_answer(at[i], "/locks");
			assert_status(a, 201);
			for (int k = 0; k < 2; k++)
				assert_status(release(text_at(a, k ? "/locks/0/name" : "/locks/1/name"),
						      text_at(a, "/token")),
					      200);
			eaten++;
			raw_close(at[i]);
			at[i] = ++meals[i] < MEALS ? pair_ask(i % 2, "/locks", bodies[i], "") : NULL;
		}
	}
}

/* Each philosopher needs two forks, and every second one names them in the other order. */
TEST(philosophers_eat)
{
	const char *forks[FORKS] = { high, low, middle, name_on(2, 1), name_on(0, 1) }, *bodies[FORKS];

	for (int i = 0; i < FORKS; i++) {
		const char *left = forks[i], *right = forks[(i + 1) % FORKS];
		bodies[i] = body_of(i % 2 ? left : right, i % 2 ? right : left, ",\"wait_ms\":9000");
	}
	eat(bodies, FORKS);
	for (int i = 0; i < FORKS; i++) {
		assert_false(is_held(forks[i]));
		assert_int_equal(waiters_of(forks[i]), 0);
	}
}

/* Clients that do not wait: a refused client keeps no lock, and some clients succeed. */
TEST(refusals_under_load_keep_nothing)
{
	const char *bodies[] = { body_of(low, high, ""), body_of(high, middle, ""), body_of(middle, low, "") };
	struct raw *at[6];
	int won = 0;

	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 6; i++)
			at[i] = pair_ask(i % 2, "/locks", bodies[i % 3], "");
		int won_before = won;
		const char *tokens[6];
		for (int i = 0; i < 6; i++) {
			struct answer a = pair_answer(at[i], "/locks");
			tokens[i] = a.status == 201 ? text_at(a, "/token") : NULL;
			if (a.status != 201)
				assert_problem(a, 409, "lock_held", "none");
			won += a.status == 201;
		}
		assert_true(won - won_before <= 1); /* any two bodies have a lock in common */
		int held = is_held(low) + is_held(middle) + is_held(high);
		assert_int_equal(held, 2 * (won - won_before));
		for (int i = 0; i < 6; i++) {
			if (tokens[i]) {
				const char *const names[] = { low, middle, high };
				for (int k = 0; k < 3; k++)
					release(names[k], tokens[i]);
			}
			raw_close(at[i]);
		}
	}
	assert_true(won > 0);
}

static int open_on_a_cluster(void **state)
{
	slots_on_a_cluster();
	return pair_open(state);
}

SUITE(.open = open_on_a_cluster, .close = pair_close, .after = pair_forget);
