/*
 * connection: a pipelined connection to Redis that connects, and reconnects after a loss.
 *
 * Commands are buffered until connection_flush; replies come in order. Each call that
 * connection_send accepted gets exactly one `done`, also when the connection is lost. It must not
 * know requests or patterns.
 */
#ifndef PATTERND_REDIS_CONNECTION_H
#define PATTERND_REDIS_CONNECTION_H

#include "redis/command.h"
#include "redis/handshake.h"
#include "redis/socket.h"

#define CONNECTION_DRAINED "it connects again" /* reason for closing a drained connection */

struct redis_connection;

/* The functions must not free the connection. */
struct redis_connection_callbacks {
	void (*up)(struct redis_connection *c); /* usable now */
	/* Lost, or an attempt to connect failed. */
	void (*down)(struct redis_connection *c, const char *why, bool was_up);
	/*
	 * NULL for a connection that takes calls. Otherwise connection_send must not be used, and
	 * each reply is passed to this function, where `reply` lives until it returns; scripts are
	 * not loaded.
	 */
	void (*received)(struct redis_connection *c, const struct reply *reply);
	/*
	 * May be NULL. Returns a successor with its own context, not opened yet, which connects
	 * while this one stays in use; NULL: none can be had now.
	 */
	struct redis_connection *(*renew)(struct redis_connection *c);
	/* May be NULL. Lost because a call timed out; all its calls have ended. */
	void (*timed_out)(struct redis_connection *c);
};

/*
 * Returns a new connection, which is down; NULL without memory. Borrows all three until
 * connection_free. Reads `target` at each attempt to connect.
 */
struct redis_connection *connection_new(const struct redis_url *target,
					const struct redis_connection_callbacks *callbacks, void *context);
void connection_free(struct redis_connection *c);
void *connection_context(const struct redis_connection *c);

/* Starts to connect. Call it once. */
void connection_open(struct redis_connection *c);

bool connection_is_ready(const struct redis_connection *c);
/* Ready, or being renewed and no attempt to reconnect has failed: calls may wait for it. */
bool connection_is_usable(const struct redis_connection *c);
/* Ready, or draining: a command that completes earlier ones may still be sent. */
bool connection_is_open(const struct redis_connection *c);
/* Not ready, and no attempt has failed. */
bool connection_is_untried(const struct redis_connection *c);
const char *connection_server(const struct redis_connection *c); /* "redis 7.0.15" */
/* In `down`: the error of Redis that ended the attempt to connect. */
enum redis_error connection_error(const struct redis_connection *c);
struct redis_memory connection_memory(const struct redis_connection *c);

/* Only while it is open. False when the buffer is full: the call was not accepted. */
bool connection_send(struct redis_connection *c, struct redis_call *call, const struct text *args, size_t count);
void connection_flush(struct redis_connection *c);

/* As connection_send, for a connection with `received`; only while it is ready. */
bool connection_write(struct redis_connection *c, const struct text *args, size_t count);

/* Closes a ready connection, and reconnects. */
void connection_drop(struct redis_connection *c, const char *why);
/* As connection_drop, for a server that misbehaves: reconnects after a long pause. */
void connection_reject(struct redis_connection *c, const char *why);

/* Accepts no more calls; connection_flush closes it once all are answered, and it reconnects. */
void connection_drain(struct redis_connection *c);

/* `target` has changed: connects to it without a pause. A ready connection is drained first. */
void connection_retarget(struct redis_connection *c);

/* The number of unanswered calls. */
size_t connection_pending(const struct redis_connection *c);

/* Unanswered calls of all connections; and the answered ones. */
unsigned connections_in_flight(void);
struct redis_answers connections_answers(void);

#endif
