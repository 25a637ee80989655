/* command: a command that is under way to Redis, and what becomes of it. Types only: redis.h has what is done with them. */
#ifndef PATTERND_COMMAND_H
#define PATTERND_COMMAND_H

#include <stdint.h>

#include "redis/reply.h"

struct redis_node;

/* What became of a call. */
enum redis_outcome {
	REDIS_ANSWERED,
	REDIS_NOT_SENT,     /* not a byte of it left: it had no effect */
	REDIS_UNKNOWN,      /* sent, at least in part, and not answered: nobody knows */
	REDIS_DEFERRED,     /* it was held for a moment, which is over: send it again */
	REDIS_ACKNOWLEDGED, /* redis_await_replicas is over: call->acked tells what came of it */
};

enum { REDIS_ANYWHERE = -1, REDIS_MOST_QUORUM = 9 };

/* A call under way. Lives inside its callbacks until `done` was called. Zero but for the first four. */
struct redis_call {
	/* `reply` is NULL unless it was answered, and lives until this returns. May send again, also this same call. */
	void (*done)(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply);
	int slot;               /* redis_slot of its keys */
	unsigned quorum_server; /* the server of --lock-quorum that it goes to, from 1; 0: it goes to --redis */
	unsigned
		replicas; /* that redis_await_replicas will ask for; 0: it will not. Such calls have a connection of their own */

	struct redis_node *node; /* redis.c: where it went last */
	struct redis_node *ask;  /* where it goes next, for ask */
	int64_t deadline_us;     /* when sending it again ends; 0: it was not sent yet */
	unsigned redirects;
	struct redis_call *next; /* of those who are held, or wait for acknowledgements */
	uint64_t starts_at;      /* redis/connection.c: the first byte's place in its connection's stream */
	int64_t due_us;          /* when the answer is overdue */
	unsigned replicas_acked,
		replicas_connected; /* redis/replica_ack.c: of the latter, the former acknowledged it */
};

/* Whether a command was taken. */
enum redis_send_error {
	SEND_OK,
	SEND_DOWN,
	SEND_LATER, /* not yet, perhaps in a moment: redis_defer */
	SEND_FULL,
};

/* Calls answered since start, and how long they have taken together, from the turn they were sent in. */
struct redis_answers {
	uint64_t count;
	int64_t took_us;
};

#endif
