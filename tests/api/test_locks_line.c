/*
 * The wait queue of a lock over HTTP, with two daemons on one Redis. Waiters are served in order,
 * and no client overtakes them. Each way to free the lock wakes the next waiter. (Locks without
 * waiting: test_locks.c. The scripts: test_locks_line_scripts.c. When daemons or Redis fail:
 * test_locks_faults.c.)
 */
#include <pthread.h>
#include <stdatomic.h>

#include "lock_line.h"
#include "test.h"

enum { SOON_MS = 5000 };
/* The longest owner; each of its bytes needs three bytes in a ticket. */
#define OWNER_25 "%%%%%%%%%%%%%%%%%%%%%%%%%"
#define OWNER_200 OWNER_25 OWNER_25 OWNER_25 OWNER_25 OWNER_25 OWNER_25 OWNER_25 OWNER_25

/* ---- First come, first served ---- */

SUITE(.open = pair_open, .close = pair_close, .after = pair_forget);

TEST(all_are_served_as_they_came)
{
	enum { WAITERS = 10 };
	struct raw *line[WAITERS];

	line_hold("{\"ttl_ms\":60000}");
	int64_t fence = pair_number(LOCK_A, "/fence");
	for (int i = 0; i < WAITERS; i++)
		line[i] = line_join(i * 7 % 3 % 2); /* 0 1 0 0 1 0 0 1 0 0 */
	for (int i = 0; i < WAITERS; i++) {
		for (int k = i; k < WAITERS; k++)
			assert_true(pair_waits(line[k]));
		line_release(i % 2);
		struct answer a = pair_answer(line[i], LOCK_A);
		assert_status(a, 201);
		snprintf(line_token, sizeof(line_token), "%s", text_at(a, "/token"));
		assert_true(int_at(a, "/fence") > fence);
		assert_true(int_at(a, "/waited_ms") > 0);
		assert_int_equal(int_at(a, "/ttl_ms"), 60000);
		fence = int_at(a, "/fence");
		raw_close(line[i]);
		assert_int_equal(line_waiters(), WAITERS - 1 - i);
		assert_problem(line_take(i % 2, NULL), 409, "lock_held",
			       "none"); /* a client that does not wait cannot overtake */
	}
	line_release(0);
	assert_status(line_take(1, NULL), 201);
}

TEST(a_refusal_has_the_number_of_waiters)
{
	struct answer held = line_take(0, "{\"ttl_ms\":60000,\"owner\":\"worker-7\"}");
	struct raw *one = line_join(0), *two = line_join(1);
	struct answer a = line_take(1, NULL);
	assert_problem(a, 409, "lock_held", "none");
	assert_string_equal(text_at(a, "/name"), "a");
	assert_string_equal(text_at(a, "/holders/0/owner"), "worker-7");
	assert_int_equal(int_at(a, "/holders/0/fence"), int_at(held, "/fence"));
	assert_in_range(int_at(a, "/holders/0/ttl_ms"), 1, 60000);
	assert_int_equal(int_at(a, "/waiter_count"), 2);
	assert_int_equal(pair_number("/locks", "/items/0/waiter_count"), 2);
	int64_t waited_ms = pair_number("/locks/a/waiters", "/items/0/waiting_ms");
	assert_in_range(pair_number("/locks", "/items/0/longest_wait_ms"), waited_ms, waited_ms + 60000);
	assert_in_range(atoi(header_of(a, "Retry-After")), 1, 60);
	assert_null(strstr(a.body, text_at(held, "/token")));
	raw_close(one);
	raw_close(two);
}

static struct answer waiters_of(int i, const char *query)
{
	char target[96];

	snprintf(target, sizeof(target), LOCK_A "/waiters%s", query);
	return http(pair.c[i], "GET", target, NULL);
}

