/*
 * synonym: the words by which other systems call a field or a value of the contract (x-synonyms).
 */
#ifndef PATTERND_SYNONYM_H
#define PATTERND_SYNONYM_H

#include "core/nearest.h"

/* Offers a known name: a synonym of it is as near as the name itself. */
void synonym_offer(struct nearest *n, const char *known);

#endif
