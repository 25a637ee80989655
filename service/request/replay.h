/*
 * replay: what a request gets whose Idempotency-Key was used before. The contract states it for
 * an operation (x-replay), a script for its record (--@idempotent); both are the same.
 *
 * A response that lets a client go on (a grant, a decision) is never REPLAY_DONE: the world may
 * have changed since.
 */
#ifndef PATTERND_REPLAY_H
#define PATTERND_REPLAY_H

enum replay {
	REPLAY_NONE,   /* there is no record: a key is ignored */
	REPLAY_DONE,   /* the first response, which reports what was done */
	REPLAY_GRANT,  /* what is still granted of the first response, or that it has ended */
	REPLAY_WINDOW, /* the first response until its window has passed; then it is decided again */
};

#endif
