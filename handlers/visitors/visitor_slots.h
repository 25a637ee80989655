/* visitor_slots: counts or merges the sketches of pages that are in several slots of a Cluster. */
#ifndef PATTERND_VISITOR_SLOTS_H
#define PATTERND_VISITOR_SLOTS_H

#include "visitors/visitor_call.h"

/* Called with the visitors of all pages together, and of each page. It answers. */
typedef void (*visitor_slots_counted)(struct request *req, int64_t count, const int64_t *pages);
void visitor_slots_count(struct request *req, struct visitor_days *w, const struct slots *slots,
			 visitor_slots_counted answer);

/* `answer` is called with a reply in the form of uv_merge_sum.lua. */
void visitor_slots_merge(struct request *req, struct visitor_days *w, call_done answer);

#endif
