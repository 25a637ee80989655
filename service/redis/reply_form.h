/*
 * reply_form: what a reply must look like, checked before its handler runs.
 *
 * A form describes the items of an array: `i` an integer, or its digits; `r` a number, or its text;
 * `t` a text; `(...)` an array of such items. What follows a `*` repeats, any number of times, to
 * the end of its array: "ii*tr" is two integers, then pairs.
 *
 * The build makes the forms of scripts from what their heads declare (tools/replies.py).
 */
#ifndef PATTERND_REPLY_FORM_H
#define PATTERND_REPLY_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/reply.h"

/* The form with which replies of scripts begin; a script's own items follow. */
enum { REPLY_OUTCOME, REPLY_NOW_MS, REPLY_OWN };

static inline int64_t reply_outcome(const struct reply *r)
{
	return reply_int(r, REPLY_OUTCOME);
}

/* The own items of a reply whose outcome is from `least` to `most`. */
struct reply_form {
	int64_t least, most;
	const char *items;
};

/* Whether it is {outcome, now_ms, ...} as one of these forms, which end with one without items. */
bool reply_form_matches(const struct reply *r, const struct reply_form *forms);

/* Whether the reply of a plain command is as described by one item. */
bool reply_form_fits(const struct reply *r, const char *item);

#endif
