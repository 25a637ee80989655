/*
 * patterns: what the daemon does for its patterns beside requests. Called by service/main.c.
 */
#ifndef PATTERND_PATTERNS_H
#define PATTERND_PATTERNS_H

#include <stdbool.h>

/*
 * Called once, when the options were read. False: a line on stderr for each fault, and
 * the daemon does not start.
 */
bool patterns_open(void);

/* Prints what the files of the options have, as comments on stdout. */
void patterns_print(void);

/* Prints requests to try, each a line on stdout, of the daemon at this URL. */
void patterns_print_examples(const char *url);

/* Called once, when loop and metrics are open: starts timers. False: a line on stderr. */
bool patterns_start(void);

/* SIGHUP: rereads files. */
void patterns_reload(void);

/* Begins nothing more by itself; and whether something that it began is under way. */
void patterns_drain(void);
bool patterns_are_busy(void);

/* Ends what is under way. Redis can still be called. */
void patterns_close(void);

#endif
