/*
 * reply_form: the form that a reply must have, which is checked before its handler is called. It
 * must not know what the items mean.
 *
 * A form describes the items of an array: `i` an integer or its digits, `r` a number or its text,
 * `t` a text, `(...)` an array of such items. What follows a `*` repeats, any number of times, up
 * to the end of its array: "ii*tr" is two integers, then pairs.
 *
 * The build makes the forms of scripts from the declarations in their heads (tools/replies.py).
 */
#ifndef PATTERND_REPLY_FORM_H
#define PATTERND_REPLY_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/reply.h"

/* The items with which replies of scripts begin; a script's own items follow. */
enum { REPLY_OUTCOME, REPLY_NOW_MS, REPLY_OWN };

static inline int64_t reply_outcome(const struct reply *r)
{
	return reply_int(r, REPLY_OUTCOME);
}

/* The own items of a reply whose outcome is from `least` to `most`. */
struct reply_form {
	int64_t least, most;
	const char *items;
	bool again; /* some work is left: the script must be called again (call/call.h) */
};

/*
 * Returns the form that the reply {outcome, now_ms, ...} has; NULL: it has none of them. A form
 * without items ends the list.
 */
const struct reply_form *reply_form_of(const struct reply *r, const struct reply_form *forms);

/* Returns true if the reply of a plain command has the form of one item. */
bool reply_form_fits(const struct reply *r, const char *item);

#endif
