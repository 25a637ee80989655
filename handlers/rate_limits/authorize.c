/*
 * ratelimit_authorize: a reverse proxy asks on behalf of its client, whose request line and headers these are.
 *
 * Must never take anything from those but the one header that names the key: whoever sent them would like to pass.
 */
#include <strings.h>

#include "rate_limits/rate_limits.h"

enum { KEY_BYTES = 200 };

/* What must not lie about in Redis, nor be listed. */
static bool is_credential(const char *header)
{
	static const char *const credentials[] = { "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key" };

	for (size_t i = 0; i < sizeof(credentials) / sizeof(credentials[0]); i++)
		if (strcasecmp(header, credentials[i]) == 0)
			return true;
	return false;
}

/* The rule of names; and nobody can spell what another's digest is. */
static bool is_key(struct text value)
{
	return value.len <= KEY_BYTES && text_is_utf8(value) && !text_has_control(value) &&
	       !memchr(value.at, '{', value.len) && !memchr(value.at, '}', value.len) && !text_is(value, ".") &&
	       !text_is(value, "..") && strncmp(value.at, "sha256:", 7) != 0;
}

/* Blanks around it are not part of a header's value (RFC 9110 section 5.5); libmicrohttpd 0.9.75 leaves those behind it. */
static struct text trimmed(struct text value)
{
	while (value.len && strchr(" \t", value.at[value.len - 1]))
		value.len--;
	return value;
}

static struct text key_from(struct request *req, const char *header)
{
	struct text value = trimmed(req->header(req, header));

	if (value.len == 0)
		return TEXT("-");
	if (is_key(value) && !is_credential(header))
		return arena_copy(&req->arena, value.at, value.len);
	struct text parts[] = { TEXT("sha256:"), request_digest(req, value) };
	return arena_join(&req->arena, parts, 2);
}

/* The policy is known: it may name the header. */
static void find_key(struct request *req)
{
	struct take *t = req->work;
	struct check *c = &t->checks[0];
	const char *header = t->key_header.at ? t->key_header.at : c->policy.key_header;

	if (!c->key.at && !*header) {
		answer_field_problem(req, P_MISSING_FIELD, req->op->tail ? "{policy}" : "?key",
				     req->op->tail ? "has no key_header, which would name the header that has the key"
						   : "is required, or ?key_header=, or a policy that has a key_header");
		return;
	}
	if (!c->key.at)
		c->key = key_from(req, header);
	ratelimit_decide(req);
}

static struct take *take_one(struct request *req, struct text policy)
{
	struct take *t = take_new(req, 1);

	if (t) {
		t->checks[0].name = t->checks[0].policy_name = t->checks[0].owner = policy;
		t->checks[0].cost = 1;
		req->stand_in = ratelimit_degrade;
	}
	return t;
}

void ratelimit_authorize(struct request *req, const struct ratelimit_authorize_input *in)
{
	if (in->key.at && in->key_header.at) {
		answer_field_problem(req, P_INVALID_VALUE, "?key_header", "stands beside ?key; give one of them");
		return;
	}
	struct take *t = take_one(req, in->policy);
	if (!t)
		return;
	t->checks[0].key = in->key;
	t->key_header = in->key_header;
	if (in->deny_status == RATELIMIT_AUTHORIZE_DENY_STATUS_403)
		t->refusal = P_RATE_DENIED;
	policies_fill(req, find_key);
}

void ratelimit_authorize_path(struct request *req, const struct ratelimit_authorize_path_input *in)
{
	if (take_one(req, in->policy))
		policies_fill(req, find_key);
}
