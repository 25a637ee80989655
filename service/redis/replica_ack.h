/*
 * replica_ack: a separate connection for writes that replicas acknowledge.
 *
 * WAIT counts only writes of the same connection and blocks it meanwhile. Calls are answered as on
 * any other connection. A call may then wait for replicas (replica_ack_await): one WAIT serves all
 * that asked until it is written, and `done` is called again with REDIS_ACKNOWLEDGED. One WAIT is
 * pending at a time; later calls use the next.
 */
#ifndef PATTERND_REPLICA_ACK_H
#define PATTERND_REPLICA_ACK_H

#include "redis/command.h"
#include "redis/url.h"

struct replica_ack;

/* Starts to connect. Returns new; NULL without memory. Borrows `target` as connection_new does. */
struct replica_ack *replica_ack_new(const struct redis_url *target);
/* Remaining waiters end with no acknowledgement. */
void replica_ack_free(struct replica_ack *a);

/* The connection for such calls; NULL while it is not ready. */
struct redis_connection *replica_ack_connection(struct replica_ack *a);

/* The call was answered: ends it once more when call->replicas have its write. */
void replica_ack_await(struct replica_ack *a, struct redis_call *call);

void replica_ack_flush(struct replica_ack *a);

/* As for connections. */
void replica_ack_drain(struct replica_ack *a);
void replica_ack_retarget(struct replica_ack *a);
bool replica_ack_is_idle(const struct replica_ack *a);

/* The latest error, for people; "" when there is none. */
const char *replica_ack_trouble(const struct replica_ack *a);
enum redis_error replica_ack_error(const struct replica_ack *a); /* the same */

#endif
