/* several_pages: sketches of pages that lie in several slots of a Cluster. */
#ifndef PATTERND_SEVERAL_PAGES_H
#define PATTERND_SEVERAL_PAGES_H

#include "visitors/visitor_call.h"

/* Answers, given the visitors of all pages, and of each. */
typedef void (*several_pages_counted)(struct request *req, int64_t count, const int64_t *pages);
void several_pages_count(struct request *req, struct visitor_days *w, const struct slots *slots,
			 several_pages_counted answer);

/* `answer` gets the reply of uv_merge_sum.lua. */
void several_pages_merge(struct request *req, struct visitor_days *w, call_done answer);

#endif
