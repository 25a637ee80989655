/*
 * vigil: one waiter of each kind for one name, at one daemon. They wait for its lock, its
 * semaphore, its queue, the end of a message in the queue, and its cached value. Listeners follow
 * its topic, by name and by pattern. The test releases all of them through another daemon, so that
 * the first daemon learns nothing by its own calls.
 *
 *	struct vigil v;
 *	vigil_begin(&v, &patternd, others, "n1");   `others` hold the lock and all else
 *	...                                          what may lose the subscriptions
 *	vigil_must_wake(&v, 1000);                   releases; all must wake in time
 */
#ifndef TEST_VIGIL_H
#define TEST_VIGIL_H

#include "daemon.h"
#include "events.h"
#include "http.h"

struct vigil {
	struct client *others; /* (ref) */
	char name[32];
	char lock_token[64], permit[64];
	struct raw *lock, *semaphore, *queue, *cache, *end;
	struct events *topic, *pattern;
	int published; /* numbers, from 1 */
};

/*
 * Returns when all wait. From then on only a wake-up can end their waits, unless their time of 30 s
 * ends.
 */
void vigil_begin(struct vigil *v, const struct daemon *d, struct client *others, const char *name);

/*
 * Releases all of them once the other daemon can, and ends the vigil. A listener that missed a
 * message must have received a `gap` before the next message. Returns the longest time from the
 * release to an answer.
 */
int64_t vigil_must_wake(struct vigil *v, int within_ms);

#endif
