/*
 * waiter: a client whose request waits at the daemon for its answer.
 *
 *	struct raw *w = waiter_parked(&patternd, &redis, "q", body);     POST /queues/q/receive
 *	...
 *	struct answer a = waiter_answer(w, 3000);
 *	raw_close(w);                     or raw_reset, to disconnect before the answer
 */
#ifndef TEST_WAITER_H
#define TEST_WAITER_H

#include "daemon.h"
#include "raw.h"
#include "redis_server.h"

/* Asks for messages of a queue, and does not wait for the answer. */
struct raw *waiter(const struct daemon *d, const char *queue, const char *body);

/* Does the same for any target; `headers` are whole lines ("Idempotency-Key: a\r\n"), or "". */
struct raw *waiter_at(const struct daemon *d, const char *target, const char *body, const char *headers);

/*
 * Sends a request on a connection that has none under way. False when the daemon does not take it.
 */
bool waiter_ask(struct raw *r, const char *target, const char *body, const char *headers);

/* Returns the answer and records it. Status 0: none came in time. */
struct answer waiter_answer(struct raw *r, const char *target, int timeout_ms);

/* True when bytes came, or the connection ended. */
bool waiter_is_answered(const struct raw *r);

/* How many daemons are subscribed to a queue's channel. */
long subscribers_of(struct redis_server *r, const char *queue);
/* How many subscribers a resource has, by its first key, and how many tickets wait for it. */
long subscribers_at(struct redis_server *r, const char *key);
long tickets_at(struct redis_server *r, const char *key);
/* Makes the waiters of a resource try again. */
void wake_waiters(struct redis_server *r, const char *key);

/*
 * True when `count` requests are parked at the daemon, and no attempt for one is under way. Once
 * their queues are subscribed, that holds until something happens.
 */
bool all_parked(const struct daemon *d, long count);

/*
 * Adds a waiter at a queue at which only this daemon waits. Returns when its first attempt has
 * found nothing and its queue is subscribed.
 */
struct raw *waiter_parked(const struct daemon *d, struct redis_server *r, const char *queue, const char *body);
struct raw *waiter_parked_with(const struct daemon *d, struct redis_server *r, const char *queue, const char *body,
			       const char *headers);

/*
 * A number from /metrics, named without its prefix ("requests_total"). Fails the test when it is
 * missing. Asks the health listener, if there is one, over a connection that stays open, so that
 * frequent calls cost the daemon little.
 */
long metric_of(const struct daemon *d, const char *name);
double metric_value(const struct daemon *d, const char *name);
/* Returns the value of a series with its labels; NAN when it is missing. */
double metric_or_nan(const struct daemon *d, const char *series);

/* How many requests wait. */
long waiting_at(const struct daemon *d);

#endif
