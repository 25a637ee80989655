/*
 * renewal: reconnects all connections to Redis after their credentials were read again, and while
 * their users lack permissions.
 */
#ifndef PATTERND_REDIS_RENEWAL_H
#define PATTERND_REDIS_RENEWAL_H

#include <stdbool.h>

/* Call it before the first connection is made. */
void renewal_open(void);

/*
 * Renews all connections, one after the other: each is drained, closed, and reconnected with what
 * the files contain now. A connection for subscriptions gets a successor first (`renew` of its
 * callbacks). Stops at a connection that is rejected, continues when Redis accepts it. Connections
 * that are down retry at once.
 */
void renewal_start(void);

struct redis_connection;
/* While it is held no reply is read. */
void renewal_hold(struct redis_connection *c, bool held);

/*
 * What the user of the first connection with missing permissions lacks, "" when none is missing;
 * and how many rules.
 */
const char *renewal_missing_permissions(void);
unsigned renewal_permissions_missing(void);

/* In how many ways the servers may lose data by their configuration, as of the latest checks. */
unsigned renewal_config_risks(void);

#endif
