/*
 * ratelimit_authorize: decides for a reverse proxy, which asks about the request of its own client.
 * That client chose the request line and the headers, and wants to pass. So this file must not use
 * any of them except the header that has the key.
 */
#include <strings.h>

#include "rate_limits/address_keys.h"
#include "rate_limits/decide.h"
#include "rate_limits/policy_cache.h"

enum { KEY_BYTES = 200 };

/* True for headers whose values must not be stored in Redis or be listed. */
static bool is_credential(const char *header)
{
	static const char *const credentials[] = { "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key" };

	for (size_t i = 0; i < sizeof(credentials) / sizeof(credentials[0]); i++)
		if (strcasecmp(header, credentials[i]) == 0)
			return true;
	return false;
}

/*
 * Applies the rules of names. A value also must not look like the digest of another header's value.
 */
static bool is_key(struct text value)
{
	return value.len <= KEY_BYTES && text_is_utf8(value) && !text_has_control(value) &&
	       !memchr(value.at, '{', value.len) && !memchr(value.at, '}', value.len) && !text_is(value, ".") &&
	       !text_is(value, "..") && strncmp(value.at, "sha256:", 7) != 0;
}

/*
 * Returns the key; absent: the request was answered. A proxy may add its line to the client's: then
 * the first line would be the client's choice, and so would a list of both.
 */
static struct text key_from(struct request *req, const char *header, const struct limit_address *address,
			    struct limit_check *c)
{
	unsigned lines;
	/* libmicrohttpd 0.9.75 leaves blanks at the end, which are not part of the value. */
	struct text value = text_trimmed(req->asked.header(req, header, &lines));

	if (lines > 1) {
		answer_problem(req, P_MALFORMED_REQUEST,
			       "the header %s was sent more than once, and has the key: let the proxy replace it",
			       header);
		return (struct text){ 0 };
	}
	struct text found = address_keys_of_header(req, address, value);
	c->is_other = !found.at;
	if (found.at)
		return found;
	if (value.len == 0)
		return TEXT("-");
	if (is_key(value) && !is_credential(header))
		return arena_copy(&req->arena, value.at, value.len);
	struct text parts[] = { TEXT("sha256:"), seal_digest(req, value) };
	return arena_join(&req->arena, parts, 2);
}

/*
 * Sets the key from the header that the request, or else the policy, names. False: the request was
 * answered.
 */
static bool set_key(struct request *req, const struct limit_policy *policy)
{
	struct limit_request *limits = req->work;
	struct limit_check *c = &limits->checks[0];
	const char *header = limits->key_header.at ? limits->key_header.at : policy->key_header;

	if (c->key.at)
		return true;
	if (*header) {
		c->key = key_from(req, header, &policy->address, c);
		limits->header = header;
	} else {
		answer_field_problem(
			req, P_MISSING_FIELD, req->op->tail ? "{policy}" : "?key",
			req->op->tail ? "has no key_header; set it to the name of the header that has the key"
				      : "is required, unless ?key_header is given or the policy has a key_header");
	}
	return c->key.at != NULL;
}

/* Called when the policy is known. */
static void find_key(struct request *req)
{
	struct limit_request *limits = req->work;

	if (set_key(req, &limits->checks[0].policy))
		ratelimit_decide(req);
}

/*
 * If Redis did not return the policy, or did not decide, the policy that was known last may fail
 * open.
 */
static bool degrade(struct request *req, enum problem p, enum effect effect)
{
	struct limit_request *limits = req->work;
	const struct limit_policy *last = policy_cache_last(limits->checks[0].account.policy);

	if (!last || problem_row(p)->status < 500)
		return false;
	return !set_key(req, last) || ratelimit_degrade(req, p, effect);
}

static struct limit_request *take_one(struct request *req, struct text policy)
{
	struct limit_request *limits = limit_request_new(req, 1);

	if (limits) {
		limits->checks[0].name = limits->checks[0].account.policy = policy;
		limits->checks[0].cost = 1;
		req->fallback = degrade;
	}
	return limits;
}

void ratelimit_authorize(struct request *req, const struct ratelimit_authorize_input *in)
{
	if (in->key.at && in->key_header.at) {
		answer_field_problem(req, P_INVALID_VALUE, "?key_header", "cannot be combined with ?key");
		return;
	}
	struct limit_request *limits = take_one(req, in->policy);
	if (!limits)
		return;
	limits->checks[0].key = in->key;
	limits->key_at = "?key";
	limits->key_header = in->key_header;
	if (in->deny_status == RATELIMIT_AUTHORIZE_DENY_STATUS_403)
		limits->refusal = P_RATE_DENIED;
	policy_cache_fill(req, find_key);
}

void ratelimit_path_authorize(struct request *req, const struct ratelimit_path_authorize_input *in)
{
	if (take_one(req, in->policy))
		policy_cache_fill(req, find_key);
}
