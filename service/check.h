/*
 * check: `patternd --check [URL]` asks a daemon whether it is ready, then exits. It is a health
 * check for container images without shell and curl. It must not know the event loop, the log or
 * Redis. It blocks, so a daemon that serves must not call it.
 */
#ifndef PATTERND_CHECK_H
#define PATTERND_CHECK_H

#include <stdbool.h>

/*
 * Removes --check, --check=URL or --check URL from the arguments. Returns false if none was there.
 * *url is NULL without a URL.
 */
bool check_requested(int *argc, char **argv, const char **url);

/*
 * Asks /readyz of `url` (http:// or unix:/path; an http URL may have another path). Without a URL
 * it asks the daemon that the options describe: --health-listen, else the first address of --listen
 * without TLS. Prints one line. Returns the exit status within 2 s: 0 for status 200, else 1.
 */
int check_run(const char *url);

#endif
