/*
 * redis: the edge to Redis. Behind it: redis_link.c (a connection), resp.c (what goes out), redis_reply.c (what comes in).
 *
 * A pool of pipelined connections. A command is written into a connection's buffer and flushed once a turn; answers come
 * back in order. Each accepted call gets exactly one `done`, also when its connection dies. A connection counts as usable
 * after its handshake was answered, not when TCP says so.
 */
#ifndef PATTERND_REDIS_H
#define PATTERND_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script.h"
#include "text.h"

struct redis_url;

/* What became of a call. */
enum redis_fate {
	FATE_ANSWERED,
	FATE_NOT_SENT, /* not a byte of it left: it had no effect */
	FATE_LOST,     /* sent, at least in part, and not answered: nobody knows */
};

/* A call under way. Lives inside its owner until `done` was called. */
struct redis_call {
	/* `reply` is NULL unless it was answered, and lives until this returns. May send again, also this same call. */
	void (*done)(struct redis_call *call, enum redis_fate fate, const struct reply *reply);
	uint64_t starts_at; /* redis_link.c: the first byte's place in its connection's stream */
	int64_t due_us;     /* redis_link.c: when the answer is overdue */
};

/*
 * Starts to connect. `url` is redis://[user:password@]host:port[/db] or unix:///path[?db=N]; password may be NULL (or
 * comes from the URL). False: one line on stderr says what is wrong with the URL.
 */
bool redis_open(const char *url, const char *password);
void redis_close(void);

enum redis_refusal { REDIS_TOOK, REDIS_DOWN, REDIS_FULL };

/* Sends a command of `count` texts; copies them. Unless it returns REDIS_TOOK, `done` is never called. */
enum redis_refusal redis_send(struct redis_call *call, const struct text *args, size_t count);

/* Writes what was gathered; once a turn. */
void redis_flush(void);

/* This server should not be ours any more (READONLY, MOVED, NOAUTH). Connects anew once what is under way was answered. */
void redis_distrust(const char *why);

unsigned redis_connections(void); /* usable now */
unsigned redis_in_flight(void);
bool redis_was_reached(void); /* since start */
/* What went wrong last with a connection to it, for a person. */
const char *redis_trouble(void);
/* Where it is; the same until redis_close. */
const struct redis_url *redis_target(void);
/* "127.0.0.1:6379" or a path; and what the server calls itself, "" before it was reached. */
const char *redis_address(void);
const char *redis_server(void);

#endif
