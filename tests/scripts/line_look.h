/*
 * line_look: looks at a line, which is a wait queue (lua/lib/waiters.lua), from outside, for
 * the tests of locks, semaphores, queues and cached values.
 *
 *	assert_string_equal(line_tickets(&r, "p:lock:{a}"), TICKET_1 " " TICKET_2);
 *	line_subscribe(&r, "p:lock:{a}");
 *	...
 *	assert_string_equal(line_published(&r), "A1 0, B1 1000");
 *
 * A line is named by its resource's first key. Texts live until the next call of a function here.
 */
#ifndef TEST_LINE_LOOK_H
#define TEST_LINE_LOOK_H

#include <stdint.h>

#include "redis_server.h"

/* Instances of daemons. A ticket begins with one: "<daemon>.<number>.<mode>". */
#define DAEMON_A "aaaaaaaaaaaaaaaa"
#define DAEMON_B "bbbbbbbbbbbbbbbb"
#define DAEMON_C "cccccccccccccccc"

/* The tickets in the queue, in order, separated by blanks. */
const char *line_tickets(struct redis_server *r, const char *key);

/*
 * Subscribes these three daemons to the line for as long as the server runs. The scripts drop the
 * tickets of a daemon that is not subscribed.
 */
void line_attend(struct redis_server *r, const char *key);

/*
 * The tickets that have an offer, separated by blanks; and the end of the first offer, 0 without
 * one.
 */
const char *line_offered_to(struct redis_server *r, const char *key);
int64_t line_offered_until(struct redis_server *r, const char *key);

/* The tickets whose daemons look at a set time, the earliest first, separated by blanks. */
const char *line_watchers(struct redis_server *r, const char *key);

/*
 * line_lapse makes the offers lapse, as if their time had passed. line_watch_lapse makes the
 * watchers late.
 */
void line_lapse(struct redis_server *r, const char *key);
void line_watch_lapse(struct redis_server *r, const char *key);

/*
 * Subscribes the test to what these daemons receive for this line, and to no other line. NULL: to
 * none.
 */
void line_subscribe(struct redis_server *r, const char *key);

/*
 * The messages since the last call, separated by ", ". "A1 0" is for the first ticket of DAEMON_A,
 * "B!" is for DAEMON_B as a whole.
 */
const char *line_published(struct redis_server *r);

#endif
