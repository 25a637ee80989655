/*
 * nearest: which of several known names was probably meant by an unknown one: a misspelling,
 * another case, a unit that was left out.
 */
#ifndef PATTERND_NEAREST_H
#define PATTERND_NEAREST_H

#include "core/text.h"

/*
 * The number of edits (Damerau-Levenshtein, ignoring the case of ASCII letters) from one name to
 * another.
 */
enum { NEAREST_FAR = 255 }; /* too many: it was hardly meant */
unsigned nearest_edits(struct text given, struct text known);

/* A search. Begin with `given` alone, then offer each known name. */
struct nearest {
	struct text given;
	const char *found; /* (ref) the best so far; NULL: none is near */
	unsigned edits;
};
void nearest_offer(struct nearest *n, const char *known);

/* "; did you mean 'x'?", or "" when nothing was near. */
enum { NEAREST_HINT = 96 };
const char *nearest_hint(const struct nearest *n, char buffer[NEAREST_HINT]);

#endif
