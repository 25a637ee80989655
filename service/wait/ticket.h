/*
 * ticket: the tickets of requests in the wait queues in Redis (lua/lib/waiters.lua), and how they
 * leave. It must not know patterns.
 *
 * A ticket is "<instance_id>.<number>.<tail>": 16 hex digits of this daemon since its start, 16 hex
 * digits of the request, and what the resource must know of the waiter, in printable ASCII without
 * blanks. A resource would be offered to a ticket without a request, for a second each time. So
 * when a request ends, the script of its resource removes its ticket. While Redis is not reachable
 * the departure is kept and retried, as long as a ticket can be in a wait queue. Beyond
 * DEPARTURES_MAX, or if memory runs out, the ticket stays until an offer to it lapses, as a ticket
 * of a daemon that died does.
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

/*
 * A wait queue. The KEYS of `leave` are the first key and the parts of a resource, its ARGV the
 * ticket and ''.
 */
struct ticket_queue {
	const struct script *leave;
	const char *const *parts; /* NULL ends the list */
};

enum { DEPARTURES_MAX = 4096 };
enum {
	TICKET_PART_DIGITS = 16,
	TICKET_TAIL_MAX = 640, /* holds an owner of 200 bytes, percent-encoded */
	TICKET_SIZE = 2 * TICKET_PART_DIGITS + 2 + TICKET_TAIL_MAX + 1
};

void ticket_open(void);

/*
 * Writes a ticket and a NUL. Returns its length without the NUL. `tail` has at most TICKET_TAIL_MAX
 * bytes.
 */
size_t ticket_print(char to[TICKET_SIZE], uint64_t number, struct text tail);
/* Returns the tail of a ticket; empty if the text is not a ticket. */
struct text ticket_tail(struct text ticket);

/* Returns the channel of this daemon's tickets for the resource with that key. */
struct text ticket_channel(struct arena *a, struct text key);
/* Returns the key that ticket_channel was given. */
struct text ticket_key(struct text channel);

/*
 * Removes the ticket from the wait queues of these channels, which are in one slot. Copies its
 * arguments.
 */
void ticket_leave(const struct operation *op, const struct ticket_queue *queue, const struct text *channels,
		  size_t count, struct text ticket);

void ticket_close(void);

#endif
