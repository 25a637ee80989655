/*
 * sales: a stock that is for sale between two instants, and claims on it. Each operation is one
 * script (lua/sales/sale_*.lua); one that settled as many expired holds as it may, and could not
 * decide yet, is called again.
 */
#include <inttypes.h>

#include "handler.h"
#include "kinds.h"

enum { NONCE_DIGITS = 16 };

/* In the order of the contract's enum, from 1. */
static const char *const state_names[] = { NULL, "upcoming", "open", "closed" };
enum { UPCOMING = SALE_LIST_STATE_UPCOMING, OPEN = SALE_LIST_STATE_OPEN, CLOSED = SALE_LIST_STATE_CLOSED };

static struct call *sale_call(struct request *req, const struct script *s, struct text sale)
{
	static const char *const parts[] = { NULL, "claims", "holds", "users" };
	struct call *c = script_call(req, s);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		call_key(c, KEY_SALE, sale, parts[i]);
	return c;
}

static void answer_no_sale(struct request *req, struct text sale)
{
	answer_problem(req, P_NOT_FOUND, "sale '%s' does not exist", sale.at);
}

static void answer_no_claim(struct request *req, struct text sale, struct text claim)
{
	answer_problem(req, P_NOT_FOUND, "'%s' is not a claim of sale '%s'", claim.at, sale.at);
}

static void answer_claim_expired(struct request *req, struct text claim)
{
	answer_problem(req, P_CLAIM_EXPIRED, "the hold of claim '%s' has expired or was released", claim.at);
}

/* `closes_at_ms` is 0 for a sale that never closes. */
static int state_of(const struct request *req, int64_t opens_at_ms, int64_t closes_at_ms)
{
	if (closes_at_ms && req->now_ms >= closes_at_ms)
		return CLOSED;
	return req->now_ms < opens_at_ms ? UPCOMING : OPEN;
}

/* The members of an open object, from the reply of a script. */
static void write_sale(struct json_out *o, struct request *req, struct text sale, const struct reply *r)
{
	int64_t stock = reply_int(r, 4), held = reply_int(r, 7), confirmed = reply_int(r, 8);

	out_text(o, "sale", sale);
	out_string(o, "state", state_names[state_of(req, reply_int(r, 2), reply_int(r, 3))]);
	out_int(o, "opens_at_ms", reply_int(r, 2));
	out_int_or_null(o, "closes_at_ms", reply_int(r, 3) != 0, reply_int(r, 3));
	out_int(o, "stock", stock);
	out_int_or_null(o, "per_user", reply_int(r, 5) != 0, reply_int(r, 5));
	out_int(o, "hold_ms", reply_int(r, 6));
	out_int(o, "remaining", stock - held - confirmed);
	out_int(o, "held", held);
	out_int(o, "confirmed", confirmed);
}

/* ---- PUT, GET /sales/{sale}, GET /sales ---- */

static void configure(struct request *req);

static void on_configured(struct request *req, const struct reply *r)
{
	const struct sale_put_input *in = req->input;
	int64_t outcome = reply_int(r, 0), held = reply_int(r, 7), confirmed = reply_int(r, 8);

	if (outcome > 0) {
		write_sale(answer_begin(req, outcome == 2 ? 201 : 200), req, in->sale, r);
		answer_end(req);
	} else if (outcome == 0) {
		configure(req);
	} else {
		struct json_out *o = problem_begin(req, P_STOCK_BELOW_SOLD,
						   "a stock of %" PRId64 " is below the %" PRId64
						   " of sale '%s' that are sold or held",
						   in->stock, held + confirmed, in->sale.at);
		out_int(o, "held", held);
		out_int(o, "confirmed", confirmed);
		problem_end(req);
	}
}

