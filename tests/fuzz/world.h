/*
 * world: the simulated surroundings of a target. The daemon's clock stops while anything happens,
 * and jumps to the next timer when nothing does. The target itself answers all connections
 * (server.h), and no name is looked up outside the process. So an input always takes the same
 * course, and a simulated minute takes no time. The linker replaces system calls (--wrap), so the
 * daemon's code is unchanged.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Loads the options, a list that ends with NULL, and opens the event loop, the log and the metrics.
 * Later calls do nothing.
 */
void world_open(const char *const *options);
/*
 * What world_open calls once the options are read, as the daemon does before it counts; NULL:
 * nothing.
 */
extern bool (*world_prepare)(void);

/* Runs the loop until `ms` milliseconds have passed and nothing more happens. */
void world_pass(int64_t ms);

/* Runs the loop until `holds` returns true. Returns false if it does not within about `most_ms`. */
bool world_pass_until(bool (*holds)(void), int64_t most_ms);

/*
 * Runs at the end of each event-loop iteration, as in main.c. Returns how many milliseconds the
 * loop may wait, -1 for any time. NULL runs nothing.
 */
extern int64_t (*world_turn)(void);

#endif
