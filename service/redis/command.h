/* command: a command on its way to Redis, and its outcome. Types only; see topology/topology.h. */
#ifndef PATTERND_COMMAND_H
#define PATTERND_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/error.h"
#include "redis/reply.h"

struct redis_node;

/* The outcome of a call. */
enum redis_outcome {
	REDIS_ANSWERED,
	REDIS_NOT_SENT,     /* no byte of it was sent: it had no effect */
	REDIS_UNKNOWN,      /* sent, at least in part, and not answered */
	REDIS_DEFERRED,     /* topology_defer has ended: send it again */
	REDIS_ACKNOWLEDGED, /* topology_await_replicas has ended: see replicas_acked */
};

enum { REDIS_ANYWHERE = -1, REDIS_MOST_QUORUM = 9 };

/* A call. Lives inside its owner until `done` was called. Zero but for the first four members. */
struct redis_call {
	/*
	 * `reply` is NULL unless the call was answered, and lives until this returns. May send
	 * again, also this same call.
	 */
	void (*done)(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply);
	int slot;               /* topology_slot of its keys */
	unsigned quorum_server; /* number in --lock-quorum, from 1; 0: a server of --redis */
	unsigned replicas;      /* for topology_await_replicas; 0: none */
	bool may_be_stale;      /* a replica may serve it, if one can; cleared when the primary is asked */
	unsigned turn;          /* picks the replica */

	struct redis_node *node; /* topology.c: where it went last */
	bool at_replica;         /* it went to a replica */
	struct redis_node *ask;  /* target of an ASK redirection, for the next attempt only */
	int64_t deadline_us;     /* when retries end; 0: not sent yet */
	unsigned redirects;
	struct redis_call *next;                     /* deferred, or waiting for replicas */
	uint64_t starts_at;                          /* connection.c: offset in the stream */
	int64_t due_us;                              /* when it times out */
	unsigned replicas_acked, replicas_connected; /* replica_ack.c */
};

/* Why a command was not accepted. */
enum redis_send_error {
	SEND_OK,
	SEND_DOWN,
	SEND_LATER, /* perhaps in a moment: topology_defer */
	SEND_FULL,
};

/* Calls answered since start, and the sum of their times. */
struct redis_answers {
	uint64_t count;
	int64_t took_us;
};

#endif
