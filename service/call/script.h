/*
 * script: an operation of lua/, and the script that holds it with others, as the build embeds them
 * (tools/embed_scripts.py). This module must not know how it is called.
 */
#ifndef PATTERND_SCRIPT_H
#define PATTERND_SCRIPT_H

#include <stdbool.h>

#include "core/text.h"
#include "redis/reply_form.h"
#include "request/replay.h"

/* A line of a script, and where it is from. The lines behind it are the next ones of that file. */
struct script_line {
	unsigned short line, file, line_in_file; /* from 1; an index of script_files */
};

struct script_text {
	struct text source;
	char sha1[41];                   /* hex digits */
	const struct script_line *lines; /* in ascending order, ended by a line 0 */
};

struct script {
	const char *name; /* of the operation: the last argument begins with it */
	const struct script_text *text;
	const struct reply_form *forms; /* the forms of its replies, by outcome */
	const struct script *first;     /* called before this one is called again; NULL: none */
	enum replay replay;             /* how its idempotency record is used; REPLAY_NONE: it has none */
	bool writes;                    /* false: a lost reply has effect none */
	/* its last key, before the key of the record, is the index of names (name_index.h) */
	bool indexed;
};

struct script_place {
	const char *file; /* such as lua/locks/lock_acquire.lua */
	long line;
};

/* Where an error message of Lua came from, by its "user_script:" and a line number. The file is
 * NULL if it has none, as the error of a command. A line that the text does not have counts on from
 * its last known one.
 */
struct script_place script_place(const struct script_text *text, const char *message);

extern const char *const script_files[]; /* the paths of all files */

#endif