static void configure(struct request *req)
{
	const struct sale_put_input *in = req->input;
	struct call *c = sale_call(req, &sale_put_script, in->sale);

	call_int(c, in->opens_at_ms);
	call_int(c, in->has_closes_at_ms ? in->closes_at_ms : 0);
	call_int(c, in->stock);
	call_int(c, in->has_per_user ? in->per_user : 0);
	call_int(c, in->hold_ms);
	call_send(c, on_configured);
}

void sale_put(struct request *req, const struct sale_put_input *in)
{
	if (in->has_closes_at_ms && in->closes_at_ms <= in->opens_at_ms)
		answer_field_problem(req, P_INVALID_VALUE, "/closes_at_ms", "must be after opens_at_ms");
	else
		configure(req);
}

static void get(struct request *req);

static void on_state(struct request *req, const struct reply *r)
{
	const struct sale_get_input *in = req->input;

	if (reply_int(r, 0) < 0) {
		answer_no_sale(req, in->sale);
	} else if (reply_int(r, 9) > 0) {
		get(req);
	} else {
		write_sale(answer_begin(req, 200), req, in->sale, r);
		answer_end(req);
	}
}

static void get(struct request *req)
{
	const struct sale_get_input *in = req->input;

	call_send(sale_call(req, &sale_get_script, in->sale), on_state);
}

void sale_get(struct request *req, const struct sale_get_input *in)
{
	(void)in; /* get() finds it in the request, at each of its steps */
	get(req);
}

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return sale_call(req, &sale_get_script, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	const struct sale_list_input *in = req->input;

	(void)part;
	if (reply_int(r, 0) < 0)
		return;
	if (in->state && (int)in->state != state_of(req, reply_int(r, 2), reply_int(r, 3)))
		return;
	out_object(o, NULL);
	write_sale(o, req, name, r);
	out_close(o);
}

void sale_list(struct request *req, const struct sale_list_input *in)
{
	static const struct list_of sales = { .kind = KEY_SALE, .look = get_one, .item = item_of };

	list_keys(req, &sales, in->match, in->cursor, in->limit);
}

/* ---- POST /sales/{sale}/claims ---- */

static void claim(struct request *req);

static void answer_not_open(struct request *req, struct text sale, int64_t opens_at_ms, int64_t closes_at_ms)
{
	int state = state_of(req, opens_at_ms, closes_at_ms);
	int64_t wait_ms = request_ms_until(req, opens_at_ms);
	struct json_out *o;

	if (state == CLOSED) {
		o = problem_begin(req, P_SALE_NOT_OPEN, "sale '%s' has closed", sale.at);
	} else {
		answer_retry_after_ms(req, wait_ms);
		o = problem_begin(req, P_SALE_NOT_OPEN, "sale '%s' opens in %" PRId64 " ms", sale.at, wait_ms);
	}
	out_string(o, "state", state_names[state]);
	out_int(o, "opens_at_ms", opens_at_ms);
	out_int_or_null(o, "closes_at_ms", closes_at_ms != 0, closes_at_ms);
	problem_end(req);
}

static void answer_limit_reached(struct request *req, const struct sale_claim_input *in, int64_t has, int64_t per_user)
{
	struct json_out *o = problem_begin(req, P_SALE_LIMIT_REACHED,
					   "user '%s' has %" PRId64 " of sale '%s' and asks for %" PRId64
					   " more; per_user allows %" PRId64,
					   in->user.at, has, in->sale.at, in->quantity, per_user);

	out_int(o, "claimed", has);
	out_int(o, "per_user", per_user);
	problem_end(req);
}

static void answer_sold_out(struct request *req, const struct sale_claim_input *in, int64_t remaining, int64_t held)
{
	struct json_out *o = problem_begin(req, P_SALE_SOLD_OUT, "sale '%s' has %" PRId64 " left, and %" PRId64 " held",
					   in->sale.at, remaining, held);

	out_int(o, "remaining", remaining);
	out_int(o, "held", held);
	problem_end(req);
}

