/*
 * patterns: what the daemon does for its patterns outside of requests: files, timers, pushes. Only
 * service/main.c calls it. It lists the patterns that need this and must not know what they do.
 */
#ifndef PATTERND_PATTERNS_H
#define PATTERND_PATTERNS_H

#include <stdbool.h>

/*
 * Call it once, after the options were read. Returns false if the daemon must not start; stderr has
 * a line for each fault.
 */
bool patterns_open(void);

/* Prints the contents of the files that options name, as comments on stdout. */
void patterns_print(void);

/* Prints example requests to the daemon at this URL, one line each, on stdout. */
void patterns_print_examples(const char *url);

/*
 * Starts timers. Call it once, when the loop and the metrics are open. Returns false after a line
 * on stderr.
 */
bool patterns_start(void);

/* Rereads the files, after SIGHUP. */
void patterns_reload(void);

/*
 * patterns_drain: the patterns begin no more work outside of requests. patterns_are_busy: such work
 * is still under way.
 */
void patterns_drain(void);
bool patterns_are_busy(void);

/* Ends the work that is under way. Redis can still be called. */
void patterns_close(void);

#endif
