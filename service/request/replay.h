/*
 * replay: the answer to a request whose Idempotency-Key was used before. The contract states it for
 * an operation (x-replay), a script for its record (--@idempotent); both must agree. Types only.
 *
 * A response that allows a client to continue (a grant, a decision) is never REPLAY_DONE, because
 * it may not hold any more.
 */
#ifndef PATTERND_REPLAY_H
#define PATTERND_REPLAY_H

enum replay {
	REPLAY_NONE,   /* there is no record: a key is ignored */
	REPLAY_DONE,   /* the first response, which reports what was done */
	REPLAY_GRANT,  /* the part of the first response that is still granted, or that the grant has ended */
	REPLAY_WINDOW, /* the first response until its window has passed; then a new decision */
};

#endif
