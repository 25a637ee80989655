/*
 * renewal: what concerns all connections to Redis: their renewal with credentials that were read again, and the permissions that their
 * users lack, which are asked for again as long as any is missing. Knows connections, and what is sent on none.
 */
#ifndef PATTERND_REDIS_RENEWAL_H
#define PATTERND_REDIS_RENEWAL_H

/* Before the first connection is made. */
void renewal_open(void);

/*
 * Renews all connections, one after the other: each drains, closes, and connects with what the files contain now. Stops at a connection
 * that is refused, goes on when Redis accepts it. Those that are down try at once.
 */
void connections_renew(void);

/* What the user of the first connection that lacks permissions lacks; "" when none does. And how many rules that are. */
const char *connections_missing_permissions(void);
unsigned connections_permissions_missing(void);

#endif