TEST(waiters_are_listed_in_order)
{
	static const struct {
		const char *body, *owner, *mode;
	} rows[] = {
		{ "{\"wait_ms\":20000,\"owner\":\"worker 8. \xc3\xa4%\"}", "worker 8. \xc3\xa4%", "exclusive" },
		{ "{\"wait_ms\":20000,\"mode\":\"shared\",\"owner\":\".\"}", ".", "shared" },
		{ "{\"wait_ms\":20000}", NULL, "exclusive" },
		{ "{\"wait_ms\":20000,\"mode\":\"shared\"}", NULL, "shared" },
		{ "{\"wait_ms\":20000,\"owner\":\"" OWNER_200 "\"}", OWNER_200, "exclusive" },
	};
	enum { WAITERS = COUNT(rows) };
	struct raw *line[WAITERS];
	char query[64] = "?limit=2";
	size_t seen = 0;

	struct answer a = waiters_of(0, "");
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/items")), 0);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	line_hold("{\"ttl_ms\":60000}");
	for (size_t i = 0; i < WAITERS; i++)
		line[i] = line_join_with(i % 2, rows[i].body);
	for (int pages = 1;; pages++) {
		a = waiters_of(pages % 2, query);
		assert_status(a, 200);
		for (size_t i = 0; i < json_array_size(json_at(a, "/items")); i++, seen++) {
			const json_t *one = json_array_get(json_at(a, "/items"), i);
			const char *owner = json_string_value(json_object_get(one, "owner"));
			assert_true(seen < WAITERS);
			assert_true(!owner == !rows[seen].owner && (!owner || strcmp(owner, rows[seen].owner) == 0));
			assert_string_equal(json_string_value(json_object_get(one, "mode")), rows[seen].mode);
			assert_in_range(json_integer_value(json_object_get(one, "waiting_ms")), 0, SOON_MS);
			assert_true(json_is_false(json_object_get(one, "offered")));
		}
		if (json_is_null(json_at(a, "/next_cursor"))) {
			assert_int_equal(pages, 3);
			break;
		}
		snprintf(query, sizeof(query), "?limit=2&cursor=%s", text_at(a, "/next_cursor"));
	}
	assert_int_equal(seen, WAITERS);
	assert_problem(waiters_of(0, "?cursor=x"), 400, "invalid_value", "none");
	for (size_t i = 0; i < WAITERS; i++)
		raw_close(line[i]);
	wait_until(line_waiters() == 0, SOON_MS);
}

TEST(the_time_to_wait_has_an_end)
{
	line_take(0, "{\"ttl_ms\":60000}");
	struct raw *before = line_join(1);
	for (int i = 0; i < 2; i++) {
		struct answer a = line_take(i, "{\"wait_ms\":150}");
		assert_problem(a, 409, "lock_held", "none");
		assert_in_range(a.took_us, 149000, 1000000);
		assert_int_equal(int_at(a, "/waiter_count"), 1); /* without this client */
		assert_int_equal(line_waiters(), 1);
	}
	raw_close(before);
	wait_until(line_waiters() == 0, SOON_MS);
}

/* A token enters its lock again at once, even when other clients wait, and never waits itself. */
TEST(a_holder_enters_past_the_line)
{
	static const char body[] = "{\"wait_ms\":20000,\"ttl_ms\":60000}";

	line_hold("{\"ttl_ms\":60000}");
	struct raw *waiter = line_join(1);
	assert_status(http(pair.c[1], "POST", LOCK_A, body, lock_token(line_token)), 200);
	assert_true(pair_waits(waiter));
	line_release(0);
	struct answer a = http(pair.c[0], "POST", LOCK_A, body, lock_token(line_token));
	assert_problem(a, 409, "not_holder", "none");
	assert_true(a.took_us < 1000000);
	raw_close(waiter);
}

/* ---- Each way to free the lock wakes the next at once ---- */

static void extend(int ttl_ms)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", ttl_ms);
	assert_status(http(pair.c[0], "POST", LOCK_A "/extend", body, lock_token(line_token)), 200);
}

static void enter(int ttl_ms)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", ttl_ms);
	assert_status(http(pair.c[0], "POST", LOCK_A, body, lock_token(line_token)), 200);
}

static void force(int ttl_ms)
{
	(void)ttl_ms;
	assert_status(http(pair.c[0], "DELETE", LOCK_A "?force=true", NULL), 200);
}

static void release(int ttl_ms)
{
	(void)ttl_ms;
	line_release(0);
}

static void nothing(int ttl_ms)
{
	(void)ttl_ms;
}

