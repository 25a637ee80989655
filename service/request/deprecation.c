/* deprecation: see deprecation.h. */
#include "request/deprecation.h"

#include <assert.h>

#include "core/percent.h"
#include "request/answer.h"
#include "request/operation.h"
#include "request/request.h"

enum { MAX_SEGMENTS = 12 };

/* The path of what replaces the operation, with the names of this request. */
static void link_successor(struct request *req, const struct deprecation *d)
{
	struct text parts[2 * MAX_SEGMENTS + 2] = { TEXT("<") };
	size_t n = 1, value = 0;

	assert(d->segment_count <= MAX_SEGMENTS);
	for (size_t i = 0; i < d->segment_count; i++) {
		bool is_parameter = d->successor[i].len == 0;
		struct text segment = is_parameter ? req->asked.path_values[value++] : d->successor[i];
		char *encoded = arena_alloc(&req->arena, 3 * segment.len + 1);
		if (!encoded)
			return;
		parts[n++] = TEXT("/");
		parts[n++] = (struct text){ encoded, percent_encode(segment, encoded) };
	}
	parts[n++] = TEXT(">; rel=\"successor-version\"");
	answer_header_parts(req, "Link", parts, n);
}

void deprecation_announce(struct request *req)
{
	const struct deprecation *d = req->op ? req->op->deprecation : NULL;

	if (!d)
		return;
	answer_header(req, "Deprecation", "%s", d->since);
	link_successor(req, d);
}
