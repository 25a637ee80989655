/*
 * embedded: a private redis-server for --embedded, on a Unix socket in its own folder. It must not
 * know requests.
 *
 * The server keeps its data in an append-only file there, and exits with the daemon, however the
 * daemon ends. The folder is locked while either runs, so that no second daemon uses the same data.
 */
#ifndef PATTERND_EMBEDDED_H
#define PATTERND_EMBEDDED_H

#include <stdbool.h>

/*
 * Starts the server in `dir`, which it makes if it is missing, or in a temporary folder for "".
 * Writes its URL. Returns false after a line on stderr.
 */
bool embedded_start(const char *dir, char *url, unsigned long url_size);

/* The folder with the server's data, after embedded_start. */
const char *embedded_folder(void);

/*
 * Call it after SIGCHLD. Returns true, and logs it, if the server exited unexpectedly; the daemon
 * should then exit.
 */
bool embedded_exited(void);

/* Stops the server, waits for it, and removes a temporary folder. */
void embedded_stop(void);

#endif
