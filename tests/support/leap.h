/*
 * leap: seconds that go by for a daemon at once, so that no test waits for them.
 *
 *	may_leap(&d);                      before its start
 *	daemon_start(&d, "--redis", r.url);
 *	leap(&d, 5);
 *
 * A sanitizer must be loaded before anything else: where the daemon has one, leap waits.
 */
#ifndef TEST_LEAP_H
#define TEST_LEAP_H

#include "daemon.h"

void may_leap(struct daemon *d);

/*
 * First waits until Redis owes the daemon no reply: one under way would seem late. Timers that are
 * due have run when it returns, or run with the next request.
 */
void leap(const struct daemon *d, int seconds);

#endif
