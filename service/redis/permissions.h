/*
 * permissions: which permissions the daemon's Redis user needs, and which of them it lacks.
 *
 * A script that stops at a missing permission has made only half of its writes. The handshake
 * (redis/handshake.h) therefore asks ACL DRYRUN for each command, key and channel that the daemon
 * uses. It must not know sockets.
 */
#ifndef PATTERND_REDIS_PERMISSIONS_H
#define PATTERND_REDIS_PERMISSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct reply;

enum { PERMISSIONS_MOST = 128, PERMISSION_ARGS = 10, PERMISSION_USER_BYTES = 128, PERMISSIONS_TEXT_BYTES = 1400 };

/*
 * From tools/permissions.py. A line each: "HSET $ x x", "MEMORY|USAGE $"; $ is a key or a channel.
 */
extern const char permissions[];
extern const size_t permission_count, permission_count_cluster; /* the permissions for a Cluster are last */

/* The permissions of one connection's user. */
struct permissions_report {
	char user[PERMISSION_USER_BYTES]; /* "": unknown */
	bool lacks[PERMISSIONS_MOST];     /* this command */
	bool lacks_keys, lacks_channels;  /* those below the prefix */
};

/* Reads the reply to ACL WHOAMI. Without a user's name, no question can be asked. */
void permissions_user(struct permissions_report *report, const struct reply *reply);

/*
 * Writes the question for a permission to `args`, which live as long as `report`. Returns their
 * number.
 */
size_t permissions_question(const struct permissions_report *report, size_t i, struct text args[PERMISSION_ARGS]);
/* Reads the reply to it. Any other reply makes the user unknown. */
void permissions_answer(struct permissions_report *report, size_t i, const struct reply *reply);

/* The number of missing rules. */
unsigned permissions_lacking(const struct permissions_report *report);
/* The missing permissions as an ACL SETUSER command; "" when none is missing. */
void permissions_text(const struct permissions_report *report, char out[PERMISSIONS_TEXT_BYTES]);

/* Logs the missing permissions when they have changed, and once that they cannot be asked for. */
void permissions_log(const struct permissions_report *report);

#endif
