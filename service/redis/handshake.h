/*
 * handshake: the commands that make a new connection usable, and the checks of their replies. It
 * must not know sockets.
 *
 * It sends AUTH, SELECT, READONLY (to a replica in a Cluster), INFO, and asks whether the user may
 * run the commands of the scripts (redis/permissions.h). INFO must show a recent version, a master
 * (unless it is to be read as a replica) and a safe configuration.
 *
 * One connection asks about the permissions at a server. The others to that server wait for the
 * answers, and use them.
 *
 * A connection for subscriptions asks for CLIENT TRACKING with OPTIN instead, redirected to itself.
 * It tracks no key, so it costs nothing; but Redis then reports FLUSHALL and FLUSHDB.
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

enum { HANDSHAKE_COMMANDS = 7, REDIS_RUN_ID_BYTES = 48 };

/* The memory of the server, as of its latest INFO. */
struct redis_memory {
	int64_t used, limit; /* bytes; `limit` is 0 if there is none */
	int64_t at_us;       /* 0: not known */
};

/* The process of the server, as of the handshake; for redis/restart.c. */
struct redis_process {
	char server[64];                 /* such as "redis 7.0.15" */
	char run_id[REDIS_RUN_ID_BYTES]; /* "": not known, or it is a replica */
	int64_t uptime_us;
	bool began_empty; /* it had no data to load when it started */
	bool has_keys;    /* in the database of the connection, as of its latest INFO */
	int64_t heard_us; /* when its latest reply arrived */
};

enum handshake_step {
	STEP_AUTH,
	STEP_SELECT,
	STEP_NAME,
	STEP_READONLY,
	STEP_INFO,
	STEP_USER,
	STEP_PERMISSION,
	STEP_ID,
	STEP_TRACKING
};

struct redis_handshake {
	const struct redis_url *url; /* (ref) */
	enum redis_kind kind;        /* the expected kind of server */
	enum handshake_step steps[HANDSHAKE_COMMANDS];
	size_t at;                         /* replies so far */
	size_t asked;                      /* commands before the questions about permissions */
	int64_t client_id;                 /* of a connection for subscriptions; 0: it is not to be used any more */
	size_t pending;                    /* replies that have not arrived */
	bool rejected;                     /* a retry would fail the same way */
	bool auth_failed;                  /* the server rejected user or password */
	unsigned credentials_version_used; /* the credentials_version that was used */
	struct redis_process process;
	struct permissions_report permissions;
	size_t permissions_asked, permissions_answered;
	bool waits; /* for the permissions that another connection asks about */
	struct redis_memory memory;
	unsigned risks;         /* bits: ways in which its configuration may lose data, as of its latest INFO */
	char why[160];          /* set when handshake_reply returns false */
	enum redis_error error; /* what Redis returned, or would return to a command */
};

/*
 * Writes the commands; the last one is ACL WHOAMI if the connection takes calls, else CLIENT ID. It
 * overwrites `h`. False: memory ran out.
 */
bool handshake_begin(struct redis_handshake *h, const struct redis_url *url, bool takes_calls, struct resp_buffer *out);

/*
 * Call it when no reply is pending. Writes the questions about the user's permissions, or CLIENT
 * TRACKING, if any are left. False: memory ran out. If `waits` is set, call it again when the other
 * connection is ready or lost.
 */
bool handshake_ask_more(struct redis_handshake *h, struct resp_buffer *out);

/*
 * Sets a function that returns the handshake of another connection to the same server, which has
 * asked about the permissions of the same user, or whose user may not ask. NULL: there is none.
 */
void handshake_share(const struct redis_handshake *(*find)(const struct redis_handshake *h));

/* Handles the next reply. False: the server cannot be used; `why` has the reason. */
bool handshake_reply(struct redis_handshake *h, const struct reply *reply);

/*
 * Notes the memory, the keys and the risks of INFO memory, persistence and keyspace. Logs a
 * configuration that may lose data. False: --strict rejects it; `why` has the reason.
 */
bool handshake_is_safe(struct redis_handshake *h, struct text info);

/* Returns which two servers of --lock-quorum are the same, or "". */
const char *handshake_duplicates(void);

#endif
