/* claim: see claim.h. */
#include "claim.h"

#include <stdlib.h>
#include <string.h>

#include "request.h"

static struct claim *claims;

bool claim_is_free(struct request *req)
{
	struct text scope = claims ? request_scope(req) : (struct text){ 0 };

	for (const struct claim *other = claims; other; other = other->next) {
		if (!text_equal(other->scope, scope))
			continue;
		if (text_equal(other->req->body, req->body))
			answer_problem(req, P_IN_PROGRESS, "the first request with this Idempotency-Key still waits");
		else
			answer_problem(req, P_IDEMPOTENCY_KEY_REUSED,
				       "this Idempotency-Key came with another body before");
		return false;
	}
	return true;
}

bool claim_make(struct claim *c, struct request *req)
{
	struct text scope = request_scope(req);
	char *copy = scope.at ? malloc(scope.len + 1) : NULL;

	if (!copy)
		return false;
	c->req = req;
	c->scope = (struct text){ memcpy(copy, scope.at, scope.len), scope.len };
	c->next = claims;
	claims = c;
	return true;
}

void claim_drop(struct claim *c)
{
	struct claim **at = &claims;

	if (!c->scope.at)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free((void *)(uintptr_t)c->scope.at);
}
