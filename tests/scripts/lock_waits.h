/*
 * lock_waits: the wait queue of the lock "a", for its tests. Its Redis is script_stage's, and goes
 * by the clock of the test.
 *
 *	is_held(30000);
 *	wait_for_it(A1, WAIT_MS);
 *	lock_release(&r, "a", TOKEN_1);
 *	assert_published("A1 0");
 *	assert_line(A1, A1);
 */
#ifndef TEST_LOCK_WAITS_H
#define TEST_LOCK_WAITS_H

#include "line_look.h"
#include "lock_calls.h"

#define LOCK "p:lock:{a}"
#define A1 DAEMON_A ".0000000000000001.x"
#define A2 DAEMON_A ".0000000000000002.x"
#define A3 DAEMON_A ".0000000000000003.x"
#define B1 DAEMON_B ".0000000000000001.x"
#define B2 DAEMON_B ".0000000000000002.x"
#define C1 DAEMON_C ".0000000000000001.x"

enum { OFFER_MS = 1000, WAIT_MS = 20000 };

/* The stage by a clock, where the daemons of these tickets receive what is published. */
int lock_waits_open(void **state);

/* Another client, TOKEN_1, holds the lock. */
void is_held(int64_t ttl_ms);

/* An attempt of a waiter; 0 for its last one. And one without waiting. The outcomes. */
int64_t wait_for_it(const char *ticket, int64_t wait_ms);
int64_t pass_by(void);

void later(int64_t ms);

/* All that was published since the last call, or since line_subscribe. */
void assert_published(const char *messages);
void assert_line(const char *tickets, const char *offered_to);

#endif
