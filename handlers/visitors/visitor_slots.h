/* visitor_slots: sketches of pages that lie in several slots of a Cluster. */
#ifndef PATTERND_VISITOR_SLOTS_H
#define PATTERND_VISITOR_SLOTS_H

#include "visitors/visitor_call.h"

/* Answers, given the visitors of all pages, and of each. */
typedef void (*visitor_slots_counted)(struct request *req, int64_t count, const int64_t *pages);
void visitor_slots_count(struct request *req, struct visitor_days *w, const struct slots *slots,
			 visitor_slots_counted answer);

/* `answer` gets the reply of uv_merge_sum.lua. */
void visitor_slots_merge(struct request *req, struct visitor_days *w, call_done answer);

#endif
