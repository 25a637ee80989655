/*
 * connection_check: the commands that a connection sends by itself. It must not know the calls.
 */
#ifndef PATTERND_REDIS_CONNECTION_CHECK_H
#define PATTERND_REDIS_CONNECTION_CHECK_H

struct redis_connection;

/* Sends INFO, if it is due: redis/server_check.h. An idle connection asks with its next PING. */
void connection_check_server(struct redis_connection *c);

/*
 * Call it when no call is pending. Sends a PING if the connection has been idle for
 * --redis-keepalive-ms. Otherwise sets the timer of the connection to when it will have been.
 */
void connection_check_idle(struct redis_connection *c);

#endif
