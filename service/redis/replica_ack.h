/*
 * redis_acked: a connection of its own for writes that replicas are to acknowledge.
 *
 * WAIT counts only what was written on its own connection, and lets nothing else through meanwhile: hence the connection. Calls are
 * answered as on any other; context callbacks then asks to wait (acked_await) is in the next WAIT, one for all who asked until it is written,
 * and is called once more with REDIS_ACKNOWLEDGED. One WAIT is under way at a time: who comes meanwhile is in the one after it.
 */
#ifndef PATTERND_REDIS_ACKED_H
#define PATTERND_REDIS_ACKED_H

#include "redis/command.h"
#include "redis/url.h"

struct redis_acked;

/* Starts to connect. Returns new; NULL without memory. Borrows `target`, as connection_new does. */
struct redis_acked *acked_new(const struct redis_url *target);
/* Whoever still waits is told that nobody acknowledged. */
void acked_free(struct redis_acked *a);

/* The connection that takes such calls; NULL while it is not usable. */
struct redis_connection *acked_link(struct redis_acked *a);

/* The call was just answered, and wants call->replicas to have what it wrote. */
void acked_await(struct redis_acked *a, struct redis_call *call);

void acked_flush(struct redis_acked *a);

/* As of connections. */
void acked_drain(struct redis_acked *a);
void acked_retarget(struct redis_acked *a);
bool acked_is_idle(const struct redis_acked *a);

/* What went wrong last, for a person; "" when nothing did. */
const char *acked_trouble(const struct redis_acked *a);

#endif
