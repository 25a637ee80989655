/*
 * wait: requests that wait for something to happen, without a thread, a poll or a command to Redis.
 *
 *	void lock_acquire(struct request *req, const struct lock_acquire_input *in)
 *	{
 *		req->work = ...;                             what all attempts share
 *		if (!wait_begin(req, in->wait_ms, 1))        once, before the first attempt
 *			return;
 *		wait_on(req, script_key(req, KEY_LOCK, in->name, NULL));
 *		attempt(req);
 *	}
 *	attempt: ... call_int(c, wait_left_ms(req)); call_text(c, wait_ticket(req, &queue, "x")); call_send(c, on_acquired);
 *	on_acquired: nothing yet?  wait_next(req, 0, now or later); if (wait_park(req, attempt)) return;  else answer what there is
 *
 * A place is the channel of a resource, named as its first key. What makes progress possible publishes there (lua/lib/wake.lua), what
 * becomes due by time is told by wait_next: either wakes as many of those who wait there, the longest waiting first, as there is something
 * for: they try again by the function that wait_park was given. No wake-up is lost: who parks tries once more after the channel is heard,
 * and a wake-up that comes during a try is kept for it. When the time to wait ends there is a last try, and wait_park returns false.
 */
#ifndef PATTERND_WAIT_H
#define PATTERND_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "wait/ticket.h"

struct request;

enum { WAIT_PLACES = 16 };

/*
 * Once, before the first attempt: the request may wait `ms` from when it came, at `places` places. With 0 it never waits, and the other
 * functions say so. False: it was answered (no memory, too many wait, its body is too large to keep, or its Idempotency-Key is that of a
 * request that waits already).
 */
bool wait_begin(struct request *req, int64_t ms, size_t places);

/*
 * For what would stay otherwise than by waiting, a stream: false when as many stay as --max-parked allows, and it was answered. wait_begin
 * asks by itself.
 */
bool wait_has_room(struct request *req);

/* A place, in order. `channel` as script_key makes it. */
void wait_on(struct request *req, struct text channel);
/* The same where nothing is published: only time makes progress, and who waits there goes one by one. */
void wait_on_time(struct request *req, struct text name);

/* Leaves all its places: what it waits for is somewhere else from now on, which wait_on says. */
void wait_on_none(struct request *req);

/* How much somebody takes at most when woken, of what wake-ups count; 1 otherwise. */
void wait_takes(struct request *req, unsigned units);

/* Milliseconds it may still wait after this try; 0: this is its last, or it never waits. */
int64_t wait_left_ms(const struct request *req);
/* How long it has waited. */
int64_t wait_waited_ms(const struct request *req);
/*
 * Its ticket (ticket.h) in the wait queues of its places, "" when it does not wait; in its arena. Whatever answers the request, its
 * ticket then leaves them, unless the handler said that it is in none. `queue` is static.
 */
struct text wait_ticket(struct request *req, const struct wait_queue *queue, const char *mode);
/* In a `done`: the ticket is in no wait queue any more, as Redis says. */
void wait_ticket_left(struct request *req);

/* After a try, for each place: `ready` things are there for others, and at next_at_ms (Redis's clock; -1: unknown) there may be more. */
void wait_next(struct request *req, size_t place, unsigned ready, int64_t next_at_ms);

/*
 * In a `done`: true when it waits on, and was not answered; `retry` is called when it is woken. False: its time is over. What was allocated
 * in the arena since wait_begin is released; the input, and what `work` had before, stay.
 */
bool wait_park(struct request *req, void (*retry)(struct request *req));

/* ---- For main ---- */

bool wait_open(void);
void wait_close(void);
/* Runs those that were woken; once a turn, before commands are written. True when some are left: call again soon. */
bool wait_run(void);
/* Everybody tries a last time. */
void wait_drain(void);

#endif
