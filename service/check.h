/*
 * check: `patternd --check [URL]`, which asks a daemon whether it is ready and leaves. For health checks of container images that have
 * neither shell nor curl.
 *
 * Blocking, without loop, log or Redis; must not be called by a daemon that serves.
 */
#ifndef PATTERND_CHECK_H
#define PATTERND_CHECK_H

#include <stdbool.h>

/* Takes --check, --check=URL or --check URL out of the arguments. False when it is not there. `url` is NULL when none was given. */
bool check_asked(int *argc, char **argv, const char **url);

/*
 * Asks /readyz of `url` (http:// or unix:/path; a path behind an http address asks that instead), or of the daemon that the options
 * describe: --health-listen, else the first address of --listen that is not HTTPS. Prints one line. Returns the exit status: 0 for 200,
 * else 1; within 2 s.
 */
int check_run(const char *url);

#endif
