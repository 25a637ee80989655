/* backoff: how long to wait before the next attempt. Pure, but for random numbers. */
#ifndef PATTERND_BACKOFF_H
#define PATTERND_BACKOFF_H

#include <stdint.h>

/*
 * Returns a wait in milliseconds. It doubles from `first_ms` with each failure up to `max_ms`. A
 * random part of up to half is subtracted, so that many daemons do not retry at once ("equal
 * jitter" of AWS's "Exponential Backoff And Jitter"). The wait is never below `min_ms`. Where that
 * leaves no room for the random part, up to half of `min_ms` is added instead.
 */
int64_t backoff_ms(unsigned failures, int64_t first_ms, int64_t max_ms, int64_t min_ms);

#endif
