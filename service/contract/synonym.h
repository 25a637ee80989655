/*
 * synonym: the words that other systems use for a field or a value of the contract (x-synonyms). It
 * must not know operations.
 */
#ifndef PATTERND_SYNONYM_H
#define PATTERND_SYNONYM_H

#include "core/nearest.h"

/* Offers a known name. A synonym of it counts as near as the name itself. */
void synonym_offer(struct nearest *n, const char *known);

#endif
