/*
 * refusal: whether a server refuses calls, such as a Redis that cannot write to its disk: why, and
 * since when. It must not know requests.
 *
 * A refusal begins with a call that the server refused. Then a probe asks the server each second
 * until it accepts: so a refusal ends without traffic, and calls that succeed cost nothing here.
 */
#ifndef PATTERND_TOPOLOGY_REFUSAL_H
#define PATTERND_TOPOLOGY_REFUSAL_H

#include "topology/node.h"

/*
 * Call it with each error that a server returned to a call, unless the call is sent again. An error
 * that is about the call, not about the server as a whole, changes nothing. `key` is the first one
 * of the call; it may be absent.
 */
void refusal_note(struct redis_node *n, struct text error, struct text key);

/*
 * Returns the server's address and the error with which it refuses calls. NULL: it refuses none, or
 * it cannot be reached.
 */
const char *refusal_text(const struct redis_node *n);

/* Returns the first refusal_text of the servers that take calls; NULL: there is none. */
const char *refusal_first(void);

/* Returns how many servers refuse calls, with the servers of --lock-quorum. */
unsigned refusal_count(void);

#endif
