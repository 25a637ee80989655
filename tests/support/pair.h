/*
 * pair: one Redis, two daemons on it, and clients of both, for what must hold over daemons.
 *
 *	struct raw *w = pair_ask(1, "/locks/a", "{\"wait_ms\":20000}", "");
 *	wait_until(pair_number("/locks/a", "/waiter_count") == 1, SOON_MS);
 *	assert_true(pair_waits(w));
 *	...
 *	struct answer a = pair_answer(w, "/locks/a");      lives until raw_close(w)
 *
 *	cmocka_unit_test_teardown(a_test, pair_forget), ...
 *	return cmocka_run_group_tests_name("lock line", tests, pair_open, pair_close);
 */
#ifndef TEST_PAIR_H
#define TEST_PAIR_H

#include "daemon.h"
#include "http.h"
#include "raw.h"
#include "redis_server.h"

struct pair {
	struct redis_server redis;
	struct daemon d[2];
	struct client *c[2]; /* of each */
};
extern struct pair pair;

/* For the group. */
int pair_open(void **state);
int pair_close(void **state);

/* After each test: FLUSHALL; both daemons run, without waiters and holds. */
int pair_forget(void **state);

/* True when both reach Redis just now. */
bool pair_reaches_redis(void);

/* Starts a daemon again, after daemon_kill. */
void pair_restart(int i);

/*
 * Sends a POST to daemon `i` over its own connection, and does not wait. `headers`: whole
 * lines, or "".
 */
struct raw *pair_ask(int i, const char *target, const char *body, const char *headers);

/* The answer to it, recorded; fails the test when none comes soon. */
struct answer pair_answer(struct raw *r, const char *target);

/* True when neither an answer nor an end has come yet. */
bool pair_waits(const struct raw *r);

/* A number of the answer to a GET at the first daemon. */
int64_t pair_number(const char *target, const char *pointer);

#endif
