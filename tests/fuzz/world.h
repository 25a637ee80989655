/*
 * world: what a target lives in. The daemon's clock does not move while anything happens, and jumps
 * to the next timer when nothing does. All its connections are answered by the target itself
 * (server.h), and no name leaves the process. So an input always takes the same course, and a
 * minute of it no time. Calls to the system are replaced by the linker (--wrap): the daemon is as
 * it is.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The options in force, ended by NULL, a loop, and what the rest needs. Once: later calls do
 * nothing.
 */
void world_open(const char *const *options);

/* Runs the loop until `ms` have passed and nothing happens any more. */
void world_pass(int64_t ms);

/* The same until it holds; false when it does not after `most_ms`, or somewhat more. */
bool world_pass_until(bool (*holds)(void), int64_t most_ms);

/*
 * What is done at the end of each turn, as main.c does it; how long it can wait, -1 for any time.
 * NULL: nothing.
 */
extern int64_t (*world_turn)(void);

#endif
