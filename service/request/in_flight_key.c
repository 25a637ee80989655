#include "request/in_flight_key.h"

#include "request/answer.h"
#include "request/request.h"
#include "request/seal.h"

struct in_flight_key {
	struct text scope, digest; /* of seal_scope and seal_request */
	struct in_flight_key *next;
};

static struct in_flight_key *keys;

bool in_flight_key_is_free(struct request *req)
{
	struct text scope = keys ? seal_scope(req) : (struct text){ 0 };

	for (const struct in_flight_key *other = keys; other; other = other->next) {
		if (!text_equal(other->scope, scope))
			continue;
		if (text_equal(other->digest, seal_request(req)))
			answer_problem(req, P_REQUEST_IN_PROGRESS,
				       "the first request with this Idempotency-Key still waits");
		else
			answer_problem(
				req, P_IDEMPOTENCY_KEY_REUSED,
				"a request with this Idempotency-Key still waits, with another body (byte for byte) or "
				"header; use a new key for another request");
		return false;
	}
	return true;
}

struct in_flight_key *in_flight_key_add(struct request *req)
{
	struct in_flight_key *k = arena_alloc(&req->arena, sizeof(*k));
	struct text scope = seal_scope(req), digest = seal_request(req);

	if (!k || !scope.at || !digest.at)
		return NULL;
	*k = (struct in_flight_key){ scope, digest, keys };
	keys = k;
	return k;
}

void in_flight_key_remove(struct in_flight_key *k)
{
	struct in_flight_key **at = &keys;

	if (!k)
		return;
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
}
