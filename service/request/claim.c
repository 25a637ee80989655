/* claim: see claim.h. */
#include "request/claim.h"

#include <stdlib.h>
#include <string.h>

#include "request/answer.h"
#include "request/request.h"

struct claim {
	struct request *req; /* (ref) */
	struct text scope;   /* behind the struct */
	struct claim *next;
};

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

struct claim *claim_new(struct request *req)
{
	struct text scope = request_scope(req);
	struct claim *c = scope.at ? malloc(sizeof(*c) + scope.len) : NULL;

	if (!c)
		return NULL;
	*c = (struct claim){ req, { memcpy(c + 1, scope.at, scope.len), scope.len }, claims };
	claims = c;
	return c;
}

void claim_free(struct claim *c)
{
	struct claim **at = &claims;

	if (!c)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free(c);
}
