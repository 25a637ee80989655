/*
 * lock_waits: the wait queue of the lock "a", for its tests. The Redis is script_stage's; the test
 * sets its clock.
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

/*
 * Opens the stage with a clock set by the test. The daemons of these tickets receive what is
 * published.
 */
int lock_waits_open(void **state);

/* A client with TOKEN_1 acquires the lock. */
void is_held(int64_t ttl_ms);

/*
 * wait_for_it is an attempt of a waiter (`wait_ms` 0: its last one), pass_by one that does not
 * wait. Both return the outcome.
 */
int64_t wait_for_it(const char *ticket, int64_t wait_ms);
int64_t pass_by(void);

void later(int64_t ms);

/* Compares all messages since the last call, or since line_subscribe. */
void assert_published(const char *messages);
void assert_line(const char *tickets, const char *offered_to);

#endif
