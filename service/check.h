/*
 * check: `patternd --check [URL]`, which asks a daemon whether it is ready, then exits: a health
 * check for container images without shell and curl.
 *
 * Blocks, without loop, log or Redis; must not be called by a daemon that serves.
 */
#ifndef PATTERND_CHECK_H
#define PATTERND_CHECK_H

#include <stdbool.h>

/*
 * Removes --check, --check=URL or --check URL from the arguments. False without it; no URL: NULL.
 */
bool check_requested(int *argc, char **argv, const char **url);

/*
 * Asks /readyz of `url` (http:// or unix:/path; an http URL may name another path), or of the
 * daemon that the options describe: --health-listen, else the first address of --listen without
 * TLS. Prints one line. Returns the exit status within 2 s: 0 for 200, else 1.
 */
int check_run(const char *url);

#endif
