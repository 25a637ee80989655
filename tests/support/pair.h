/*
 * pair: one Redis with two daemons and a client of each, for tests of what must hold
 * across daemons.
 *
 *	struct raw *w = pair_ask(1, "/locks/a", "{\"wait_ms\":20000}", "");
 *	wait_until(pair_number("/locks/a", "/waiter_count") == 1, SOON_MS);
 *	assert_true(pair_waits(w));
 *	...
 *	struct answer a = pair_answer(w, "/locks/a");      lives until raw_close(w)
 *
 *	SUITE(.open = pair_open, .close = pair_close, .after = pair_forget);
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
	struct client *c[2]; /* one for each daemon */
};
extern struct pair pair;

/* For the group: set up and torn down once. */
int pair_open(void **state);
int pair_close(void **state);

/*
 * After each test: runs FLUSHALL, and restarts a daemon that is down. Fails when requests are still
 * under way.
 */
int pair_forget(void **state);

/* True when both daemons reach Redis now. */
bool pair_reaches_redis(void);

/* Starts a daemon again, after daemon_kill. */
void pair_restart(int i);

/*
 * Sends a POST to daemon `i` over its own connection, and does not wait. `headers`: whole
 * lines, or "".
 */
struct raw *pair_ask(int i, const char *target, const char *body, const char *headers);

/* Returns the answer to pair_ask and records it. Fails the test when none comes soon. */
struct answer pair_answer(struct raw *r, const char *target);

/* True while the connection is open and no answer has come. */
bool pair_waits(const struct raw *r);

/* A number from the answer to a GET at the first daemon. */
int64_t pair_number(const char *target, const char *pointer);

#endif
