/*
 * replica_ack: a separate connection for writes that replicas acknowledge. It must not know what is
 * written.
 *
 * WAIT counts only writes of the same connection, and blocks the connection. Calls are answered as
 * on any other connection. Then a call may wait for replicas (replica_ack_await): one WAIT serves
 * all calls that asked before it is written, and `done` is called again with REDIS_ACKNOWLEDGED.
 * Only one WAIT is pending at a time; later calls use the next.
 */
#ifndef PATTERND_REPLICA_ACK_H
#define PATTERND_REPLICA_ACK_H

#include "redis/command.h"
#include "redis/url.h"

struct replica_ack;

/*
 * Makes one and starts to connect. It uses `target` as connection_new does. NULL: memory ran out.
 */
struct replica_ack *replica_ack_new(const struct redis_url *target);
/* Frees it. Remaining waiters end with no acknowledgement. */
void replica_ack_free(struct replica_ack *a);

/* Returns the connection for such calls; NULL while it is not ready. */
struct redis_connection *replica_ack_connection(struct replica_ack *a);

/*
 * Call it when the call was answered. `done` is called once more when call->replicas replicas have
 * its write, or the timeout has passed.
 */
void replica_ack_await(struct replica_ack *a, struct redis_call *call);

void replica_ack_flush(struct replica_ack *a);

/* They do what the functions of these names in connection.h do. */
void replica_ack_drain(struct replica_ack *a);
void replica_ack_retarget(struct replica_ack *a);
bool replica_ack_is_idle(const struct replica_ack *a);

/* Returns the latest error as text, or "". */
const char *replica_ack_trouble(const struct replica_ack *a);
enum redis_error replica_ack_error(const struct replica_ack *a); /* the same error as a value */

#endif
