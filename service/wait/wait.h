/*
 * wait: requests that wait for an event, without a thread, polling or a command to Redis. It must
 * not know patterns.
 *
 *	void lock_acquire(struct request *req, const struct lock_acquire_input *in)
 *	{
 *		req->work = ...;                             what all attempts share
 *		if (!wait_begin(req, in->wait_ms, 1))        once, before the first attempt
 *			return;
 *		wait_on(req, call_key_name(req, KEY_LOCK, in->name, NULL));
 *		attempt(req);
 *	}
 *	attempt: ... wait_arguments(req, c, &queue, TEXT("x")); call_send(c, on_acquired);
 *	on_acquired: wait_look_at(req, next_at_ms); if (wait_park(req, attempt)) return; ...
 *
 * The order of waiters is in Redis (lua/lib/waiters.lua). The scripts choose the waiter that
 * continues, and notify its daemon on the daemon's channel for that resource. A reply may also have
 * an instant for wait_look_at. Both call the function that wait_park was given. No wake-up is lost:
 * a request that parked before its channel was subscribed is attempted once more then, and a
 * wake-up during an attempt is kept for it. When its time ends, a request is attempted a last time,
 * and wait_park returns false.
 */
#ifndef PATTERND_WAIT_H
#define PATTERND_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "wait/ticket.h"

struct call;
struct reply;
struct request;

/*
 * Call it once, before the first attempt: the request may wait up to `ms` from its arrival, at
 * `channels` channels. With 0 it never waits, and the other functions behave accordingly. False: it
 * was answered (memory ran out, too many requests are parked, its body is too large to keep, or a
 * waiting request has its Idempotency-Key).
 */
bool wait_begin(struct request *req, int64_t ms, size_t channels);

/* Returns false for a body that is too large for a request that waits. */
bool wait_fits_body(const struct request *req);

/* Does what wait_begin does, for a stream. False: --max-parked allows no more; it was answered. */
bool wait_has_room(struct request *req);

/* Has the request wait for the resource whose first key this is, as call_key_name makes it. */
void wait_on(struct request *req, struct text key);

/*
 * Call it in a `done`, after wait_on: the attempt was made before the request joined its channels,
 * and may have missed a message. It is attempted once more as soon as they are subscribed.
 */
void wait_on_late(struct request *req);

/* Leaves all its channels. The request then waits for another resource, which wait_on names. */
void wait_on_none(struct request *req);

/*
 * Call it after wait_on: the attempt may answer all requests that wait for that resource. Woken
 * requests are then attempted one at a time, so that the first can answer the others.
 */
void wait_shares(struct request *req);
/*
 * Call it in a `done`. The reply also answers the other requests that wait for the same resource
 * and parked before this attempt was sent, but no more of them than an iteration may attempt.
 * `answer` must answer, and their tickets must have left the wait queues.
 */
void wait_share(struct request *req, const struct reply *r,
		void (*answer)(struct request *other, const struct reply *r));

/*
 * Returns how long it may still wait after this attempt, in milliseconds; 0: this is the last
 * attempt, or it never waits.
 */
int64_t wait_left_ms(const struct request *req);
/* Returns how long it has waited, in milliseconds. */
int64_t wait_waited_ms(const struct request *req);
/*
 * Returns how long it has been in the wait queues of its channels, in microseconds; 0 in the first
 * attempt there.
 */
int64_t wait_queued_us(const struct request *req);
/*
 * Returns its ticket (ticket.h) in the wait queues of its channels, in its arena; "" if it does not
 * wait. However the request ends, its ticket then leaves the queues, unless wait_ticket_left was
 * called. `queue` is static; NULL: there is no wait queue to leave. `tail`, the end of the ticket,
 * must be older than wait_begin.
 */
struct text wait_ticket(struct request *req, const struct ticket_queue *queue, struct text tail);
/*
 * Adds what waiters_read and waiters_join of lua/lib/waiters.lua take as arguments of a call: the
 * ticket, wait_left_ms, wait_queued_us. False, and none of them: the request does not wait.
 */
bool wait_arguments(struct request *req, struct call *c, const struct ticket_queue *queue, struct text tail);
/* Call it in a `done`: Redis answered that the ticket is not in a wait queue any more. */
void wait_ticket_left(struct request *req);

/*
 * Call it after an attempt: it tries again at that instant of Redis's clock, or earlier; -1: never.
 */
void wait_look_at(struct request *req, int64_t at_ms);
/* Does what wait_look_at does, in that many milliseconds. */
void wait_look_in(struct request *req, int64_t ms);

/*
 * Call it in a `done`. True: the request continues to wait, and `retry` is called when it is woken.
 * Allocations in the arena since wait_begin are freed then; the input stays, and so does the
 * earlier `work`. False: its time has ended.
 */
bool wait_park(struct request *req, void (*retry)(struct request *req));

/* ---- For main ---- */

bool wait_open(void);
void wait_close(void);
/*
 * Attempts woken requests. Call it once per iteration, before commands are written; if it returns
 * true, call it again.
 */
bool wait_run(void);
/* Attempts all waiting requests a last time. */
void wait_drain(void);

#endif