TEST(whatever_frees_it_wakes_the_next)
{
	static const struct {
		void (*end)(int ttl_ms);
		int ttl_ms;  /* the holder's ttl */
		int left_ms; /* how much of it is left after `end` */
	} rows[] = {
		{ release, 60000, 0 },  { force, 60000, 0 },   { nothing, 300, 300 },
		{ extend, 60000, 200 }, { enter, 60000, 200 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (int at = 0; at < 2; at++) {
			char body[64];
			snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", rows[i].ttl_ms);
			line_hold(body);
			struct raw *waiter = line_join(at);
			int64_t start_ms = monotonic_ms();
			rows[i].end(rows[i].left_ms);
			line_served(waiter);
			assert_in_range(monotonic_ms() - start_ms, rows[i].left_ms ? rows[i].left_ms - 150 : 0,
					rows[i].left_ms + 500);
			line_release(1);
		}
}

/*
 * When the lock of a served waiter expires, a waiter at the other daemon is served at once, not
 * after the second that an offer lasts.
 */
TEST(each_end_wakes_the_next_over_daemons)
{
	enum { WAITERS = 6 };
	struct raw *line[WAITERS];

	line_take(0, "{\"ttl_ms\":100}");
	for (int i = 0; i < WAITERS; i++)
		line[i] = pair_ask(i % 2, LOCK_A, "{\"wait_ms\":20000,\"ttl_ms\":100}", "");
	int64_t start_ms = monotonic_ms();
	for (int i = 0; i < WAITERS; i++)
		line_served(line[i]);
	assert_in_range(monotonic_ms() - start_ms, 0, (WAITERS + 1) * 100 + 700);
}

/* ---- Many waiters ---- */

enum { CROWD = 64, TURNS = 3 };

struct turn {
	int64_t fence, from_us, to_us;
};

static struct turn turns[CROWD * TURNS];
static atomic_int turn_count, inside, clashes, failures;

/*
 * This thread makes no assertions: a failed assertion ends the test, which only the main thread may
 * do.
 */
static void *take_turns(void *arg)
{
	struct client *c = arg;

	client_timeout_ms(c, 30000);
	for (int i = 0; i < TURNS; i++) {
		char header[96];
		struct answer a = http(c, "POST", "/locks/crowd", "{\"wait_ms\":30000,\"ttl_ms\":60000}");
		struct turn t = { .fence = json_integer_value(json_at(a, "/fence")), .from_us = monotonic_us() };
		if (a.status != 201) {
			atomic_fetch_add(&failures, 1);
			answer_print(a);
			continue;
		}
		clashes += atomic_fetch_add(&inside, 1) != 0;
		snprintf(header, sizeof(header), "Lock-Token: %s", json_string_value(json_at(a, "/token")));
		atomic_fetch_sub(&inside, 1);
		t.to_us = monotonic_us();
		turns[atomic_fetch_add(&turn_count, 1)] = t;
		failures += http(c, "DELETE", "/locks/crowd", NULL, header).status != 200;
		client_forget(c);
	}
	return NULL;
}

static int by_fence(const void *a, const void *b)
{
	int64_t x = ((const struct turn *)a)->fence, y = ((const struct turn *)b)->fence;

	return (x > y) - (x < y);
}

TEST(a_crowd_goes_in_one_by_one)
{
	struct client *clients[CROWD];
	pthread_t threads[CROWD];

	for (int i = 0; i < CROWD; i++)
		clients[i] = client_open(pair.d[i % 2].port);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, clients[i]), 0);
	for (int i = 0; i < CROWD; i++) {
		pthread_join(threads[i], NULL);
		client_close(clients[i]);
	}
	assert_int_equal(failures, 0);
	assert_int_equal(clashes, 0);
	assert_int_equal(turn_count, CROWD * TURNS);
	qsort(turns, CROWD * TURNS, sizeof(turns[0]), by_fence);
	for (int i = 1; i < CROWD * TURNS; i++) {
		assert_true(turns[i].fence > turns[i - 1].fence);
		assert_true(turns[i].from_us >= turns[i - 1].to_us);
	}
	assert_false(bool_at(http(pair.c[0], "GET", "/locks/crowd", NULL), "/held"));
	assert_int_equal(pair_number("/locks/crowd", "/waiter_count"), 0);
}
