/*
 * embedded: a private redis-server for --embedded, on a Unix socket in its own folder.
 *
 * It keeps its data in an append-only file there and exits with the daemon, however that exits. The
 * folder is locked while either runs, so that no second daemon uses the same data.
 */
#ifndef PATTERND_EMBEDDED_H
#define PATTERND_EMBEDDED_H

#include <stdbool.h>

/*
 * Starts it in `dir` (made when missing), or in a temporary folder for "", and writes its URL.
 * False: a line on stderr gives the reason.
 */
bool embedded_start(const char *dir, char *url, unsigned long url_size);

/* For SIGCHLD: true, and logged, when the server exited unexpectedly; the daemon should exit. */
bool embedded_exited(void);

/* Stops it, waits for it, and removes a temporary folder. */
void embedded_stop(void);

#endif
