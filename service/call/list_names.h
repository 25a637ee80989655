/* list_names: one step of a list that reads names from their index. It must not know kinds. */
#ifndef PATTERND_LIST_NAMES_H
#define PATTERND_LIST_NAMES_H

#include "call/listing.h"

/* Moves to a cursor, which is absent at the start. False: it is not a cursor of this list. */
bool list_names_at(struct request *req, struct listing *l, struct text cursor);

/* Reads the names from there: adds to `found`, sets `next`, and calls `proceed` at the end. */
void list_names(struct request *req, struct listing *l);

#endif
