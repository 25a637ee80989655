/*
 * ticket: the tickets of requests in the wait queues in Redis (lua/lib/waiters.lua), and how they
 * leave.
 *
 * A ticket is "<instance_id>.<number>.<tail>": 16 hex digits of this daemon since its start, 16 of
 * the request, and what the resource must know of the waiter: printable ASCII without blanks. The
 * resource would be offered to a ticket without a request, for a second each time. So when a
 * request ends, the script of its resource removes its ticket. While Redis is away the departure is
 * kept and retried, for as long as a ticket can be in a wait queue. Beyond DEPARTURES_MAX, or
 * without memory, the ticket stays until an offer to it lapses, as the ticket of a daemon that
 * died.
 */
#ifndef PATTERND_TICKET_H
#define PATTERND_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/text.h"

struct operation;
struct script;

/* A wait queue; `leave` has the KEYS first key and parts of a resource, the ARGV ticket and ''. */
struct ticket_queue {
	const struct script *leave;
	const char *const *parts; /* ended by NULL */
};

enum { DEPARTURES_MAX = 4096 };
enum {
	TICKET_PART_DIGITS = 16,
	TICKET_TAIL_MAX = 640, /* an owner of 200 bytes, percent-encoded */
	TICKET_SIZE = 2 * TICKET_PART_DIGITS + 2 + TICKET_TAIL_MAX + 1
};

void ticket_open(void);

/* Returns its length, without the NUL. `tail` has at most TICKET_TAIL_MAX bytes. */
size_t ticket_print(char to[TICKET_SIZE], uint64_t number, struct text tail);
/* What ticket_print wrote at its end; empty when it is not a ticket. */
struct text ticket_tail(struct text ticket);

/* The channel of this daemon's tickets for the resource of that key. */
struct text ticket_channel(struct arena *a, struct text key);
/* What ticket_channel was given. */
struct text ticket_key(struct text channel);

/* Copies what it keeps. `channels`, all in one slot: the ticket may be in their wait queues. */
void ticket_leave(const struct operation *op, const struct ticket_queue *queue, const struct text *channels,
		  size_t count, struct text ticket);

void ticket_close(void);

#endif
