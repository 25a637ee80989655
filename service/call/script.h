/* script: a script of lua/, as the build embeds it (tools/embed_scripts.py). */
#ifndef PATTERND_SCRIPT_H
#define PATTERND_SCRIPT_H

#include <stdbool.h>

#include "core/text.h"
#include "redis/reply_form.h"
#include "request/replay.h"

struct script {
	const char *name;
	struct text source;
	const struct reply_form *forms; /* of its replies, by outcome */
	char sha1[41];                  /* hex digits */
	enum replay replay;             /* of its idempotency record; REPLAY_NONE: it keeps none */
	bool writes;                    /* false: a lost reply has effect none */
	bool indexed;                   /* its last key, before the record's, is the index of names (name_index.h) */
};

#endif
