/*
 * waiter: one request that waits, and what wakes it. For wait.c, which attempts the requests.
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
	bool subscribed;                  /* its channels were subscribed when this attempt began */
	bool retry_due;                   /* a wake-up came during this attempt */
	bool expired;                     /* its time to wait */
	bool shares;                      /* wait_shares was called */
	const struct ticket_queue *queue; /* (ref) its ticket may be in; NULL: it is in none */
	struct text tail;                 /* (ref) the end of its ticket */
	uint64_t number;
	int64_t left_ms;      /* as of this attempt; 0: it is the last */
	int64_t attempted_us; /* when this attempt began */
	int64_t parked_us;    /* when the latest attempt before it ended */
	int64_t queued_us;    /* when its first attempt at its channels began; 0: that is this one */
	struct loop_timer deadline;
	struct loop_timer look; /* when it tries again, if nothing wakes it earlier */
	struct waiter *next_ready;
	struct in_flight_key *in_flight_key;
	void (*retry)(struct request *req);
	size_t count, size;
	struct channel_waiter channels[];
};

/* False without memory to subscribe. */
bool waiter_open(void);

/* To the end of the channel of that name. False without memory. */
bool waiter_join(struct waiter *w, struct text name);
/* Leaves all of its channels. */
void waiter_leave(struct waiter *w);

/* True when what is published at its channels arrives. */
bool waiter_is_subscribed(const struct waiter *w);

/* In so many milliseconds it tries again, if not earlier. */
void waiter_look_in(struct waiter *w, int64_t ms);

/* The waiters whose attempt is due, by ->next_ready. */
struct waiter *waiter_first_ready(void);
void waiter_make_ready(struct waiter *w);
void waiter_leave_ready(struct waiter *w);

#endif
