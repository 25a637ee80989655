/*
 * connection: a pipelined connection to one Redis server, which connects, and reconnects after a
 * loss. It must not know requests, patterns or other servers.
 *
 * Commands are buffered until connection_flush, or until eight wait; replies arrive in order. Each
 * call that connection_send accepted gets exactly one `done`, also when the connection is lost.
 */
#ifndef PATTERND_REDIS_CONNECTION_H
#define PATTERND_REDIS_CONNECTION_H

#include "redis/command.h"
#include "redis/handshake.h"
#include "redis/server_check.h"
#include "redis/socket.h"

#define CONNECTION_DRAINED "it connects again" /* why a drained connection is closed */

struct redis_connection;

/* The functions must not free the connection. */
struct redis_connection_callbacks {
	void (*up)(struct redis_connection *c); /* it can be used now */
	/* The connection was lost, or an attempt to connect failed. */
	void (*down)(struct redis_connection *c, const char *why, bool was_up);
	/*
	 * NULL for a connection that takes calls. Otherwise connection_send must not be used,
	 * and each reply is passed to this function. `reply` is valid until it returns.
	 */
	void (*received)(struct redis_connection *c, const struct reply *reply);
	/*
	 * May be NULL. Returns a successor that is not opened yet, with its own context. It
	 * connects while this connection stays in use. NULL: a successor cannot be made now.
	 */
	struct redis_connection *(*renew)(struct redis_connection *c);
	/*
	 * NULL with `received`. Drains all connections of the pool: a call has timed out, or
	 * --strict rejects the server as it is now.
	 */
	void (*drain_all)(struct redis_connection *c);
};

/*
 * Makes a connection, which is down. It uses the arguments until connection_free, and reads
 * `target` at each attempt to connect. `check` is NULL if callbacks->received is set. NULL: memory
 * ran out.
 */
struct redis_connection *connection_new(const struct redis_url *target, struct server_check *check,
					const struct redis_connection_callbacks *callbacks, void *context);
void connection_free(struct redis_connection *c);
void *connection_context(const struct redis_connection *c);

/* Starts to connect. Call it once. */
void connection_open(struct redis_connection *c);

bool connection_is_ready(const struct redis_connection *c);
/*
 * True if calls may wait for it: it is ready, or it is being renewed and no attempt to reconnect
 * has failed.
 */
bool connection_is_usable(const struct redis_connection *c);
/* True if it is ready or draining: a command that completes earlier ones may still be sent. */
bool connection_is_open(const struct redis_connection *c);
/* True if it is not ready, and no attempt has failed. */
bool connection_is_untried(const struct redis_connection *c);
/* Returns what it is connected to; once it is lost, what it was connected to. */
const struct redis_process *connection_process(const struct redis_connection *c);
/* Call it in `down`: returns the error of Redis that ended the attempt to connect. */
enum redis_error connection_error(const struct redis_connection *c);

/* Sends a call on an open connection. SEND_BEHIND, SEND_NO_MEMORY: the call was not accepted. */
enum redis_send_error connection_send(struct redis_connection *c, struct redis_call *call, const struct text *args,
				      size_t count);
void connection_flush(struct redis_connection *c);

/*
 * Does what connection_send does, for a connection with `received` that is ready. Returns false if
 * the command is not accepted.
 */
bool connection_write(struct redis_connection *c, const struct text *args, size_t count);

/* Closes a ready connection, and reconnects. */
void connection_drop(struct redis_connection *c, const char *why);
/* Does what connection_drop does, but reconnects after a long pause: the server misbehaves. */
void connection_reject(struct redis_connection *c, const char *why);

/*
 * Accepts no more calls. Once all are answered, connection_flush closes the connection, and it
 * reconnects.
 */
void connection_drain(struct redis_connection *c);

/*
 * Call it when `target` has changed: connects to it without a pause. A ready connection is drained
 * first.
 */
void connection_retarget(struct redis_connection *c);

/* Returns the number of unanswered calls. */
size_t connection_pending(const struct redis_connection *c);

/* Return the number of unanswered calls on all connections, and the answered ones. */
unsigned connections_in_flight(void);
struct redis_answers connections_answers(void);

#endif
