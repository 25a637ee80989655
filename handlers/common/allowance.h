/*
 * allowance: what a policy of rate limits admits, for patterns that spend one beside its own
 * callers.
 *
 * Owns the interface only. A pattern knows no other pattern: handlers/rate_limits provides the
 * functions before the first request (allowance_provide).
 */
#ifndef PATTERND_ALLOWANCE_H
#define PATTERND_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

struct call;
struct request;

struct allowance {
	bool exists;         /* false: there is no policy of that name */
	struct call *failed; /* Redis did not decide, and the policy does not fail open; else NULL */
	int64_t granted;     /* how much was taken */
	int64_t more_in_ms;  /* when there may be more; at least 1 where less was granted than asked for */
};

typedef void (*allowance_done)(struct request *req, const struct allowance *a);

struct allowance_provider {
	/* Whether there is such a policy. */
	void (*find)(struct request *req, struct text policy, allowance_done done);
	/*
	 * Takes as much as the policy admits for that key now, at most `most`. When `done` is
	 * called, req->work and req->on_disconnect are what they were before. Records nothing under
	 * an Idempotency-Key.
	 */
	void (*take)(struct request *req, struct text policy, struct text key, int64_t most, allowance_done done);
};

void allowance_provide(const struct allowance_provider *p);
/* NULL only before the first request. */
const struct allowance_provider *allowance(void);

#endif
