/*
 * leap: moves a daemon's clock ahead by seconds at once, so that no test waits for them.
 *
 *	may_leap(&d);                      before its start
 *	daemon_start(&d, "--redis", r.url);
 *	leap(&d, 5);
 *
 * A sanitizer must be loaded before any other library, so leap waits where the daemon has one.
 */
#ifndef TEST_LEAP_H
#define TEST_LEAP_H

#include "daemon.h"

void may_leap(struct daemon *d);

/*
 * First waits until no Redis command is in flight, because its reply would seem late. Timers that
 * are due have run when leap returns, or run with the next request.
 */
void leap(const struct daemon *d, int seconds);

#endif
