/* node_info: what is known of each server, for GET /info. It must not know JSON. */
#ifndef PATTERND_NODE_INFO_H
#define PATTERND_NODE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/handshake.h"

struct node_info {
	const char *address, *server; /* valid in this iteration; server "" if it was not reached */
	unsigned connections;         /* number of usable ones */
	const char *trouble;          /* NULL while it is usable */
	int64_t away_since_ms;        /* 0: it is usable, or was not tried yet */
	const char *refusal;          /* what it returned, while it is usable and refuses calls; else NULL */
	int64_t refuses_since_ms;
	enum redis_error refusal_error;
	int64_t emptied_at_ms; /* restart_emptied_at_ms */
	unsigned slots;        /* number of slots, in a Cluster */
	struct redis_memory memory;
	bool has_clock, clock_is_recent;
	int64_t clock_offset_ms; /* of its clock from the clock of the daemon's machine */
};

/*
 * Write what is known of server `i`, counted from 0: a server that takes calls, or a server of
 * --lock-quorum. Return false if there is no such server.
 */
bool node_info_at(size_t i, struct node_info *out);
bool node_info_of_quorum(size_t i, struct node_info *out);

#endif
