/* backoff: how long to wait before the next attempt. */
#ifndef PATTERND_BACKOFF_H
#define PATTERND_BACKOFF_H

#include <stdint.h>

/*
 * Doubles from `first_ms` with each failure up to `max_ms`, is at least `min_ms`, and subtracts a
 * random part of up to half, so that many daemons do not retry in step ("equal jitter" of AWS's
 * Exponential Backoff And Jitter).
 */
int64_t backoff_ms(unsigned failures, int64_t first_ms, int64_t max_ms, int64_t min_ms);

#endif
