/* deprecation: see deprecation.h. */
#include "request/deprecation.h"

#include <assert.h>

#include "request/answer.h"
#include "request/operation.h"
#include "request/request.h"

/* Adds the path of the operation that replaces this one, with the names of this request. */
static void link_successor(struct request *req, const struct deprecation *d)
{
	struct text segments[MAX_PATH_SEGMENTS];
	size_t value = 0;

	assert(d->segment_count <= MAX_PATH_SEGMENTS);
	for (size_t i = 0; i < d->segment_count; i++) {
		bool is_parameter = d->successor[i].len == 0;
		segments[i] = is_parameter ? req->asked.path_values[value++] : d->successor[i];
	}
	const struct text parts[] = { TEXT("<"), answer_path(req, segments, d->segment_count),
				      TEXT(">; rel=\"successor-version\"") };
	if (parts[1].at)
		answer_header_parts(req, "Link", parts, sizeof(parts) / sizeof(parts[0]));
}

void deprecation_announce(struct request *req)
{
	const struct deprecation *d = req->op ? req->op->deprecation : NULL;

	if (!d)
		return;
	answer_header(req, "Deprecation", "%s", d->since);
	link_successor(req, d);
}
