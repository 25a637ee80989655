/*
 * line_look: what a line (lua/lib/waiters.lua) looks like from outside, for the tests of what has
 * one.
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

/* The instances of daemons, which tickets begin with: "<daemon>.<number>.<mode>". */
#define DAEMON_A "aaaaaaaaaaaaaaaa"
#define DAEMON_B "bbbbbbbbbbbbbbbb"
#define DAEMON_C "cccccccccccccccc"

/* The tickets in the queue, the first one first, with blanks between them. */
const char *line_tickets(struct redis_server *r, const char *key);

/*
 * Those three daemons receive what is published for the line; without them their tickets would be
 * dropped. For as long as the server runs.
 */
void line_attend(struct redis_server *r, const char *key);

/* The tickets that have an offer, with blanks between them; and until when the first, 0 without. */
const char *line_offered_to(struct redis_server *r, const char *key);
int64_t line_offered_until(struct redis_server *r, const char *key);

/* The tickets whose daemons look at some time, the earliest first, with blanks between them. */
const char *line_watchers(struct redis_server *r, const char *key);

/* Makes the offers lapse, as if their time had passed; and the watchers late. */
void line_lapse(struct redis_server *r, const char *key);
void line_watch_lapse(struct redis_server *r, const char *key);

/* Subscribes for those daemons, instead of to the line before. NULL: to none. */
void line_subscribe(struct redis_server *r, const char *key);

/*
 * The messages since the last call, with ", " between them. "A1 0" is for the first ticket of
 * DAEMON_A, "B!" for DAEMON_B as a whole.
 */
const char *line_published(struct redis_server *r);

#endif
