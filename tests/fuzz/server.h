/*
 * server: the other end of the daemon's connections to Redis. It parses the commands, which must be
 * well-formed, and answers the greeting as Redis would. The target answers the rest.
 */
#ifndef FUZZ_SERVER_H
#define FUZZ_SERVER_H

#include "core/loop.h"
#include "core/text.h"

struct server {
	struct server *next;
	struct loop_watch watch; /* the server's end of the connection */
	char *in;                /* owned: bytes of a command that is not whole yet */
	size_t len;
	unsigned number; /* counted from 1 */
};

/* The behaviour of the server, by the target. Set it before the first connection. */
struct server_play {
	const char *mode;                 /* redis_mode of INFO: standalone, cluster, sentinel */
	void (*met)(struct server *s);    /* the daemon connected; or NULL */
	void (*missed)(struct server *s); /* the daemon left; or NULL */
	/* A command after the greeting. Returns true if it was answered, or must get no answer. */
	bool (*asked)(struct server *s, const struct text *args, size_t count);
};
void server_open(const struct server_play *play);

/* The open connections, newest first. */
struct server *server_first(void);

void server_send(struct server *s, struct text bytes);
void server_leave(struct server *s); /* closes and frees it */

/* For world.c: opens the other end of a connection. */
void server_accept(int fd);

#endif
