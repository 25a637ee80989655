/*
 * renewal: reconnects all connections to Redis, one after the other, after their credentials were
 * reread, and while their users lack permissions. It must not know what the connections are used
 * for.
 */
#ifndef PATTERND_REDIS_RENEWAL_H
#define PATTERND_REDIS_RENEWAL_H

#include <stdbool.h>

/* Call it before the first connection is made. */
void renewal_open(void);

/*
 * Renews all connections, one after the other: each is drained, closed, and reconnected with the
 * present contents of the files. A connection for subscriptions gets a successor first (`renew` of
 * its callbacks). A rejected connection stops the renewal of the connections with the same
 * credentials until Redis accepts it. Connections that are down retry at once.
 */
void renewal_start(void);

struct redis_connection;
/* While a connection is held, no reply is read. */
void renewal_hold(struct redis_connection *c, bool held);

/*
 * renewal_missing_permissions returns the missing permissions of the first connection that lacks
 * some, or "". renewal_permissions_missing returns the number of rules.
 */
const char *renewal_missing_permissions(void);
unsigned renewal_permissions_missing(void);
/* Returns true if the server answers the questions about the permissions of the user. */
bool renewal_knows_permissions(const struct redis_connection *c);
/*
 * Call it when Redis denied a command: asks about the permissions again, by renewing all
 * connections, at most once a minute.
 */
void renewal_note_denied(void);

/*
 * Returns the number of ways in which the servers may lose data by their configuration, as of the
 * latest checks.
 */
unsigned renewal_config_risks(void);

#endif
