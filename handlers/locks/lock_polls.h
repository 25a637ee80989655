/*
 * lock_polls: which locks the clients of this daemon ask for again and again. A client that does
 * not wait leaves no trace in Redis.
 */
#ifndef PATTERND_LOCK_POLLS_H
#define PATTERND_LOCK_POLLS_H

#include <stdint.h>

#include "core/text.h"

enum {
	LOCK_POLLS_MOST = 64,        /* the locks that were refused last; earlier ones are forgotten */
	LOCK_POLL_GAP_US = 10000000, /* after a longer pause they count from the start */
};

/* Notes that a request for the lock was refused. */
void lock_polls_note(struct text name);

/*
 * Returns for how many milliseconds requests for the lock have been refused, without a pause; -1 if
 * none was refused within the last LOCK_POLL_GAP_US.
 */
int64_t lock_polls_ms(struct text name);

#endif
