/*
 * redis: the edge to Redis: one server, a master that Sentinels watch, or a Cluster. Behind it: redis/node.c (one server),
 * redis/cluster.c and redis/sentinel.c (which one), redis/connection.c (a connection), resp.c (what goes out), redis/reply_reader.c (what comes in).
 *
 * Connections are pipelined. A command is written into a connection's buffer and flushed once a turn; answers come
 * back in order. Each accepted call gets exactly one `done`, also when its connection dies. A connection counts as usable
 * after its handshake was answered, not when TCP says so.
 */
#ifndef PATTERND_REDIS_H
#define PATTERND_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call/script.h"
#include "core/text.h"

struct redis_node;
struct subscriber;
struct subscriber_owner;

/* What became of a call. */
enum redis_fate {
	FATE_ANSWERED,
	FATE_NOT_SENT,     /* not a byte of it left: it had no effect */
	FATE_LOST,         /* sent, at least in part, and not answered: nobody knows */
	FATE_AGAIN,        /* it was held for a moment, which is over: send it again */
	FATE_ACKNOWLEDGED, /* redis_await is over: call->acked tells what came of it */
};

enum { REDIS_ANYWHERE = -1, REDIS_MOST_MEMBERS = 9 };

/* A call under way. Lives inside its owner until `done` was called. Zero but for the first four. */
struct redis_call {
	/* `reply` is NULL unless it was answered, and lives until this returns. May send again, also this same call. */
	void (*done)(struct redis_call *call, enum redis_fate fate, const struct reply *reply);
	int slot;        /* redis_slot of its keys */
	unsigned member; /* the server of --lock-quorum that it goes to, from 1; 0: it goes to --redis */
	unsigned
		replicas; /* that redis_await will ask for; 0: it will not. Such calls have a connection of their own */

	struct redis_node *node; /* redis.c: where it went last */
	struct redis_node *once; /* where it goes next, for once */
	int64_t give_up_us;      /* when sending it again ends; 0: it was not sent yet */
	unsigned redirects;
	struct redis_call *next_held; /* of those who are held, or wait for acknowledgements */
	uint64_t starts_at;           /* redis/connection.c: the first byte's place in its connection's stream */
	int64_t due_us;               /* when the answer is overdue */
	unsigned acked,
		connected; /* redis/replica_ack.c: replicas that have acknowledged it, of how many that are there */
};

/* Starts to connect. `url` as --redis has it; files of passwords are redis/credentials.c's. False: one line on stderr says what is wrong. */
bool redis_open(const char *url);
void redis_close(void);

/* ---- Calls ---- */

/* The slot of a key; REDIS_ANYWHERE without a Cluster, where there is one place for all. */
int redis_slot(struct text key);

enum redis_refusal {
	REDIS_TOOK,
	REDIS_DOWN,
	REDIS_SOON, /* not yet, perhaps in a moment: redis_hold */
	REDIS_FULL,
};

/* Sends a command of `count` texts; copies them. Unless it returns REDIS_TOOK, `done` is never called. */
enum redis_refusal redis_send(struct redis_call *call, const struct text *args, size_t count);

/*
 * A call was answered with an error that comes before anything ran, and that another server, or the same in a moment, would not give:
 * MOVED, ASK, TRYAGAIN; READONLY after a failover.
 */
enum redis_next { NEXT_NOTHING, NEXT_SEND, NEXT_HOLD };
enum redis_next redis_follow(struct redis_call *call, struct text error);

/* `done` is called with FATE_AGAIN in a moment. False: the call's time is over. */
bool redis_hold(struct redis_call *call);

/*
 * For a call with `replicas`, in its `done`: once more FATE_ACKNOWLEDGED, when so many replicas have acknowledged what it wrote, or half
 * of --redis-timeout-ms is over, or the connection is.
 */
void redis_await(struct redis_call *call);

/* True when a call with this key would be sent now. */
bool redis_serves(struct text key);

/* Writes what was gathered; once a turn. */
void redis_flush(void);

/* The server that said this to the call should not be ours any more. Connects anew once what is under way was answered. */
void redis_distrust(const struct redis_call *call, const char *why);

/* A slot of the node that comes after the one of `slot`; all nodes in turn, from REDIS_ANYWHERE to REDIS_ANYWHERE. */
int redis_next_place(int slot);

/* ---- What is published ---- */

/* Who is told what scripts publish. Once, after redis_open. False without memory. */
bool redis_hear(const struct subscriber_owner *told);
/* Who hears a channel; NULL while nobody does. */
struct subscriber *redis_ear(struct text channel);
/* One of those who hear was told that a channel is another's: subscriber_owner.up(NULL) says when it is known whose. */
void redis_doubt(void);

/* ---- What is known ---- */

unsigned redis_connections(void); /* usable now */
unsigned redis_in_flight(void);

/* Calls answered since start, and how long they have taken together, from the turn they were sent in. */
struct redis_answers {
	uint64_t count;
	int64_t took_us;
};
struct redis_answers redis_answers(void);

bool redis_was_reached(void); /* since start */
/* Which permissions the Redis user lacks, for a person; "" when none, or when they cannot be asked for. */
const char *redis_lacks(void);
/* What to do when nothing was ever there, to be said behind the trouble; "" once something took a connection. */
const char *redis_advice(void);
/* How many servers --lock-quorum lists; and where each is, from 1. None of them counts for what is asked above. */
unsigned redis_members(void);
const char *redis_member_address(unsigned member);
/* Which two of them are one server, listed twice; "" when none are. */
const char *redis_twins(void);
/* What went wrong last, for a person: with the server that the call went to, or at all (NULL). */
const char *redis_trouble(const struct redis_call *call);
/* "127.0.0.1:6379" or a path; "3 nodes"; and what the server calls itself, "" before it was reached. */
const char *redis_address(void);
const char *redis_server(void);
/* "single", "sentinel", "cluster". */
const char *redis_mode(void);

/* One of the servers that take calls. */
struct redis_look {
	const char *address, *server; /* works until the next turn; server "" before it was reached */
	unsigned connections;         /* usable */
	unsigned slots;               /* that it serves, in a Cluster */
};
/* The i-th, from 0; false when there are no more. */
bool redis_look(size_t i, struct redis_look *out);

#endif
