/*
 * claims: claims on the stock of a sale; see sales.h. Each operation is one script
 * (lua/sales/sale_claim_*.lua), which is called again while it settles expired holds. Only the
 * scripts decide which claim is granted, and which holds have expired.
 */
#include <inttypes.h>

#include "sales/sales.h"

enum { NONCE_DIGITS = 16 };

static void answer_no_claim(struct request *req, struct text sale, struct text claim)
{
	answer_problem(req, P_NOT_FOUND, "'%s' is not a claim of sale '%s'", claim.at, sale.at);
}

static void answer_claim_expired(struct request *req, struct text claim)
{
	answer_problem(req, P_CLAIM_EXPIRED, "the hold of claim '%s' has expired or was released", claim.at);
}

static void out_claim(struct json_out *o, struct text claim, struct text state, struct text user, int64_t quantity,
		      int64_t expires_at_ms)
{
	out_text(o, "claim", claim);
	out_text(o, "state", state);
	out_text(o, "user", user);
	out_int(o, "quantity", quantity);
	out_int_or_null(o, "expires_at_ms", text_is(state, "held"), expires_at_ms);
}

/* ---- GET /sales/{name}/claims ---- */

static void on_listed(struct request *req, const struct reply *r)
{
	const struct sale_claim_list_input *in = req->input;

	if (reply_outcome(r) == SALE_CLAIM_LIST_NO_SALE) {
		handler_answer_missing(req, "sale", in->name);
		return;
	} else if (reply_outcome(r) == SALE_CLAIM_LIST_NO_CURSOR) {
		handler_answer_cursor(req);
		return;
	}
	struct text cursor = reply_text(r, SALE_CLAIM_LIST_NEXT_CURSOR);
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = SALE_CLAIM_LIST_CLAIMS; i < r->count; i += SALE_CLAIM_ITEMS) {
		out_object(o, NULL);
		out_claim(o, reply_text(r, i + SALE_CLAIM_CLAIM), reply_text(r, i + SALE_CLAIM_STATE),
			  reply_text(r, i + SALE_CLAIM_USER), reply_int(r, i + SALE_CLAIM_QUANTITY),
			  reply_int(r, i + SALE_CLAIM_EXPIRES_AT_MS));
		out_close(o);
	}
	out_close(o);
	out_text(o, "next_cursor", text_is(cursor, "0") ? (struct text){ 0 } : cursor);
	answer_end(req);
}

void sale_claim_list(struct request *req, const struct sale_claim_list_input *in)
{
	struct call *c = sale_call(req, &sale_claim_list_script, in->name);

	call_text(c, in->cursor.at ? in->cursor : TEXT("0"));
	call_int(c, in->limit);
	call_send(c, on_listed);
}

/* ---- GET /sales/{name}/claims/{claim} ---- */

