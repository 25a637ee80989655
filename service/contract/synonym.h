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

/* Return true for the name of a duration, or of an instant. */
bool synonym_is_duration(const char *known);
bool synonym_is_instant(const char *known);

/* Returns what to add to a hint: the unit, if the given name may have another; else "". */
const char *synonym_unit(const struct nearest *n);

#endif
