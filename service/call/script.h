/* script: a script of lua/, as the build embeds it (tools/embed_scripts.py). Types only. */
#ifndef PATTERND_SCRIPT_H
#define PATTERND_SCRIPT_H

#include <stdbool.h>

#include "core/text.h"
#include "redis/reply_form.h"
#include "request/replay.h"

struct script {
	const char *name;
	struct text source;
	const struct reply_form *forms; /* the forms of its replies, by outcome */
	char sha1[41];                  /* hex digits */
	enum replay replay;             /* how its idempotency record is used; REPLAY_NONE: it has none */
	bool writes;                    /* false: a lost reply has effect none */
	/* its last key, before the key of the record, is the index of names (name_index.h) */
	bool indexed;
};

#endif
