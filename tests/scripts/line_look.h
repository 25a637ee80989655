/*
 * line_look: what a line (lua/lib/waiters.lua) looks like from outside, for the tests of what has
 * one.
 *
 *	assert_string_equal(line_tickets(&r, "p:lock:{a}"), TICKET_1 " " TICKET_2);
 *	line_subscribe(&r, "p:lock:{a}");
 *	...
 *	assert_string_equal(line_published(&r), "@" TICKET_1 " 1000");
 *
 * A line is named by its resource's first key. Texts live until the next call of the same function.
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

/* The ticket that has the offer, "" without an offer; and until when, 0 then. */
const char *line_offered_to(struct redis_server *r, const char *key);
int64_t line_offered_until(struct redis_server *r, const char *key);

/* Makes the offer lapse, as if its time had passed. */
void line_lapse(struct redis_server *r, const char *key);

/* Subscribes to the channel, instead of the one before. NULL: to none. */
void line_subscribe(struct redis_server *r, const char *key);

/* The messages since the last call, with ", " between them. */
const char *line_published(struct redis_server *r);

#endif
