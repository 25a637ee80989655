/*
 * sales: a stock that is for sale between two instants, and claims on it. Each operation is one
 * script (lua/sales/sale_*.lua); one that settled as many expired holds as it may, and could not
 * decide yet, is called again.
 */
#include <inttypes.h>

#include "handler.h"
#include "kinds.h"

enum { NONCE_DIGITS = 16, HOLD_MS = 300000 /* the contract's default */ };

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

/* 0 is no instant, and no limit. */
static void out_setting(struct json_out *o, const char *key, int64_t value)
{
	out_int_or_null(o, key, value != 0, value);
}

/* The members of an open object, from the reply of a script. */
static void write_sale(struct json_out *o, struct request *req, struct text sale, const struct reply *r)
{
	int64_t stock = reply_int(r, 4), held = reply_int(r, 8), confirmed = reply_int(r, 9);

	out_text(o, "name", sale);
	out_string(o, "state", state_names[state_of(req, reply_int(r, 2), reply_int(r, 3))]);
	out_setting(o, "opens_at_ms", reply_int(r, 2));
	out_setting(o, "closes_at_ms", reply_int(r, 3));
	out_int(o, "stock", stock);
	out_setting(o, "per_user", reply_int(r, 5));
	out_int(o, "hold_ms", reply_int(r, 6));
	out_setting(o, "retention_ms", reply_int(r, 7));
	out_int(o, "remaining", stock - held - confirmed);
	out_int(o, "held", held);
	out_int(o, "confirmed", confirmed);
	handler_out_expiry(o, r, 10);
}

/* ---- PUT, PATCH, GET, DELETE /sales/{name}, GET /sales ---- */

static void answer_stock_below_sold(struct request *req, struct text sale, int64_t stock, const struct reply *r)
{
	int64_t held = reply_int(r, 8), confirmed = reply_int(r, 9);
	struct json_out *o =
		problem_begin(req, P_STOCK_BELOW_SOLD,
			      "a stock of %" PRId64 " is below the %" PRId64 " of sale '%s' that are sold or held",
			      stock, held + confirmed, sale.at);

	out_int(o, "held", held);
	out_int(o, "confirmed", confirmed);
	problem_end(req);
}

/* `stock` is the one asked for. */
static void answer_changed(struct request *req, struct text sale, int64_t stock, const struct reply *r)
{
	switch (reply_int(r, 0)) {
	case -1:
		answer_no_sale(req, sale);
		return;
	case -2:
		answer_stock_below_sold(req, sale, stock, r);
		return;
	case -3:
		answer_field_problem(req, P_INVALID_VALUE, "/closes_at_ms", "must be after opens_at_ms");
		return;
	default:
		write_sale(answer_begin(req, reply_int(r, 0) == 2 ? 201 : 200), req, sale, r);
		answer_end(req);
	}
}

/* A setting of PATCH: null is the default, absent leaves it as it is. */
static void call_setting(struct call *c, bool has, bool reset, int64_t value, int64_t standard)
{
	handler_call_optional(c, has || reset, reset ? standard : value);
}

static void replace(struct request *req);

static void on_replaced(struct request *req, const struct reply *r)
{
	const struct sale_put_input *in = req->input;

	if (reply_int(r, 0) == 0)
		replace(req);
	else
		answer_changed(req, in->name, in->stock, r);
}

static void replace(struct request *req)
{
	const struct sale_put_input *in = req->input;
	struct call *c = sale_call(req, &sale_put_script, in->name);

	call_int(c, in->has_opens_at_ms ? in->opens_at_ms : 0);
	call_int(c, in->has_closes_at_ms ? in->closes_at_ms : 0);
	call_int(c, in->stock);
	call_int(c, in->has_per_user ? in->per_user : 0);
	call_int(c, in->hold_ms);
	call_int(c, in->has_retention_ms ? in->retention_ms : 0);
	call_send(c, on_replaced);
}

