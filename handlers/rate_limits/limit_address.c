/* limit_address: see rate_limits/limit_address.h. */
#include "rate_limits/limit_address.h"

/* The bounds and defaults of the contract. */
enum { IPV6_MOST = 128, IPV4_MOST = 32, FROM_RIGHT_MOST = 16, IPV6_DEFAULT = 64, IPV4_DEFAULT = 32 };

void limit_address_write(struct json_out *o, const struct limit_address *a)
{
	if (!a->ipv6_prefix) {
		out_null(o, "address");
		return;
	}
	out_object(o, "address");
	out_int(o, "ipv6_prefix", a->ipv6_prefix);
	out_int(o, "ipv4_prefix", a->ipv4_prefix);
	out_string(o, "other", a->keep_other ? "keep" : "refuse");
	out_int_or_null(o, "from_right", a->from_right, a->from_right);
	out_close(o);
}

/* ---- Stored ---- */

struct text limit_address_stored(struct request *req, const char *algorithm, const struct limit_address *a)
{
	if (!a->ipv6_prefix)
		return text_of(algorithm);
	return arena_printf(&req->arena, "%s address %d %d %s %d", algorithm, a->ipv6_prefix, a->ipv4_prefix,
			    a->keep_other ? "keep" : "refuse", a->from_right);
}

/* False: the next word of the text is not a number from `low` to `most`. */
static bool parse_number(struct text *rest, int low, int most, int *out)
{
	*out = text_u16(text_cut(rest, ' '));
	return *out >= low && *out <= most;
}

bool limit_address_parse(struct text stored, struct limit_address *out)
{
	*out = (struct limit_address){ 0 };
	if (!stored.at)
		return true;
	if (!text_is(text_cut(&stored, ' '), "address") || !parse_number(&stored, 1, IPV6_MOST, &out->ipv6_prefix) ||
	    !parse_number(&stored, 1, IPV4_MOST, &out->ipv4_prefix))
		return false;
	struct text other = text_cut(&stored, ' ');
	out->keep_other = text_is(other, "keep");
	return (out->keep_other || text_is(other, "refuse")) &&
	       parse_number(&stored, 0, FROM_RIGHT_MOST, &out->from_right) && !stored.at;
}

/* ---- Given ---- */

void limit_address_of_input(const struct ratelimit_policy_put_input *in, struct limit_address *out)
{
	*out = (struct limit_address){ 0 };
	if (in->has_address)
		*out = (struct limit_address){
			.ipv6_prefix = (int)in->address.ipv6_prefix,
			.ipv4_prefix = (int)in->address.ipv4_prefix,
			.keep_other = in->address.other == RATELIMIT_POLICY_PUT_ADDRESS_OTHER_KEEP,
			.from_right = in->address.has_from_right ? (int)in->address.from_right : 0,
		};
}

void limit_address_merge(const struct ratelimit_policy_patch_input *in, struct limit_address *out)
{
	const struct ratelimit_policy_patch_address *a = &in->address;

	if (in->reset_address)
		*out = (struct limit_address){ 0 };
	if (!in->has_address)
		return;
	if (!out->ipv6_prefix)
		*out = (struct limit_address){ .ipv6_prefix = IPV6_DEFAULT, .ipv4_prefix = IPV4_DEFAULT };
	if (a->has_ipv6_prefix || a->reset_ipv6_prefix)
		out->ipv6_prefix = a->has_ipv6_prefix ? (int)a->ipv6_prefix : IPV6_DEFAULT;
	if (a->has_ipv4_prefix || a->reset_ipv4_prefix)
		out->ipv4_prefix = a->has_ipv4_prefix ? (int)a->ipv4_prefix : IPV4_DEFAULT;
	if (a->has_other || a->reset_other)
		out->keep_other = a->has_other && a->other == RATELIMIT_POLICY_PATCH_ADDRESS_OTHER_KEEP;
	if (a->has_from_right || a->reset_from_right)
		out->from_right = a->has_from_right ? (int)a->from_right : 0;
}
