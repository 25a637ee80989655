/*
 * vigil: one waiter of each kind for one name, at one daemon: for its lock, its semaphore, its
 * queue, the end of a message of that, its cached value, and listeners to its topic, by its name
 * and by a pattern. All of them are released through another daemon, so that the first one learns
 * nothing by its own calls.
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
 * Returns when all wait, and nothing that they wait for can come but by a wake-up: their time, 30
 * s, must not end meanwhile.
 */
void vigil_begin(struct vigil *v, const struct daemon *d, struct client *others, const char *name);

/*
 * Releases all of them once the other daemon can, and ends the vigil. A listener that missed a
 * message must have had a `gap` before the next one. Returns the longest time from the release to
 * an answer.
 */
int64_t vigil_must_wake(struct vigil *v, int within_ms);

#endif
