/*
 * synonym: the words that other systems use for a field, a value or a segment of a path of the
 * contract (x-synonyms). It must not know operations.
 */
#ifndef PATTERND_SYNONYM_H
#define PATTERND_SYNONYM_H

#include "core/nearest.h"

/* Returns true if other systems use this word for the known name; ignores the case. */
bool synonym_is(struct text given, const char *known);

/* Offers a known name. A synonym of it counts as near as the name itself. */
void synonym_offer(struct nearest *n, const char *known);

#endif
