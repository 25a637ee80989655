/*
 * allowance: how a pattern spends a rate-limit policy, for example a queue with a `policy`.
 *
 * It owns the interface only, since a pattern does not know another one: handlers/rate_limits
 * provides the functions before the first request (allowance_provide). This file must not know how
 * a policy decides.
 */
#ifndef PATTERND_ALLOWANCE_H
#define PATTERND_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

struct call;
struct request;

struct allowance {
	bool exists;         /* false: no policy has that name */
	struct call *failed; /* Redis did not decide, and the policy does not fail open; else NULL */
	int64_t granted;     /* the amount that was taken */
	int64_t more_in_ms;  /* when more may be available; at least 1 if less was granted than requested */
};

typedef void (*allowance_done)(struct request *req, const struct allowance *a);

struct allowance_provider {
	/* Looks whether the policy exists. */
	void (*find)(struct request *req, struct text policy, allowance_done done);
	/*
	 * Takes as much as the policy admits for that key now, but not more than `most`. When
	 * `done` is called, req->work and req->on_disconnect have their earlier values again. The
	 * call writes no record under the request's Idempotency-Key.
	 */
	void (*take)(struct request *req, struct text policy, struct text key, int64_t most, allowance_done done);
};

void allowance_provide(const struct allowance_provider *p);
/* Returns NULL only before the first request. */
const struct allowance_provider *allowance(void);

#endif
