/*
 * line_look: what a line (lua/lib/waiters.lua) looks like from outside, for the tests of what has
 * one.
 *
 *	assert_string_equal(line_tickets(&r, "p:lock:{a}"), TICKET_1 " " TICKET_2);
 *	line_hear(&r, "p:lock:{a}");
 *	...
 *	assert_string_equal(line_heard(&r), "@" TICKET_1 " 1000");
 *
 * A line is named by its resource's first key. Texts live until the next call of the same function.
 */
#ifndef TEST_LINE_LOOK_H
#define TEST_LINE_LOOK_H

#include <stdint.h>

#include "redis_server.h"

/* Lives of daemons, which tickets begin with: "<daemon>.<number>.<mode>". */
#define DAEMON_A "aaaaaaaaaaaaaaaa"
#define DAEMON_B "bbbbbbbbbbbbbbbb"
#define DAEMON_C "cccccccccccccccc"

/* The tickets in it, the first first, with blanks between them. */
const char *line_tickets(struct redis_server *r, const char *key);

/* To whom the resource is offered, "" when to nobody; and until when, 0 then. */
const char *line_offered_to(struct redis_server *r, const char *key);
int64_t line_offered_until(struct redis_server *r, const char *key);

/* Makes the offer lapse, as if its time had passed. */
void line_lapse(struct redis_server *r, const char *key);

/* Listens on the channel from now on, instead of another one. NULL: on none. */
void line_hear(struct redis_server *r, const char *key);

/* What was published since the last time, the messages with ", " between them. */
const char *line_heard(struct redis_server *r);

#endif
