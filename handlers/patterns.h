/*
 * patterns: what the daemon does for its patterns before the first request. Called by
 * service/main.c.
 */
#ifndef PATTERND_PATTERNS_H
#define PATTERND_PATTERNS_H

#include <stdbool.h>

/*
 * Called once, when the options were read. False: a line on stderr for each fault, and
 * the daemon does not start.
 */
bool patterns_open(void);

/* Prints how many policies --policies has, as a comment on stdout. */
void patterns_print(void);

/* Prints requests to try, each a line on stdout, of the daemon at this URL. */
void patterns_print_examples(const char *url);

/* Called once, when loop and metrics are open: starts timers. */
void patterns_start(void);

#endif
