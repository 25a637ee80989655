/*
 * topology: the interface to Redis: one server, a master with Sentinels, or a Cluster. It must not
 * know requests or scripts.
 *
 * Below it are topology/node.c (one server); cluster.c, sentinel.c and replicas.c (which server);
 * connection.c (one connection); resp.c (output) and reply_reader.c (input). Commands are buffered
 * and flushed once per event-loop iteration; replies arrive in order. Each accepted call gets
 * exactly one `done`, also when its connection is lost. A connection is usable after its handshake.
 */
#ifndef PATTERND_TOPOLOGY_H
#define PATTERND_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "redis/command.h"
#include "redis/handshake.h"

struct redis_node;
struct subscriber;
struct subscriber_callbacks;

/* For config_check_texts: the fault of a URL of --redis. */
const char *topology_fault(const char *flag, const char *value);

/*
 * Checks the URLs of --redis, --lock-quorum and --redis-replicas, and connects to none. Returns
 * false after a line on stderr for each fault.
 */
bool topology_check(void);

/*
 * Call it after topology_check: starts to connect. `url` is the URL of --redis. If that fails,
 * writes one line to stderr and returns false.
 */
bool topology_open(const char *url);
void topology_close(void);

/* ---- Calls ---- */

/* Returns the slot of a key; REDIS_ANYWHERE without a Cluster. */
int topology_slot(struct text key);

/* Sends a command, and copies its texts. Unless it returns SEND_OK, `done` is never called. */
enum redis_send_error topology_send(struct redis_call *call, const struct text *args, size_t count);

/*
 * Call it in `done` of a call that failed. Returns true if it went to a replica (call->at_replica):
 * the next topology_send sends it to the primary.
 */
bool topology_leave_replica(struct redis_call *call);

/*
 * Returns what to do after an error that precedes any effect, and that a retry may avoid: MOVED,
 * ASK, TRYAGAIN, or READONLY after a failover.
 */
enum redis_next { NEXT_NOTHING, NEXT_SEND, NEXT_DEFER };
enum redis_next topology_follow(struct redis_call *call, struct text error);

/* Calls `done` with REDIS_DEFERRED in a moment. False: the call has timed out. */
bool topology_defer(struct redis_call *call);

/*
 * Call it in the `done` of a call with `replicas`. `done` is called once more, with
 * REDIS_ACKNOWLEDGED: when that many replicas have acknowledged the write, after half of
 * --redis-timeout-ms, or when the connection is lost.
 */
void topology_await_replicas(struct redis_call *call);

/* Returns true if a call with this key would be sent now. */
bool topology_serves(struct text key);

/*
 * Returns true if a call with this key cannot be sent soon: its server was tried, or there is none.
 */
bool topology_is_away(struct text key);

/* For topology/subscribers.c: returns the node that has a slot; NULL: none is known. */
struct redis_node *topology_node(int slot);

/* Writes the buffered commands. Call it once per event-loop iteration. */
void topology_flush(void);

/*
 * Call it if the server of a call (call->node) misbehaves, or is not the right one any more:
 * reconnects after the pending calls. `why` is the reply or the reason.
 */
void topology_reject(struct redis_node *node, const char *why);

/*
 * Returns a slot of the node after the node of `slot`. From REDIS_ANYWHERE to REDIS_ANYWHERE it
 * visits all nodes.
 */
int topology_next_node(int slot);
bool topology_is_cluster(void);

/* ---- Pub/sub ---- */

/*
 * Sets the callbacks of all subscribers. Call it once, after topology_open. False: memory ran out.
 */
bool topology_subscribe(const struct subscriber_callbacks *callbacks);
/*
 * Call it if a channel may belong to another node: asks for the map. subscriber_callbacks.up(NULL)
 * reports a new one.
 */
void topology_refresh(void);

/* ---- State ---- */

/* Returns true if the server is usable; in a Cluster, if every slot has a usable node. */
bool topology_is_up(void);
unsigned topology_connections(void); /* the usable ones */
unsigned topology_in_flight(void);

bool topology_was_reached(void); /* since the start */
/* Returns advice to append to topology_trouble while no server was ever reached; otherwise "". */
const char *topology_advice(void);
/* Returns the text of the latest error: of the call's server, or of any server (NULL). */
const char *topology_trouble(const struct redis_call *call);
/*
 * Returns why Redis is not usable, what it refuses, or which permissions its user lacks. NULL:
 * nothing is wrong.
 */
const char *topology_error(void);
enum redis_error topology_trouble_error(const struct redis_call *call); /* the same error as a value */
/*
 * topology_address returns "127.0.0.1:6379" or a path. topology_server returns "redis 7.0.15", ""
 * before it was reached.
 */
const char *topology_address(void);
const char *topology_server(void);
/* Returns "single", "sentinel" or "cluster". */
const char *topology_mode(void);

#endif
