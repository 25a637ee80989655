/* list_names: names by their index; a step of a list. */
#ifndef PATTERND_LIST_NAMES_H
#define PATTERND_LIST_NAMES_H

#include "call/listing.h"

/* Moves to a cursor, absent at the start. False: it is not a cursor of this list. */
bool list_names_at(struct request *req, struct listing *l, struct text cursor);

/* Reads on from there: adds to `found`, sets `next`, and calls `go_on` at the end. */
void list_names(struct request *req, struct listing *l);

#endif
