/*
 * replica_ack: a connection of its own for writes that replicas are to acknowledge.
 *
 * WAIT counts only what was written on its own connection, and lets nothing else through meanwhile: hence the connection. Calls are
 * answered as on any other; context callbacks then asks to wait (replica_ack_await) is in the next WAIT, one for all who asked until it is written,
 * and is called once more with REDIS_ACKNOWLEDGED. One WAIT is under way at a time: who comes meanwhile is in the one after it.
 */
#ifndef PATTERND_REDIS_ACKED_H
#define PATTERND_REDIS_ACKED_H

#include "redis/command.h"
#include "redis/url.h"

struct replica_ack;

/* Starts to connect. Returns new; NULL without memory. Borrows `target`, as connection_new does. */
struct replica_ack *replica_ack_new(const struct redis_url *target);
/* Whoever still waits is told that nobody acknowledged. */
void replica_ack_free(struct replica_ack *a);

/* The connection that takes such calls; NULL while it is not usable. */
struct redis_connection *replica_ack_link(struct replica_ack *a);

/* The call was just answered, and wants call->replicas to have what it wrote. */
void replica_ack_await(struct replica_ack *a, struct redis_call *call);

void replica_ack_flush(struct replica_ack *a);

/* As of connections. */
void replica_ack_drain(struct replica_ack *a);
void replica_ack_retarget(struct replica_ack *a);
bool replica_ack_is_idle(const struct replica_ack *a);

/* What went wrong last, for a person; "" when nothing did. */
const char *replica_ack_trouble(const struct replica_ack *a);

#endif
