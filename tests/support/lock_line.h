/*
 * lock_line: one lock, /locks/a, and who stands in line for it at a pair of daemons (pair.h).
 *
 *	line_hold("{\"ttl_ms\":60000}");
 *	struct raw *first = line_stand(0), *second = line_stand(1);
 *	line_release(0);
 *	line_served(first);                                holds it now, and closed its connection
 *	assert_true(pair_waits(second));
 */
#ifndef TEST_LOCK_LINE_H
#define TEST_LOCK_LINE_H

#include "pair.h"

#define LOCK_A "/locks/a"

/* The token of who holds it: of the latest line_hold or line_served. */
extern char line_token[64];

/* A try over the standing connection to daemon `i`. */
struct answer line_take(int i, const char *body);

/* Takes it, by way of the first daemon. */
void line_hold(const char *body);

/* Gives it back by daemon `i`, with line_token. */
void line_release(int i);

/* How many stand in line. */
int64_t line_waiters(void);

/*
 * One more who waits, 20 s at most, at the end of the line: he stands there when this returns. The
 * same with another body.
 */
struct raw *line_stand(int i);
struct raw *line_stand_with(int i, const char *body);

/* It is his now, or the test fails. Closes his connection. */
void line_served(struct raw *r);

#endif
