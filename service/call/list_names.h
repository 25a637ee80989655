/* list_names: names by their index; a step of a list. */
#ifndef PATTERND_LIST_NAMES_H
#define PATTERND_LIST_NAMES_H

#include "call/listing.h"

/* Moves to a cursor, absent at the start. False: it is none of this list's. */
bool list_names_at(struct request *req, struct listing *l, struct text cursor);

/* Looks on from there: adds to `found`, sets `next`, and ends in `go_on`. */
void list_names(struct request *req, struct listing *l);

#endif