static void on_granted(struct request *req, const struct reply *r)
{
	const struct sale_claim_input *in = req->input;
	struct text claim = reply_text(r, 2);
	int64_t expires_at_ms = reply_int(r, 3);

	if (!req->result->replayed && request_is_past(req, expires_at_ms)) {
		answer_problem_effect(req, P_CLAIM_EXPIRED, EFFECT_APPLIED,
				      "the original request succeeded, but claim '%s' of sale '%s' has expired",
				      claim.at, in->sale.at);
		return;
	}
	struct json_out *o = answer_begin(req, 201);
	out_text(o, "claim", claim);
	out_text(o, "sale", in->sale);
	out_text(o, "user", in->user);
	out_int(o, "quantity", in->quantity);
	out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
	out_int(o, "expires_at_ms", expires_at_ms);
	out_int(o, "remaining", reply_int(r, 4));
	answer_end(req);
}

static void on_claimed(struct request *req, const struct reply *r)
{
	const struct sale_claim_input *in = req->input;

	switch (reply_int(r, 0)) {
	case 0:
		claim(req);
		return;
	case -1:
		answer_no_sale(req, in->sale);
		return;
	case -2:
		answer_not_open(req, in->sale, reply_int(r, 2), reply_int(r, 3));
		return;
	case -3:
		answer_limit_reached(req, in, reply_int(r, 2), reply_int(r, 3));
		return;
	case -4:
		answer_sold_out(req, in, reply_int(r, 2), reply_int(r, 3));
		return;
	default:
		on_granted(req, r);
	}
}

static void claim(struct request *req)
{
	const struct sale_claim_input *in = req->input;
	struct call *c = sale_call(req, &sale_claim_script, in->sale);

	call_text(c, handler_random(req, NONCE_DIGITS));
	call_text(c, in->user);
	call_int(c, in->quantity);
	call_send(c, on_claimed);
}

void sale_claim(struct request *req, const struct sale_claim_input *in)
{
	(void)in; /* claim() finds it in the request, at each of its steps */
	claim(req);
}

/* ---- POST /sales/{sale}/claims/{claim}/confirm, DELETE /sales/{sale}/claims/{claim} ---- */

static void on_confirmed(struct request *req, const struct reply *r)
{
	const struct sale_claim_confirm_input *in = req->input;

	switch (reply_int(r, 0)) {
	case -1:
		answer_no_sale(req, in->sale);
		return;
	case -2:
		answer_no_claim(req, in->sale, in->claim);
		return;
	case -3:
		answer_claim_expired(req, in->claim);
		return;
	default:
		break;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "claim", in->claim);
	out_text(o, "sale", in->sale);
	out_text(o, "user", reply_text(r, 2));
	out_int(o, "quantity", reply_int(r, 3));
	out_bool(o, "confirmed", true);
	answer_end(req);
}

void sale_claim_confirm(struct request *req, const struct sale_claim_confirm_input *in)
{
	struct call *c = sale_call(req, &sale_claim_confirm_script, in->sale);

	call_text(c, in->claim);
	call_send(c, on_confirmed);
}

static void on_given_back(struct request *req, const struct reply *r)
{
	const struct sale_claim_release_input *in = req->input;

	switch (reply_int(r, 0)) {
	case -1:
		answer_no_sale(req, in->sale);
		break;
	case -2:
		answer_no_claim(req, in->sale, in->claim);
		break;
	case -4:
		answer_claim_expired(req, in->claim);
		break;
	case -3:
		answer_problem(req, P_CLAIM_CONFIRMED, "claim '%s' is confirmed and cannot be released", in->claim.at);
		break;
	default:
		answer_empty(req, 204);
	}
}

void sale_claim_release(struct request *req, const struct sale_claim_release_input *in)
{
	struct call *c = sale_call(req, &sale_claim_release_script, in->sale);

	call_text(c, in->claim);
	call_send(c, on_given_back);
}
