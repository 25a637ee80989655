/* traceparent: the header `traceparent` of W3C Trace Context. Pure. */
#ifndef PATTERND_TRACEPARENT_H
#define PATTERND_TRACEPARENT_H

#include <stdbool.h>

#include "core/text.h"

enum { TRACEPARENT_LEN = 55 };

/*
 * True for <2 hex>-<32 hex>-<16 hex>-<2 hex> in lower case, if neither id is all zeros. Versions
 * later than 00 may append a dash and more.
 */
bool traceparent_is_valid(struct text t);

/* Returns the trace's id in a valid header; absent for an absent one. */
struct text traceparent_trace_id(struct text valid);

#endif
