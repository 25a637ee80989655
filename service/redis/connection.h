/*
 * redis_connection: one pipelined connection to Redis, which connects, greets, and after a loss connects anew, all by itself.
 *
 * A command is written into its buffer and leaves with connection_flush; answers come back in order. Each call that connection_send took gets
 * exactly one `done`, also when the connection dies. Knows nothing of requests and patterns.
 */
#ifndef PATTERND_REDIS_LINK_H
#define PATTERND_REDIS_LINK_H

#include "redis/command.h"
#include "redis/socket.h"

#define CONNECTION_DRAINED "it connects again" /* why a connection that was to leave went down */

struct redis_connection;

/* Who is told of a connection's state. The functions must not free the connection. */
struct redis_connection_callbacks {
	void (*up)(struct redis_connection *c);                                 /* usable now */
	void (*down)(struct redis_connection *c, const char *why, bool was_up); /* lost, or an attempt failed */
	/*
	 * NULL for a connection that takes calls. With it the connection takes none: it hears. Whatever comes is told here, `reply` lives until this
	 * returns; no script is loaded.
	 */
	void (*received)(struct redis_connection *c, const struct reply *reply);
	/* NULL, or told that it was lost since an answer was overdue, once the fates of all its calls were told. */
	void (*timed_out)(struct redis_connection *c);
};

/*
 * Makes a connection that is down. Returns new; NULL without memory. Borrows all three until connection_free; `target` is read at each attempt to
 * connect, `context` is the callbacks's own.
 */
struct redis_connection *connection_new(const struct redis_url *target,
					const struct redis_connection_callbacks *callbacks, void *context);
void connection_free(struct redis_connection *c);
void *connection_context(const struct redis_connection *c);

/* Begins to connect. Once. */
void connection_open(struct redis_connection *c);

bool connection_is_ready(const struct redis_connection *c);
/* Ready, or being renewed, and no attempt to connect again has failed: calls may wait for it. */
bool connection_is_usable(const struct redis_connection *c);
/* Ready, or not closed yet: commands that belong to those before may be written. */
bool connection_is_open(const struct redis_connection *c);
/* Not ready, and no attempt has failed: nobody knows yet whether it will be. */
bool connection_is_untried(const struct redis_connection *c);
const char *connection_server(const struct redis_connection *c); /* "redis 7.0.15" */

/* Only while it is open. False without room: the call was not taken. */
bool connection_send(struct redis_connection *c, struct redis_call *call, const struct text *args, size_t count);
void connection_flush(struct redis_connection *c);

/* A command on a connection that hears, only while it is ready; what is answered is told to `received`. False without room. */
bool connection_say(struct redis_connection *c, const struct text *args, size_t count);

/* Loses a ready connection: it connects anew. */
void connection_drop(struct redis_connection *c, const char *why);
/* The same, and not soon: it does not say what it should. */
void connection_reject(struct redis_connection *c, const char *why);

/* It takes no more calls: connection_flush closes it once all are answered, and it connects again. */
void connection_drain(struct redis_connection *c);

/* `target` is another now: connects to it without a pause. A connection that is ready leaves first. */
void connection_retarget(struct redis_connection *c);

/* Calls under way on it. */
size_t connection_pending(const struct redis_connection *c);

/* Calls under way on all connections; and those that were answered. */
unsigned connections_in_flight(void);
struct redis_answers connections_answers(void);

#endif
