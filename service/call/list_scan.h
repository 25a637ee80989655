/* list_scan: keys by SCAN, channels by PUBSUB; a step of a list. */
#ifndef PATTERND_LIST_SCAN_H
#define PATTERND_LIST_SCAN_H

#include "call/listing.h"

/* Moves to a cursor, absent at the start. False: it is not a cursor of this list. */
bool list_scan_at(struct request *req, struct listing *l, struct text cursor);

/* Reads on from there: adds to `found`, sets `next`, and calls `go_on` at the end. */
void list_scan(struct request *req, struct listing *l);

#endif