void sale_put(struct request *req, const struct sale_put_input *in)
{
	(void)in; /* replace() finds it in the request, at each of its steps */
	replace(req);
}

static void patch(struct request *req);

static void on_patched(struct request *req, const struct reply *r)
{
	const struct sale_patch_input *in = req->input;

	if (reply_int(r, 0) == 0)
		patch(req);
	else
		answer_changed(req, in->name, in->stock, r);
}

static void patch(struct request *req)
{
	const struct sale_patch_input *in = req->input;
	struct call *c = sale_call(req, &sale_patch_script, in->name);

	call_setting(c, in->has_opens_at_ms, in->reset_opens_at_ms, in->opens_at_ms, 0);
	call_setting(c, in->has_closes_at_ms, in->reset_closes_at_ms, in->closes_at_ms, 0);
	call_setting(c, in->has_stock, false, in->stock, 0);
	call_setting(c, in->has_per_user, in->reset_per_user, in->per_user, 0);
	call_setting(c, in->has_hold_ms, in->reset_hold_ms, in->hold_ms, HOLD_MS);
	call_setting(c, in->has_retention_ms, in->reset_retention_ms, in->retention_ms, 0);
	call_send(c, on_patched);
}

void sale_patch(struct request *req, const struct sale_patch_input *in)
{
	(void)in; /* patch() finds it in the request, at each of its steps */
	patch(req);
}

static void get(struct request *req);

static void on_state(struct request *req, const struct reply *r)
{
	const struct sale_get_input *in = req->input;

	if (reply_int(r, 0) < 0) {
		answer_no_sale(req, in->name);
	} else if (reply_int(r, 11) > 0) {
		get(req);
	} else {
		write_sale(answer_begin(req, 200), req, in->name, r);
		answer_end(req);
	}
}

static void get(struct request *req)
{
	const struct sale_get_input *in = req->input;

	call_send(sale_call(req, &sale_get_script, in->name), on_state);
}

void sale_get(struct request *req, const struct sale_get_input *in)
{
	(void)in; /* get() finds it in the request, at each of its steps */
	get(req);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct sale_delete_input *in = req->input;

	if (!handler_removed(req, r))
		answer_no_sale(req, in->name);
}

void sale_delete(struct request *req, const struct sale_delete_input *in)
{
	call_send(sale_call(req, &sale_delete_script, in->name), on_deleted);
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

/* ---- GET /sales/{name}/claims ---- */

static void on_listed(struct request *req, const struct reply *r)
{
	const struct sale_claim_list_input *in = req->input;

	if (reply_int(r, 0) == -1) {
		answer_no_sale(req, in->name);
		return;
	} else if (reply_int(r, 0) < 0) {
		handler_answer_cursor(req);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = 3; i + 4 < r->count; i += 5) {
		struct text state = reply_text(r, i + 1);
		out_object(o, NULL);
		out_text(o, "claim", reply_text(r, i));
		out_text(o, "state", state);
		out_text(o, "user", reply_text(r, i + 4));
		out_int(o, "quantity", reply_int(r, i + 2));
		out_int_or_null(o, "expires_at_ms", text_is(state, "held"), reply_int(r, i + 3));
		out_close(o);
	}
	out_close(o);
	out_text(o, "next_cursor", text_is(reply_text(r, 2), "0") ? (struct text){ 0 } : reply_text(r, 2));
	answer_end(req);
}

void sale_claim_list(struct request *req, const struct sale_claim_list_input *in)
{
	struct call *c = sale_call(req, &sale_claim_list_script, in->name);

	call_text(c, in->cursor.at ? in->cursor : TEXT("0"));
	call_int(c, in->limit);
	call_send(c, on_listed);
}

/* ---- POST /sales/{name}/claims ---- */

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
	out_setting(o, "opens_at_ms", opens_at_ms);
	out_setting(o, "closes_at_ms", closes_at_ms);
	problem_end(req);
}