static void on_claim(struct request *req, const struct reply *r)
{
	const struct sale_claim_get_input *in = req->input;

	switch (reply_outcome(r)) {
	case SALE_CLAIM_GET_NO_SALE:
		handler_answer_missing(req, "sale", in->name);
		return;
	case SALE_CLAIM_GET_ABSENT:
		answer_no_claim(req, in->name, in->claim);
		return;
	case SALE_CLAIM_GET_EXPIRED:
		answer_claim_expired(req, in->claim);
		return;
	default:
		break;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_claim(o, in->claim, reply_text(r, SALE_CLAIM_GET_STATE), reply_text(r, SALE_CLAIM_GET_USER),
		  reply_int(r, SALE_CLAIM_GET_QUANTITY), reply_int(r, SALE_CLAIM_GET_EXPIRES_AT_MS));
	answer_end(req);
}

void sale_claim_get(struct request *req, const struct sale_claim_get_input *in)
{
	struct call *c = sale_call(req, &sale_claim_get_script, in->name);

	call_text(c, in->claim);
	call_send(c, on_claim);
}

/* ---- POST /sales/{name}/claims ---- */

static void answer_not_open(struct request *req, struct text sale, int64_t opens_at_ms, int64_t closes_at_ms)
{
	int state = sale_state(req, opens_at_ms, closes_at_ms);
	int64_t wait_ms = request_ms_until(req, opens_at_ms);
	struct json_out *o;

	if (state == SALE_CLOSED) {
		o = answer_begin_problem(req, P_SALE_NOT_OPEN, "sale '%s' has closed", sale.at);
	} else {
		answer_retry_after_ms(req, wait_ms);
		o = answer_begin_problem(req, P_SALE_NOT_OPEN, "sale '%s' opens in %" PRId64 " ms", sale.at, wait_ms);
	}
	out_string(o, "state", sale_state_names[state]);
	sale_out_setting(o, "opens_at_ms", opens_at_ms);
	sale_out_setting(o, "closes_at_ms", closes_at_ms);
	answer_end(req);
}

static void answer_limit_reached(struct request *req, const struct sale_claim_acquire_input *in, int64_t has,
				 int64_t per_user)
{
	struct json_out *o = answer_begin_problem(req, P_SALE_LIMIT_REACHED,
						  "user '%s' has %" PRId64 " of sale '%s' and asks for %" PRId64
						  " more; per_user allows %" PRId64,
						  in->user.at, has, in->name.at, in->quantity, per_user);

	out_int(o, "claimed", has);
	out_int(o, "per_user", per_user);
	answer_end(req);
}

static void answer_sold_out(struct request *req, const struct sale_claim_acquire_input *in, int64_t remaining,
			    int64_t held)
{
	struct json_out *o =
		answer_begin_problem(req, P_SALE_SOLD_OUT, "sale '%s' has %" PRId64 " left, and %" PRId64 " held",
				     in->name.at, remaining, held);

	out_int(o, "remaining", remaining);
	out_int(o, "held", held);
	answer_end(req);
}

static void on_granted(struct request *req, const struct reply *r)
{
	const struct sale_claim_acquire_input *in = req->input;
	struct text claim = reply_text(r, SALE_CLAIM_ACQUIRE_CLAIM);
	int64_t expires_at_ms = reply_int(r, SALE_CLAIM_ACQUIRE_EXPIRES_AT_MS);

	if (!req->result->replayed && request_is_past(req, expires_at_ms)) {
		answer_problem_effect(req, P_CLAIM_EXPIRED, EFFECT_APPLIED,
				      "the original request succeeded, but claim '%s' of sale '%s' has expired",
				      claim.at, in->name.at);
		return;
	}
	struct json_out *o = answer_begin(req, 201);
	answer_location(req, (struct text[]){ TEXT("sales"), in->name, TEXT("claims"), claim }, 4);
	out_text(o, "claim", claim);
	out_text(o, "name", in->name);
	out_string(o, "state", reply_int(r, SALE_CLAIM_ACQUIRE_IS_CONFIRMED) ? "confirmed" : "held");
	out_text(o, "user", in->user);
	out_int(o, "quantity", in->quantity);
	out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
	out_int(o, "expires_at_ms", expires_at_ms);
	out_int(o, "remaining", reply_int(r, SALE_CLAIM_ACQUIRE_REMAINING));
	answer_end(req);
}

static void on_claimed(struct request *req, const struct reply *r)
{
	const struct sale_claim_acquire_input *in = req->input;

	switch (reply_outcome(r)) {
	case SALE_CLAIM_ACQUIRE_NO_SALE:
		handler_answer_missing(req, "sale", in->name);
		return;
	case SALE_CLAIM_ACQUIRE_NOT_OPEN:
		answer_not_open(req, in->name, reply_int(r, SALE_CLAIM_ACQUIRE_OPENS_AT_MS),
				reply_int(r, SALE_CLAIM_ACQUIRE_CLOSES_AT_MS));
		return;
	case SALE_CLAIM_ACQUIRE_LIMIT_REACHED:
		answer_limit_reached(req, in, reply_int(r, SALE_CLAIM_ACQUIRE_CLAIMED),
				     reply_int(r, SALE_CLAIM_ACQUIRE_PER_USER));
		return;
	case SALE_CLAIM_ACQUIRE_SOLD_OUT:
		answer_sold_out(req, in, reply_int(r, SALE_CLAIM_ACQUIRE_LEFT), reply_int(r, SALE_CLAIM_ACQUIRE_HELD));
		return;
	default:
		on_granted(req, r);
	}
}

void sale_claim_acquire(struct request *req, const struct sale_claim_acquire_input *in)
{
	struct call *c = sale_call(req, &sale_claim_acquire_script, in->name);

	call_text(c, handler_random(req, NONCE_DIGITS));
	call_text(c, in->user);
	call_int(c, in->quantity);
	call_send(c, on_claimed);
}

/* ---- POST /sales/{name}/claims/{claim}/confirm, DELETE /sales/{name}/claims/{claim} ---- */

static void on_confirmed(struct request *req, const struct reply *r)
{
	const struct sale_claim_confirm_input *in = req->input;

	switch (reply_outcome(r)) {
	case SALE_CLAIM_CONFIRM_NO_SALE:
		handler_answer_missing(req, "sale", in->name);
		return;
	case SALE_CLAIM_CONFIRM_ABSENT:
		answer_no_claim(req, in->name, in->claim);
		return;
	case SALE_CLAIM_CONFIRM_EXPIRED:
		answer_claim_expired(req, in->claim);
		return;
	default:
		break;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "claim", in->claim);
	out_text(o, "name", in->name);
	out_string(o, "state", "confirmed");
	out_text(o, "user", reply_text(r, SALE_CLAIM_CONFIRM_USER));
	out_int(o, "quantity", reply_int(r, SALE_CLAIM_CONFIRM_QUANTITY));
	answer_end(req);
}

void sale_claim_confirm(struct request *req, const struct sale_claim_confirm_input *in)
{
	struct call *c = sale_call(req, &sale_claim_confirm_script, in->name);

	call_text(c, in->claim);
	call_send(c, on_confirmed);
}

static void on_released(struct request *req, const struct reply *r)
{
	const struct sale_claim_release_input *in = req->input;

	switch (reply_outcome(r)) {
	case SALE_CLAIM_RELEASE_NO_SALE:
		handler_answer_missing(req, "sale", in->name);
		break;
	case SALE_CLAIM_RELEASE_ABSENT:
		answer_no_claim(req, in->name, in->claim);
		break;
	case SALE_CLAIM_RELEASE_EXPIRED:
		answer_claim_expired(req, in->claim);
		break;
	case SALE_CLAIM_RELEASE_CONFIRMED:
		answer_problem(req, P_CLAIM_CONFIRMED, "claim '%s' is confirmed and cannot be released", in->claim.at);
		break;
	default:
		answer_empty(req, 204);
	}
}

void sale_claim_release(struct request *req, const struct sale_claim_release_input *in)
{
	struct call *c = sale_call(req, &sale_claim_release_script, in->name);

	call_text(c, in->claim);
	call_send(c, on_released);
}
