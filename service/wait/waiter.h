/*
 * waiter: one request that waits, and what wakes it. wait.c attempts the requests. It must not know
 * patterns.
 *
 *	ATTEMPTING --wait_park--> PARKED --woken--> READY --wait_run--> ATTEMPTING
 *
 *	ATTEMPTING  its request is CALLING; `retry_due` keeps a wake-up
 *	PARKED      its request is PARKED; a message, `look` or `deadline` wakes it
 *	READY       as PARKED, and in the list of waiter_first_ready
 *
 * A waiter of any state is at each of its `channels` from its first attempt to its end, so it keeps
 * its position however many attempts fail.
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

/* In its request's arena. */
struct waiter {
	struct request *req; /* (ref) */
	enum waiter_state state;
	uint16_t heard;                   /* bits: channels that were subscribed when this attempt began */
	uint16_t reached;                 /* bits: channels whose servers an attempt may have reached */
	bool retry_due;                   /* a wake-up arrived during this attempt */
	bool expired;                     /* its time to wait has ended */
	bool shares;                      /* wait_shares was called */
	const struct ticket_queue *queue; /* (ref) the queue that its ticket may be in; NULL: none */
	struct text tail;                 /* (ref) the end of its ticket */
	uint64_t number;
	int64_t left_ms;      /* as of this attempt; 0: it is the last one */
	int64_t attempted_us; /* when this attempt began */
	int64_t parked_us;    /* when the previous attempt ended */
	int64_t queued_us;    /* when its first attempt at its channels began; 0: this attempt is the first */
	struct loop_timer deadline;
	struct loop_timer look; /* when it tries again, if nothing wakes it earlier */
	struct waiter *next_ready;
	struct in_flight_key *in_flight_key;
	void (*retry)(struct request *req);
	size_t count, size;
	struct channel_waiter channels[];
};

/* False: memory to subscribe ran out. */
bool waiter_open(void);

/* Appends the waiter to the channel with that name. False: memory ran out. */
bool waiter_join(struct waiter *w, struct text name);
/* Leaves all its channels. */
void waiter_leave(struct waiter *w);

/*
 * Call it when an attempt begins: messages of the channels that are subscribed now are not missed.
 */
void waiter_begin(struct waiter *w);
/*
 * Returns true if one of its channels was subscribed since then, so the attempt may have missed a
 * message.
 */
bool waiter_has_missed(const struct waiter *w);
/* Returns true if one of its channels is subscribed. */
bool waiter_is_subscribed(const struct waiter *w);

/* Has it attempted in that many milliseconds, if nothing wakes it earlier. */
void waiter_look_in(struct waiter *w, int64_t ms);

/* The first waiter whose attempt is due, by ->next_ready. */
struct waiter *waiter_first_ready(void);
void waiter_make_ready(struct waiter *w);
void waiter_leave_ready(struct waiter *w);

#endif
