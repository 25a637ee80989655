/* list_scan: keys by SCAN, channels by PUBSUB; a step of a list. */
#ifndef PATTERND_LIST_SCAN_H
#define PATTERND_LIST_SCAN_H

#include "call/listing.h"

/* Moves to a cursor, absent at the start. False: it is none of this list's. */
bool list_scan_at(struct request *req, struct listing *l, struct text cursor);

/* Looks on from there: adds to `found`, sets `next`, and ends in `go_on`. */
void list_scan(struct request *req, struct listing *l);

#endif
