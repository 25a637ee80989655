/*
 * list_scan: one step of a list that reads keys by SCAN, or channels by PUBSUB. It must not know
 * kinds.
 */
#ifndef PATTERND_LIST_SCAN_H
#define PATTERND_LIST_SCAN_H

#include "call/listing.h"

/* Moves to a cursor, which is absent at the start. False: it is not a cursor of this list. */
bool list_scan_at(struct request *req, struct listing *l, struct text cursor);

/* Reads keys from there: adds to `found`, sets `next`, and calls `proceed` at the end. */
void list_scan(struct request *req, struct listing *l);

#endif
