/* push: the targets of --push; what handlers/patterns.c calls for them. docs/push.md. */
#ifndef PATTERND_PUSH_H
#define PATTERND_PUSH_H

#include <stdbool.h>

/*
 * Reads --push, and loads what sends requests. False: a line on stderr has what is wrong. Nothing
 * happens without the option.
 */
bool push_open(void);
/* As a comment on stdout: how many targets there are. */
void push_print(void);
/* The loop is open: the targets begin. False: a line on stderr. */
bool push_start(void);
/* SIGHUP: reads the file again. With a fault in it the targets stay as they are. */
void push_reload(void);
/* Takes no more; requests that are open go on. */
void push_drain(void);
/* Something is open, or not settled yet. */
bool push_is_busy(void);
void push_close(void);

#endif
