/* traceparent: W3C Trace Context, the header `traceparent` of one request. */
#ifndef PATTERND_TRACEPARENT_H
#define PATTERND_TRACEPARENT_H

#include <stdbool.h>

#include "core/text.h"

enum { TRACEPARENT_LEN = 55 };

/*
 * True for <2 hex>-<32 hex>-<16 hex>-<2 hex> in lower case, no id all zeros. Of a later version
 * than 00 more may follow, after a dash.
 */
bool traceparent_is_valid(struct text t);

/* The trace's id in a valid one; absent in an absent one. */
struct text traceparent_trace_id(struct text valid);

#endif
