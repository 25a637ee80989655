/*
 * redis_link: one pipelined connection to Redis, which connects, greets, and after a loss connects anew, all by itself.
 *
 * A command is written into its buffer and leaves with link_flush; answers come back in order. Each call that link_send took gets
 * exactly one `done`, also when the connection dies. Knows nothing of requests and patterns.
 */
#ifndef PATTERND_REDIS_LINK_H
#define PATTERND_REDIS_LINK_H

#include "redis/command.h"
#include "redis/socket.h"

enum { LINK_WHY_BYTES = SOCKET_WHY_BYTES };
#define LINK_LEFT "it connects again" /* why a link that was to leave went down */

struct redis_link;

/* Who is told of a link's state. The functions must not free the link. */
struct redis_link_owner {
	void (*up)(struct redis_link *l);                                 /* usable now */
	void (*down)(struct redis_link *l, const char *why, bool was_up); /* lost, or an attempt failed */
	/*
	 * NULL for a link that takes calls. With it the link takes none: it hears. Whatever comes is told here, `reply` lives until this
	 * returns; no script is loaded.
	 */
	void (*said)(struct redis_link *l, const struct reply *reply);
	/* NULL, or told that it was lost since an answer was overdue, once the fates of all its calls were told. */
	void (*silent)(struct redis_link *l);
};

/*
 * Makes a link that is down. Returns new; NULL without memory. Borrows all three until link_free; `target` is read at each attempt to
 * connect, `whose` is the owner's own.
 */
struct redis_link *link_new(const struct redis_url *target, const struct redis_link_owner *owner, void *whose);
void link_free(struct redis_link *l);
void *link_whose(const struct redis_link *l);

/* Begins to connect. Once. */
void link_open(struct redis_link *l);

bool link_is_ready(const struct redis_link *l);
/* Ready, or being renewed, and no attempt to connect again has failed: calls may wait for it. */
bool link_serves(const struct redis_link *l);
/* Ready, or not closed yet: commands that belong to those before may be written. */
bool link_is_open(const struct redis_link *l);
/* Not ready, and no attempt has failed: nobody knows yet whether it will be. */
bool link_is_new(const struct redis_link *l);
const char *link_server(const struct redis_link *l); /* "redis 7.0.15" */

/* Only while it is open. False without room: the call was not taken. */
bool link_send(struct redis_link *l, struct redis_call *call, const struct text *args, size_t count);
void link_flush(struct redis_link *l);

/* A command on a link that hears, only while it is ready; what is answered is told to `said`. False without room. */
bool link_say(struct redis_link *l, const struct text *args, size_t count);

/* Loses a ready link: it connects anew. */
void link_drop(struct redis_link *l, const char *why);
/* The same, and not soon: it does not say what it should. */
void link_distrust(struct redis_link *l, const char *why);

/* It takes no more calls: link_flush closes it once all are answered, and it connects again. */
void link_leave(struct redis_link *l);

/* `target` is another now: connects to it without a pause. A link that is ready leaves first. */
void link_moved(struct redis_link *l);

/* Calls under way on it. */
size_t link_owed(const struct redis_link *l);

/* Calls under way on all links; and those that were answered. */
unsigned links_in_flight(void);
struct redis_answers links_answers(void);

#endif
