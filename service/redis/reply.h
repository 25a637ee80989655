/* reply: what Redis said, as a tree. Knows no connection: redis/reply_reader.c makes them, script.c hands them on. */
#ifndef PATTERND_REPLY_H
#define PATTERND_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct arena;

/* A reply of Redis. Lives only until the callback that was given it returns. */
enum reply_type { REPLY_NIL, REPLY_INTEGER, REPLY_TEXT, REPLY_ARRAY, REPLY_STATUS, REPLY_ERROR };
struct reply {
	enum reply_type type;
	int64_t integer;
	struct text text;
	size_t count;
	struct reply **items;
};

/*
 * Item `i` of an array; integers are also read from decimal text. 0, absent text, an array of nothing
 * behind the last item; also where an item is of another type, but then the reply is misread, and whatever a handler answers becomes a problem
 * (answer.c).
 */
int64_t reply_int(const struct reply *r, size_t i);
double reply_real(const struct reply *r, size_t i);
struct text reply_text(const struct reply *r, size_t i);
const struct reply *reply_item(const struct reply *r, size_t i); /* an array in it */
bool reply_is_text(const struct reply *r, size_t i);             /* for an item of either type */

/* Whether anything is misread while a call's `done` runs: from reply_watch to reply_watched, which says so. */
void reply_watch(void);
bool reply_watched(void);
bool reply_is_misread(void); /* so far; false when nothing watches */

/* An error's text is this word, or begins with it and a blank. */
bool error_begins(struct text error, const char *word);

/* How many bytes of an error are told: Redis adds the place in the script (" script: f_..., on @user_script:12."). */
int error_told(struct text error);

/* A copy in the arena. NULL without memory, which the next answer tells. */
const struct reply *reply_keep(struct arena *arena, const struct reply *r);

#endif
