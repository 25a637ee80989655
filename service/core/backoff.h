/* backoff: how long to wait before the next attempt. */
#ifndef PATTERND_BACKOFF_H
#define PATTERND_BACKOFF_H

#include <stdint.h>

/*
 * Doubles from `first_ms` with each failure up to `longest_ms`, is at least `least_ms`, and has a random half taken off, so that many
 * daemons do not come back in step ("equal jitter" of AWS's Exponential Backoff And Jitter).
 */
int64_t backoff_ms(unsigned failures, int64_t first_ms, int64_t longest_ms, int64_t least_ms);

#endif
