/*
 * push: the targets of --push, as handlers/patterns.c calls them. docs/push.md describes what they
 * do.
 */
#ifndef PATTERND_PUSH_H
#define PATTERND_PUSH_H

#include <stdbool.h>

/*
 * Reads the file of --push, and loads the library that sends requests. Without the option it does
 * nothing. Returns false after a line on stderr.
 */
bool push_open(void);
/* Prints the number of targets, as a comment on stdout. */
void push_print(void);
/* Starts the targets; the loop must be open. Returns false after a line on stderr. */
bool push_start(void);
/* Rereads the file, after SIGHUP. If the file has a fault, the targets stay as they are. */
void push_reload(void);
/* Stops receiving messages. Open requests continue. */
void push_drain(void);
/*
 * push_is_busy: a request is open, or a delivery is not settled yet. push_close frees all targets.
 */
bool push_is_busy(void);
void push_close(void);

#endif
