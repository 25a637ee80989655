/*
 * handshake: the commands that make a new connection usable, and the checks of their replies.
 *
 * AUTH, SELECT, READONLY at a replica in a Cluster, INFO (a recent version, a master unless it is
 * to be read as a replica, a safe configuration), the scripts, and whether the user may run their
 * commands (redis/permissions.h). It must not know sockets.
 */
#ifndef PATTERND_REDIS_HANDSHAKE_H
#define PATTERND_REDIS_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/error.h"
#include "redis/permissions.h"
#include "redis/reply.h"
#include "redis/resp.h"
#include "redis/url.h"

enum { HANDSHAKE_COMMANDS = 4 };

/* What the server uses, as of its latest INFO. */
struct redis_memory {
	int64_t used, limit; /* bytes; limit 0: none */
	int64_t at_us;       /* 0: not known */
};

enum handshake_step { STEP_AUTH, STEP_SELECT, STEP_NAME, STEP_READONLY, STEP_INFO, STEP_SCRIPT };

struct redis_handshake {
	const struct redis_url *url; /* (ref) */
	enum redis_kind kind;        /* of server that is expected */
	enum handshake_step steps[HANDSHAKE_COMMANDS];
	size_t at;                         /* replies so far */
	size_t asked;                      /* commands before the scripts */
	size_t pending;                    /* replies still to come */
	bool rejected;                     /* a retry would fail the same way */
	bool auth_failed;                  /* the server rejected user or password */
	unsigned credentials_version_used; /* as of credentials_version */
	size_t whoami;                     /* index of the reply to ACL WHOAMI; 0: not asked */
	char server[64];                   /* "redis 7.0.15" */
	struct permissions_report permissions;
	size_t permissions_asked;
	bool has_loaded; /* the scripts, in this handshake or an earlier one */
	struct redis_memory memory;
	unsigned risks;         /* bits: ways to lose data by its configuration, as of its latest INFO */
	char why[160];          /* set when handshake_reply returns false */
	enum redis_error error; /* and what Redis returned, or would return to a command */
};

void handshake_set_preload(const struct text *preload);

/*
 * Writes the commands, then the scripts if `has_scripts` and they were not loaded, and last ACL
 * WHOAMI. False without memory. `h` is zeroed, or is the one of the previous handshake.
 */
bool handshake_begin(struct redis_handshake *h, const struct redis_url *url, bool has_scripts, struct resp_buffer *out);

/*
 * When no reply is pending: writes the questions about the user's permissions, if any are left.
 * False without memory.
 */
bool handshake_ask_permissions(struct redis_handshake *h, struct resp_buffer *out);

/* Handles the next reply. False: the server cannot be used; see `why`. */
bool handshake_reply(struct redis_handshake *h, const struct reply *reply);

/*
 * Logs a configuration that may lose data, according to INFO's memory and persistence. False:
 * --strict rejects it; see `why`.
 */
bool handshake_is_safe(struct redis_handshake *h, struct text info);

/* Which two servers of --lock-quorum are the same; "" when none are. */
const char *handshake_duplicates(void);

#endif
