/* reply: a reply of Redis as a tree. It must not know connections: reply_reader.c makes replies. */
#ifndef PATTERND_REPLY_H
#define PATTERND_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct arena;

/* A reply is valid until the callback that received it returns. */
enum reply_type { REPLY_NIL, REPLY_INTEGER, REPLY_TEXT, REPLY_ARRAY, REPLY_STATUS, REPLY_ERROR };
struct reply {
	enum reply_type type;
	int64_t integer;
	struct text text;
	size_t count;
	struct reply **items;
};

/*
 * Each returns item `i` of an array. Integers are also read from decimal text. If there are not as
 * many items, or the item has another type, they return 0, an absent text, or an empty array.
 */
int64_t reply_int(const struct reply *r, size_t i);
double reply_real(const struct reply *r, size_t i);
struct text reply_text(const struct reply *r, size_t i);
const struct reply *reply_item(const struct reply *r, size_t i); /* an array in it */

/*
 * Return whether an item can be read as an integer (or its digits), as a number (or its text), or
 * as a text of either type.
 */
bool reply_is_int(const struct reply *item);
bool reply_is_real(const struct reply *item);
bool reply_is_text(const struct reply *item);

/* Returns the bytes of all texts in it. */
size_t reply_text_bytes(const struct reply *r);

/*
 * Set while a reply is handled whose form was checked (reply_form.h). Reading an item of another
 * type is then a defect, and asserted.
 */
void reply_expect_types(bool expect);

/*
 * Call it in the `done` of an answered call whose reply cannot be its own: then later replies may
 * belong to other calls, too. When `done` returns, the connection is closed, and the effect of its
 * pending calls is unknown. `why` is static, and NULL before each `done`.
 */
void reply_note_mismatch(const char *why);
const char *reply_mismatch(void);

/* Returns true if an error's text is this word, or begins with it and a blank. */
bool reply_error_begins(struct text error, const char *word);

/*
 * Returns the length of an error without the position in the script that Redis appends (" script:
 * f_..., on @user_script:12.").
 */
int reply_error_length(struct text error);

/* Returns a copy in the arena. NULL: memory ran out, which the arena notes. */
const struct reply *reply_keep(struct arena *arena, const struct reply *r);

#endif
