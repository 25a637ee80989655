/*
 * server_check: decides when a server is asked again about its memory and configuration, which the
 * handshake has read and which may change. The connections of a pool share one, because any of them
 * may carry the question. It must not know the connections.
 */
#ifndef PATTERND_REDIS_SERVER_CHECK_H
#define PATTERND_REDIS_SERVER_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/handshake.h"

enum { SERVER_CHECK_US = 61 * 1000 * 1000, SERVER_CHECK_ARGS = 4 };

/* INFO memory persistence keyspace: what handshake_is_safe reads. */
extern const struct text server_check_command[SERVER_CHECK_ARGS];

struct server_check {
	struct redis_memory memory;
	unsigned risks;   /* as in struct redis_handshake */
	int64_t asked_us; /* when the server was asked last, the handshake included */
	bool is_pending;  /* the answer has not come */
	bool has_refused; /* a command since then, for lack of memory */
};

/*
 * True if the server was asked more than SERVER_CHECK_US ago. A second is enough if it used more
 * than nine tenths of its maxmemory then, or has refused a command since because it was full.
 */
bool server_check_is_due(const struct server_check *s);

/* Call it before the server is asked. */
void server_check_begin(struct server_check *s);

/* Call it with what a handshake or an answer has read. */
void server_check_learn(struct server_check *s, const struct redis_handshake *h);

/*
 * Call it with each reply to a command. True if the server refused the command because it reached
 * its maxmemory: see whether the check is due.
 */
bool server_check_on_reply(struct server_check *s, const struct reply *reply);

#endif
