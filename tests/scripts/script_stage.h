/*
 * script_stage: one Redis for all tests of a program, emptied after each.
 *
 *	SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);
 */
#ifndef TEST_SCRIPT_STAGE_H
#define TEST_SCRIPT_STAGE_H

#include <stdint.h>

#include "redis_server.h"

extern struct redis_server r;

int script_stage_open(void **state);

/*
 * Opens the stage with a Redis whose clock is *script_clock_us, in microseconds since 1970. The
 * test sets it; it begins at 1,700,000,000 s.
 */
extern volatile int64_t *script_clock_us;
int script_stage_open_by_clock(void **state);
int script_stage_close(void **state);

/* Deletes all keys, and removes the memory limit. */
int script_stage_empty(void **state);

#endif
