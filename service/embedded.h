/*
 * embedded: a private redis-server for --embedded, on a unix socket in a folder of its own.
 *
 * It keeps its data in an append-only file there, and ends with the daemon, however the daemon ends. The folder is locked as
 * long as the daemon or its redis-server lives, so that no second one touches the same data.
 */
#ifndef PATTERND_EMBEDDED_H
#define PATTERND_EMBEDDED_H

#include <stdbool.h>

/*
 * Starts it in `dir` (made when missing), or in a temporary folder for "". The URL to reach it is in `url`. False: one line
 * on stderr says why.
 */
bool embedded_start(const char *dir, char *url, unsigned long url_size);

/* SIGCHLD came: notes that it ended, and says so. True when it ended unexpectedly: the daemon should leave. */
bool embedded_ended(void);

/* Stops it, waits for it, and removes a temporary folder. */
void embedded_stop(void);

#endif
