/*
 * lock_line: one lock, /locks/a, and its wait queue at a pair of daemons (pair.h).
 *
 *	line_hold("{\"ttl_ms\":60000}");
 *	struct raw *first = line_join(0), *second = line_join(1);
 *	line_release(0);
 *	line_served(first);                                holds it now; its connection is closed
 *	assert_true(pair_waits(second));
 */
#ifndef TEST_LOCK_LINE_H
#define TEST_LOCK_LINE_H

#include "pair.h"

#define LOCK_A "/locks/a"

/* The holder's token, from the latest line_hold or line_served. */
extern char line_token[64];

/* Tries once to acquire the lock, over the kept connection to daemon `i`. */
struct answer line_take(int i, const char *body);

/* Acquires the lock at the first daemon. */
void line_hold(const char *body);

/* Releases the lock at daemon `i` with line_token. */
void line_release(int i);

/* The length of the wait queue. */
int64_t line_waiters(void);

/*
 * Adds a waiter to the end of the wait queue, for 20 s at most. The waiter is queued when this
 * returns. line_join_with takes another body.
 */
struct raw *line_join(int i);
struct raw *line_join_with(int i, const char *body);

/* Fails the test unless this waiter has acquired the lock. Closes its connection. */
void line_served(struct raw *r);

#endif
