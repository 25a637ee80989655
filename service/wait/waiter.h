/*
 * waiter: one request that waits, and which waiters of a channel a wake-up reaches. For wait.c,
 * which attempts their requests.
 *
 *	ATTEMPTING --wait_park--> PARKED --woken--> READY --wait_run--> ATTEMPTING
 *
 * A waiter is at each of its channels from its first attempt to its end, so it keeps its position
 * however many attempts fail.
 */
#ifndef PATTERND_WAITER_H
#define PATTERND_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loop.h"
#include "wait/channel.h"
#include "wait/ticket.h"

struct in_flight_key;
struct request;

enum waiter_state { WAITER_ATTEMPTING, WAITER_PARKED, WAITER_READY };

/* Lives in its request's arena. */
struct waiter {
	struct request *req; /* (ref) */
	enum waiter_state state;
	bool subscribed;                  /* its channels were, when this attempt began */
	bool retry_due;                   /* a wake-up came during this attempt */
	bool woken;                       /* there may be something that no other waiter was woken for */
	bool expired;                     /* its time to wait */
	const struct ticket_queue *queue; /* (ref) its ticket may be in; NULL: it is in none */
	struct text tail;                 /* (ref) the end of its ticket */
	unsigned units;
	uint64_t number;
	int64_t left_ms; /* as of this attempt; 0: it is the last */
	struct loop_timer deadline;
	struct waiter *next_ready;
	struct in_flight_key *in_flight_key;
	void (*retry)(struct request *req);
	size_t count, size;
	struct channel_waiter channels[];
};

/* False without memory to subscribe. */
bool waiter_open(void);

/* To the end of the channel of that name. False without memory. */
bool waiter_join(struct waiter *w, struct text name, bool is_timed);
/* Leaves all of its channels; a wake-up that it did not use goes to the next waiter. */
void waiter_leave(struct waiter *w);

/* True when what is published at its channels arrives. */
bool waiter_is_subscribed(const struct waiter *w);

/* Its attempt is due, or under way; other waiters need not be woken for as many units. */
void waiter_set_pending(struct waiter *w, bool is_pending);

/* There are so many units: wakes as many waiters as those suffice for, but not `except`. */
void waiter_wake(struct channel *ch, unsigned units, const struct waiter *except);

/* The waiters whose attempt is due, by ->next_ready. */
struct waiter *waiter_first_ready(void);
void waiter_make_ready(struct waiter *w);
void waiter_leave_ready(struct waiter *w);

#endif
