/*
 * server: the other end of the daemon's connections to Redis. It takes the commands apart, each of
 * which must be well-formed, answers the greeting as Redis would, and leaves the rest to its
 * target.
 */
#ifndef FUZZ_SERVER_H
#define FUZZ_SERVER_H

#include "core/loop.h"
#include "core/text.h"

struct server {
	struct server *next;
	struct loop_watch watch; /* its end of the connection */
	char *in;                /* owned: of a command that is not whole yet */
	size_t len;
	unsigned number; /* counted from 1 */
};

/* What a target plays. Set before the first connection. */
struct server_play {
	const char *mode;                 /* redis_mode of INFO: standalone, cluster, sentinel */
	void (*met)(struct server *s);    /* the daemon connected; or NULL */
	void (*missed)(struct server *s); /* the daemon left; or NULL */
	/* A command that is not the greeting's: true when it was answered, or is not to be. */
	bool (*asked)(struct server *s, const struct text *args, size_t count);
};
void server_open(const struct server_play *play);

/* The connections that are there, newest first. */
struct server *server_first(void);

void server_send(struct server *s, struct text bytes);
void server_leave(struct server *s); /* closes and frees it */

/* world.c's: the other end of a connection. */
void server_accept(int fd);

#endif
