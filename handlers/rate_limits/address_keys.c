/* address_keys: see rate_limits/address_keys.h. */
#include "rate_limits/address_keys.h"

#include "core/ip.h"

/*
 * Returns the canonical key; absent: the key is not an address. It may be a network that is not
 * larger than the policy's networks, so a key that an answer returned can be sent again.
 */
static struct text canonical(struct request *req, const struct limit_address *a, struct text key)
{
	char written[IP_TEXT];
	struct ip ip;

	if (!ip_read(key, &ip))
		return (struct text){ 0 };
	int prefix = ip.bits == 128 ? a->ipv6_prefix : a->ipv4_prefix;
	if (ip.prefix < prefix)
		return (struct text){ 0 };
	return text_of(arena_printf(&req->arena, "%s", ip_write(&ip, prefix, written)).at);
}

static void refuse(struct request *req, const struct limit_request *limits, const struct limit_check *c)
{
	char at[PLAIN_NAME_MAX + 2] = "/key";

	if (limits->several)
		snprintf(at, sizeof(at), "/checks/%zu/key", (size_t)(c - limits->checks));
	else if (limits->header)
		snprintf(at, sizeof(at), "%s:", limits->header);
	else if (limits->key_at)
		snprintf(at, sizeof(at), "%s", limits->key_at);
	answer_field_problem(req, P_INVALID_VALUE, at,
			     "is '%s', which is not a network address; policy '%s' limits addresses only%s",
			     c->given.at, c->account.policy.at,
			     memchr(c->given.at, ',', c->given.len)
				     ? ", and from_right of its `address` names one in the list of a header"
				     : "");
}

/* Two spellings may be one key. ratelimit_take_all.lua needs each state once. */
static bool are_distinct(struct request *req, const struct limit_request *limits, const struct limit_check *c)
{
	char at[32];

	for (const struct limit_check *other = limits->checks; other < c; other++) {
		if (!other->account.policy.at || !text_equal(other->account.policy, c->account.policy) ||
		    !text_equal(other->key, c->key))
			continue;
		snprintf(at, sizeof(at), "/checks/%zu", (size_t)(c - limits->checks));
		answer_field_problem(req, P_INVALID_VALUE, at,
				     "counts '%s' under '%s', as does /checks/%zu; use each policy once per key",
				     c->key.at, c->account.policy.at, (size_t)(other - limits->checks));
		return false;
	}
	return true;
}

/* The policy may have changed since an earlier attempt, so the given key is read again. */
bool address_keys_apply(struct request *req, struct limit_request *limits)
{
	for (size_t i = 0; i < limits->count; i++) {
		struct limit_check *c = &limits->checks[i];
		const struct limit_address *a = &c->policy.address;
		if (!c->given.at)
			c->given = c->key;
		c->key = c->given;
		if (!c->account.policy.at || !a->ipv6_prefix)
			continue;
		struct text key = c->is_other ? (struct text){ 0 } : canonical(req, a, c->given);
		if (req->arena.failed) {
			answer_no_memory(req, EFFECT_NONE);
			return false;
		}
		if (key.at)
			c->key = key;
		else if (!a->keep_other) {
			refuse(req, limits, c);
			return false;
		}
		if (!are_distinct(req, limits, c))
			return false;
	}
	return true;
}

void address_keys_apply_own(struct request *req, struct limit_check *c)
{
	struct text key =
		c->policy.address.ipv6_prefix ? canonical(req, &c->policy.address, c->key) : (struct text){ 0 };

	if (key.at)
		c->key = key;
}

struct text address_keys_of_header(struct request *req, const struct limit_address *a, struct text value)
{
	struct text one = value;

	if (!a->ipv6_prefix)
		return (struct text){ 0 };
	for (int i = 1; i <= a->from_right; i++) {
		const char *comma = value.len ? memrchr(value.at, ',', value.len) : NULL;
		if (!comma && i < a->from_right)
			return (struct text){ 0 };
		size_t before = comma ? (size_t)(comma - value.at) : 0;
		one = comma ? (struct text){ comma + 1, value.len - before - 1 } : value;
		value.len = before;
	}
	return canonical(req, a, text_trimmed(one));
}