static void answer_limit_reached(struct request *req, const struct sale_claim_acquire_input *in, int64_t has,
				 int64_t per_user)
{
	struct json_out *o = problem_begin(req, P_SALE_LIMIT_REACHED,
					   "user '%s' has %" PRId64 " of sale '%s' and asks for %" PRId64
					   " more; per_user allows %" PRId64,
					   in->user.at, has, in->name.at, in->quantity, per_user);

	out_int(o, "claimed", has);
	out_int(o, "per_user", per_user);
	problem_end(req);
}

static void answer_sold_out(struct request *req, const struct sale_claim_acquire_input *in, int64_t remaining,
			    int64_t held)
{
	struct json_out *o = problem_begin(req, P_SALE_SOLD_OUT, "sale '%s' has %" PRId64 " left, and %" PRId64 " held",
					   in->name.at, remaining, held);

	out_int(o, "remaining", remaining);
	out_int(o, "held", held);
	problem_end(req);
}

static void on_granted(struct request *req, const struct reply *r)
{
	const struct sale_claim_acquire_input *in = req->input;
	struct text claim = reply_text(r, 2);
	int64_t expires_at_ms = reply_int(r, 3);

	if (!req->result->replayed && request_is_past(req, expires_at_ms)) {
		answer_problem_effect(req, P_CLAIM_EXPIRED, EFFECT_APPLIED,
				      "the original request succeeded, but claim '%s' of sale '%s' has expired",
				      claim.at, in->name.at);
		return;
	}
	struct json_out *o = answer_begin(req, 201);
	out_text(o, "claim", claim);
	out_text(o, "name", in->name);
	out_text(o, "user", in->user);
	out_int(o, "quantity", in->quantity);
	out_int(o, "ttl_ms", request_ms_until(req, expires_at_ms));
	out_int(o, "expires_at_ms", expires_at_ms);
	out_int(o, "remaining", reply_int(r, 4));
	answer_end(req);
}

static void on_claimed(struct request *req, const struct reply *r)
{
	const struct sale_claim_acquire_input *in = req->input;

	switch (reply_int(r, 0)) {
	case 0:
		claim(req);
		return;
	case -1:
		answer_no_sale(req, in->name);
		return;
	case -2:
		answer_not_open(req, in->name, reply_int(r, 2), reply_int(r, 3));
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
	const struct sale_claim_acquire_input *in = req->input;
	struct call *c = sale_call(req, &sale_claim_acquire_script, in->name);

	call_text(c, handler_random(req, NONCE_DIGITS));
	call_text(c, in->user);
	call_int(c, in->quantity);
	call_send(c, on_claimed);
}

void sale_claim_acquire(struct request *req, const struct sale_claim_acquire_input *in)
{
	(void)in; /* claim() finds it in the request, at each of its steps */
	claim(req);
}

/* ---- POST /sales/{name}/claims/{claim}/confirm, DELETE /sales/{name}/claims/{claim} ---- */

static void on_confirmed(struct request *req, const struct reply *r)
{
	const struct sale_claim_confirm_input *in = req->input;

	switch (reply_int(r, 0)) {
	case -1:
		answer_no_sale(req, in->name);
		return;
	case -2:
		answer_no_claim(req, in->name, in->claim);
		return;
	case -3:
		answer_claim_expired(req, in->claim);
		return;
	default:
		break;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "claim", in->claim);
	out_text(o, "name", in->name);
	out_text(o, "user", reply_text(r, 2));
	out_int(o, "quantity", reply_int(r, 3));
	out_bool(o, "confirmed", true);
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

	switch (reply_int(r, 0)) {
	case -1:
		answer_no_sale(req, in->name);
		break;
	case -2:
		answer_no_claim(req, in->name, in->claim);
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
	struct call *c = sale_call(req, &sale_claim_release_script, in->name);

	call_text(c, in->claim);
	call_send(c, on_released);
}
