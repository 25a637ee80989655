/*
 * redis_permissions: what the daemon's Redis user must be allowed, and what of it Redis reports missing.
 *
 * A script that is cut short by a missing permission leaves half of its writes. So the handshake (redis/handshake.h) asks ACL DRYRUN for each
 * command, key and channel that the daemon uses. Knows no socket.
 */
#ifndef PATTERND_REDIS_PERMISSIONS_H
#define PATTERND_REDIS_PERMISSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct reply;

enum { PERMISSIONS_MOST = 128, PERMISSION_ARGS = 10, PERMISSION_USER_BYTES = 128, PERMISSIONS_TEXT_BYTES = 1400 };

/* tools/permissions.py. Lines, each a question: "HSET $ x x", "MEMORY|USAGE $"; $ is a key or a channel. */
extern const char permissions[];
extern const size_t permission_count, permission_count_cluster; /* those of one server come first */

/* What is known of one connection's user. */
struct permissions_report {
	char user[PERMISSION_USER_BYTES]; /* "": not known */
	bool lacks[PERMISSIONS_MOST];     /* this command */
	bool lacks_keys, lacks_channels;  /* those below the prefix */
};

/* The answer to ACL WHOAMI. Without a user's name in it no question can be asked. */
void permissions_user(struct permissions_report *report, const struct reply *reply);

/* The question about a permission; its arguments live as long as `report`. Returns how many. */
size_t permissions_question(const struct permissions_report *report, size_t i, struct text args[PERMISSION_ARGS]);
/* The answer to it. One that does not tell makes the user not known. */
void permissions_answer(struct permissions_report *report, size_t i, const struct reply *reply);

/* How many rules the user lacks. */
unsigned permissions_lacking(const struct permissions_report *report);
/* What the user lacks, and the command that allows it; empty when it lacks nothing. */
void permissions_text(const struct permissions_report *report, char out[PERMISSIONS_TEXT_BYTES]);

/* Logs what is missing unless the latest log line says the same; once, that it cannot be asked for. */
void permissions_log(const struct permissions_report *report);

#endif
