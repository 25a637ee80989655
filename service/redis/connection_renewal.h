/*
 * link_renewal: connections are made anew while they serve, so that what Redis is shown now (redis/credentials.h) takes the place of what it was
 * shown then, and no request notices.
 *
 * Beside a ready link a successor connects and greets. Once it is ready the two change connections: the link goes on with the new one, what is
 * under way on the old one is answered there, then that is closed. As long as the successor does not come up, the link serves as it is.
 */
#ifndef PATTERND_LINK_RENEWAL_H
#define PATTERND_LINK_RENEWAL_H

#include <stdbool.h>
#include <stddef.h>

struct redis_link;

/* Makes every connection anew; those that are down try at once. */
void links_renew(void);

/* Those that are down try at once. */
void links_try_now(void);

/* redis/connection.c, for a link that renews another: its timer. True: nothing else is to be done for it, and it may be gone. */
bool renewal_timer(struct redis_link *l);

/* redis/connection.c: its connection is gone, so that there is nothing to be renewed. */
void renewal_cancel(const struct redis_link *l);

/* Calls under way on connections that it had before. */
size_t renewal_owed(const struct redis_link *l);

/* redis/connection.c: this link goes, and with it all that were made for it. */
void renewal_forget(struct redis_link *l);

#endif
