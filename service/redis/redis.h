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

#include "core/text.h"
#include "redis/command.h"

struct redis_node;
struct subscriber;
struct subscriber_callbacks;

/* Starts to connect. `url` as --redis has it; `preload`, ended by an absent text, or NULL: scripts that every connection loads; files of passwords are redis/credentials.c's. False: one line on stderr says what is wrong. */
bool redis_open(const char *url, const struct text *preload);
void redis_close(void);

/* ---- Calls ---- */

/* The slot of a key; REDIS_ANYWHERE without a Cluster, where there is one place for all. */
int redis_slot(struct text key);

/* Sends a command of `count` texts; copies them. Unless it returns SEND_OK, `done` is never called. */
enum redis_send_error redis_send(struct redis_call *call, const struct text *args, size_t count);

/*
 * A call was answered with an error that comes before anything ran, and that another server, or the same in a moment, would not give:
 * MOVED, ASK, TRYAGAIN; READONLY after a failover.
 */
enum redis_next { NEXT_NOTHING, NEXT_SEND, NEXT_DEFER };
enum redis_next redis_follow(struct redis_call *call, struct text error);

/* `done` is called with REDIS_DEFERRED in a moment. False: the call's time is over. */
bool redis_defer(struct redis_call *call);

/*
 * For a call with `replicas`, in its `done`: once more REDIS_ACKNOWLEDGED, when so many replicas have acknowledged what it wrote, or half
 * of --redis-timeout-ms is over, or the connection is.
 */
void redis_await_replicas(struct redis_call *call);

/* True when a call with this key would be sent now. */
bool redis_serves(struct text key);

/* Writes what was gathered; once a turn. */
void redis_flush(void);

/* The server that said this to the call should not be ours any more. Connects anew once what is under way was answered. */
void redis_reject(const struct redis_call *call, const char *why);

/* A slot of the node that comes after the one of `slot`; all nodes in turn, from REDIS_ANYWHERE to REDIS_ANYWHERE. */
int redis_next_node(int slot);

/* ---- What is published ---- */

/* Who is told what scripts publish. Once, after redis_open. False without memory. */
bool redis_subscribe(const struct subscriber_callbacks *told);
/* Who hears a channel; NULL while nobody does. */
struct subscriber *redis_subscriber(struct text channel);
/* One of those who hear was told that a channel is another's: subscriber_callbacks.up(NULL) says when it is known context. */
void redis_refresh_topology(void);

/* ---- What is known ---- */

unsigned redis_connections(void); /* usable now */
unsigned redis_in_flight(void);

struct redis_answers redis_answers(void);

bool redis_was_reached(void); /* since start */
/* Which permissions the Redis user lacks, for a person; "" when none, or when they cannot be asked for. */
const char *redis_missing_permissions(void);
/* What to do when nothing was ever there, to be said behind the trouble; "" once something took a connection. */
const char *redis_advice(void);
/* How many servers --lock-quorum lists; and where each is, from 1. None of them counts for what is asked above. */
unsigned redis_quorum_count(void);
const char *redis_quorum_address(unsigned server);
/* Which two of them are one server, listed twice; "" when none are. */
const char *redis_quorum_duplicates(void);
/* What went wrong last, for a person: with the server that the call went to, or at all (NULL). */
const char *redis_trouble(const struct redis_call *call);
/* "127.0.0.1:6379" or a path; "3 nodes"; and what the server calls itself, "" before it was reached. */
const char *redis_address(void);
const char *redis_server(void);
/* "single", "sentinel", "cluster". */
const char *redis_mode(void);

/* One of the servers that take calls. */
struct redis_node_info {
	const char *address, *server; /* works until the next turn; server "" before it was reached */
	unsigned connections;         /* usable */
	unsigned slots;               /* that it serves, in a Cluster */
};
/* The i-th, from 0; false when there are no more. */
bool redis_node_info(size_t i, struct redis_node_info *out);

#endif
