/* reply: a reply of Redis as a tree. It must not know connections: reply_reader.c makes replies. */
#ifndef PATTERND_REPLY_H
#define PATTERND_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct arena;

/* Lives only until the callback that received it returns. */
enum reply_type { REPLY_NIL, REPLY_INTEGER, REPLY_TEXT, REPLY_ARRAY, REPLY_STATUS, REPLY_ERROR };
struct reply {
	enum reply_type type;
	int64_t integer;
	struct text text;
	size_t count;
	struct reply **items;
};

/*
 * Item `i` of an array; integers are also read from decimal text. 0, absent text, an empty array
 * after the last item, and for an item of another type.
 */
int64_t reply_int(const struct reply *r, size_t i);
double reply_real(const struct reply *r, size_t i);
struct text reply_text(const struct reply *r, size_t i);
const struct reply *reply_item(const struct reply *r, size_t i); /* an array in it */

/*
 * Whether an item can be read so: an integer or its digits; a number or its text; a text of either
 * type.
 */
bool reply_is_int(const struct reply *item);
bool reply_is_real(const struct reply *item);
bool reply_is_text(const struct reply *item);

/* Of all texts in it. */
size_t reply_text_bytes(const struct reply *r);

/*
 * Set while a reply is read whose form was checked (reply_form.h). Reading an item of another type
 * is then a defect, and asserted.
 */
void reply_expect_types(bool expect);

/*
 * Call it in the `done` of an answered call whose reply cannot be its own. Then later replies may
 * belong to other calls, too. When `done` returns, the connection is closed, and the effect of its
 * pending calls is unknown. `why` is static; NULL before each `done`.
 */
void reply_note_mismatch(const char *why);
const char *reply_mismatch(void);

/* True when an error's text is this word, or begins with it and a blank. */
bool reply_error_begins(struct text error, const char *word);

/*
 * The length of an error without the position in the script that Redis appends (" script: f_..., on
 * @user_script:12.").
 */
int reply_error_length(struct text error);

/* A copy in the arena. NULL without memory; the arena then reports it. */
const struct reply *reply_keep(struct arena *arena, const struct reply *r);

#endif
