/*
 * redis_handshake: what is said on a fresh connection before it counts as usable, and what the answers mean.
 *
 * AUTH, SELECT, INFO (is it new enough, a master, safe to keep data in?), the scripts, and whether the user may run what they call
 * (redis/permissions.h). Knows no socket.
 */
#ifndef PATTERND_REDIS_GREETING_H
#define PATTERND_REDIS_GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/permissions.h"
#include "redis/reply.h"
#include "redis/resp.h"
#include "redis/url.h"

enum { HANDSHAKE_COMMANDS = 4 };

enum handshake_step { STEP_AUTH, STEP_SELECT, STEP_NAME, STEP_INFO, STEP_SCRIPT };

struct redis_handshake {
	const struct redis_url *url; /* (ref) where it is said */
	enum redis_kind kind;        /* what is expected at the other end */
	enum handshake_step steps[HANDSHAKE_COMMANDS];
	size_t at;                         /* answers seen */
	size_t asked;                      /* commands before the scripts */
	size_t pending;                    /* answers still to come */
	bool rejected;                     /* it does not want us: asking again soon would not help */
	bool auth_failed;                  /* it rejected user or password */
	unsigned credentials_version_used; /* which version of them, as of credentials_version */
	size_t whoami;                     /* which answer is the user's name; 0: it was not asked for */
	char server[64];                   /* "redis 7.0.15" */
	struct permissions_report permissions;
	size_t permissions_asked;
	char why[160]; /* what is wrong, when handshake_reply says false */
};

void handshake_set_preload(const struct text *preload);

/* Writes the commands, the scripts behind them where `has_scripts`, and last the question for the user's name. False without memory. */
bool handshake_begin(struct redis_handshake *g, const struct redis_url *url, bool has_scripts, struct resp_buffer *out);

/* Once all is answered: writes the questions about the user's permissions, if any are left and may be asked. False without memory. */
bool handshake_ask_permissions(struct redis_handshake *g, struct resp_buffer *out);

/* Takes the next answer. False: this server cannot be used, `why` says so. */
bool handshake_reply(struct redis_handshake *g, const struct reply *reply);

/* Tells of a configuration that may lose data, by what INFO says of memory and persistence. False: --strict refuses it, `why` says so. */
bool handshake_is_safe(struct redis_handshake *g, struct text info);

/* Which two servers of --lock-quorum are one, which only their greetings show; "" when none are. */
const char *handshake_duplicates(void);

#endif
