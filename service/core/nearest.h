/*
 * nearest: finds the known name that an unknown name probably means: a misspelling, another case,
 * or missing words at the end. Pure.
 */
#ifndef PATTERND_NEAREST_H
#define PATTERND_NEAREST_H

#include "core/text.h"

/*
 * Returns the number of edits from one name to another (Damerau-Levenshtein, ignoring the case of
 * ASCII letters).
 */
enum { NEAREST_FAR = 255 }; /* too many edits: the name was hardly meant */
unsigned nearest_edits(struct text given, struct text known);

/*
 * A search: set `given` alone, then offer each known name. The given name itself is never found,
 * since it was refused.
 */
struct nearest {
	struct text given;
	const char *found; /* (ref) the best so far; NULL: none is near */
	unsigned edits;
};
void nearest_offer(struct nearest *n, const char *known);

/* Offers a name whose number of edits the caller has computed. */
void nearest_take(struct nearest *n, const char *known, unsigned edits);

/* Returns "; did you mean 'x'?", or "" if no name is near. */
enum { NEAREST_HINT = 96 };
const char *nearest_hint(const struct nearest *n, char buffer[NEAREST_HINT]);

#endif
