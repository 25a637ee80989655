/*
 * command: a command on its way to Redis, and its outcome. Types only; see topology/topology.h. It
 * must not know requests.
 */
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
	REDIS_NOT_SENT,     /* no byte of it was sent, so it had no effect */
	REDIS_UNKNOWN,      /* sent, at least in part, and no reply came */
	REDIS_DEFERRED,     /* topology_defer has ended: send it again */
	REDIS_ACKNOWLEDGED, /* topology_await_replicas has ended: see replicas_acked */
};

enum { REDIS_ANYWHERE = -1, REDIS_MOST_QUORUM = 9 };

/*
 * A call. It is part of its owner until `done` was called. All but the first five members must be
 * zero.
 */
struct redis_call {
	/*
	 * `reply` is NULL unless the call was answered, and is valid until this returns. This may
	 * send again, also the same call.
	 */
	void (*done)(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply);
	int slot;               /* topology_slot of its keys */
	unsigned quorum_server; /* number in --lock-quorum, from 1; 0: a server of --redis */
	unsigned replicas;      /* for topology_await_replicas; 0: none */
	bool writes;            /* it may store data */
	bool may_be_stale;      /* a replica may serve it; cleared when the primary is asked */
	unsigned turn;          /* selects the replica */

	struct redis_node *node; /* used by topology.c: the node that it was sent to last */
	bool at_replica;         /* it was sent to a replica */
	struct redis_node *ask;  /* target of an ASK redirection, for the next attempt only */
	int64_t deadline_us;     /* when retries end; 0: not sent yet */
	unsigned redirects;
	/* the next one of a list, of deferred calls or of calls that wait for replicas */
	struct redis_call *next;
	uint64_t starts_at;                          /* used by connection.c: offset in the stream */
	int64_t due_us;                              /* when it times out */
	unsigned replicas_acked, replicas_connected; /* used by replica_ack.c */
};

/* Why a command was not accepted. */
enum redis_send_error {
	SEND_OK,
	SEND_DOWN,
	SEND_LATER,     /* it may be accepted soon: topology_defer */
	SEND_MANY,      /* as many calls are pending as --max-in-flight allows */
	SEND_BEHIND,    /* the connection's buffer is full: the server reads too slowly */
	SEND_NO_MEMORY, /* malloc failed */
};

/* Number of calls answered since the start, and the sum of their durations. */
struct redis_answers {
	uint64_t count;
	int64_t took_us;
};

#endif
