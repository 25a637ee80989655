/*
 * sales: see sales.h. This file also has the operations on whole sales: a stock that is for sale
 * between two instants, and its settings. Each operation is one script (lua/sales/sale_*.lua). A
 * script settles a bounded number of expired holds, and is called again if it cannot decide yet.
 */
#include <inttypes.h>

#include "sales/sales.h"

#include "common/key_kinds.h"
#include "common/kind.h"

enum { HOLD_MS = 300000 }; /* the contract's default */

/* In the order of the contract's enum, from index 1. */
const char *const sale_state_names[] = { NULL, "upcoming", "open", "closed" };

struct call *sale_call(struct request *req, const struct script *s, struct text sale)
{
	static const char *const parts[] = { NULL, "claims", "holds", "users" };
	struct call *c = call_script(req, s);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		call_key(c, KEY_SALE, sale, parts[i]);
	return c;
}

/* `closes_at_ms` is 0 for a sale that never closes. */
int sale_state(const struct request *req, int64_t opens_at_ms, int64_t closes_at_ms)
{
	if (closes_at_ms && req->now_ms >= closes_at_ms)
		return SALE_CLOSED;
	return req->now_ms < opens_at_ms ? SALE_UPCOMING : SALE_OPEN;
}

/* Writes null for 0, which is neither an instant nor a limit. */
void sale_out_setting(struct json_out *o, const char *key, int64_t value)
{
	out_int_or_null(o, key, value != 0, value);
}

static int state_of(const struct request *req, const struct reply *r)
{
	return sale_state(req, reply_int(r, SALE_OPENS_AT_MS), reply_int(r, SALE_CLOSES_AT_MS));
}

/* Writes a sale into an open object. */
static void write_sale(struct json_out *o, struct request *req, struct text sale, const struct reply *r)
{
	int64_t stock = reply_int(r, SALE_STOCK), held = reply_int(r, SALE_HELD);
	int64_t confirmed = reply_int(r, SALE_CONFIRMED);

	out_text(o, "name", sale);
	out_string(o, "state", sale_state_names[state_of(req, r)]);
	sale_out_setting(o, "opens_at_ms", reply_int(r, SALE_OPENS_AT_MS));
	sale_out_setting(o, "closes_at_ms", reply_int(r, SALE_CLOSES_AT_MS));
	out_int(o, "stock", stock);
	sale_out_setting(o, "per_user", reply_int(r, SALE_PER_USER));
	out_int(o, "hold_ms", reply_int(r, SALE_HOLD_MS));
	sale_out_setting(o, "retention_ms", reply_int(r, SALE_RETENTION_MS));
	out_int(o, "remaining", stock - held - confirmed);
	out_int(o, "held", held);
	out_int(o, "confirmed", confirmed);
	handler_out_expiry(o, r, SALE_EXPIRES_AT_MS);
}

/* ---- PUT, PATCH, GET, DELETE /sales/{name}, GET /sales ---- */

static void answer_stock_below_sold(struct request *req, struct text sale, int64_t stock, const struct reply *r)
{
	int64_t held = reply_int(r, SALE_HELD), confirmed = reply_int(r, SALE_CONFIRMED);
	struct json_out *o = answer_begin_problem(req, P_STOCK_BELOW_SOLD,
						  "a stock of %" PRId64 " is below the %" PRId64
						  " of sale '%s' that are sold or held",
						  stock, held + confirmed, sale.at);

	out_int(o, "held", held);
	out_int(o, "confirmed", confirmed);
	answer_end(req);
}

/* sale_put has the outcomes of sale_patch, and one for a new sale. `stock` is the requested one. */
static void answer_changed(struct request *req, struct text sale, int64_t stock, const struct reply *r)
{
	switch (reply_outcome(r)) {
	case SALE_PATCH_ABSENT:
		handler_answer_missing(req, "sale", sale);
		return;
	case SALE_PATCH_STOCK_BELOW_SOLD:
		answer_stock_below_sold(req, sale, stock, r);
		return;
	case SALE_PATCH_CLOSES_BEFORE_OPEN:
		answer_field_problem(req, P_INVALID_VALUE, "/closes_at_ms", "must be after opens_at_ms");
		return;
	default:
		write_sale(answer_begin(req, reply_outcome(r) == SALE_PUT_NEW ? 201 : 200), req, sale, r);
		answer_end(req);
	}
}

/*
 * Sends a setting of PATCH: null becomes `standard`. An absent setting is sent as "", which leaves
 * it unchanged.
 */
static void call_setting(struct call *c, bool has, bool reset, int64_t value, int64_t standard)
{
	handler_call_optional(c, has || reset, reset ? standard : value);
}

static void on_replaced(struct request *req, const struct reply *r)
{
	const struct sale_put_input *in = req->input;

	answer_changed(req, in->name, in->stock, r);
}

void sale_put(struct request *req, const struct sale_put_input *in)
{
	struct call *c = sale_call(req, &sale_put_script, in->name);

	call_int(c, in->has_opens_at_ms ? in->opens_at_ms : 0);
	call_int(c, in->has_closes_at_ms ? in->closes_at_ms : 0);
	call_int(c, in->stock);
	call_int(c, in->has_per_user ? in->per_user : 0);
	call_int(c, in->hold_ms);
	call_int(c, in->has_retention_ms ? in->retention_ms : 0);
	call_send(c, on_replaced);
}

static void on_patched(struct request *req, const struct reply *r)
{
	const struct sale_patch_input *in = req->input;

	answer_changed(req, in->name, in->stock, r);
}

void sale_patch(struct request *req, const struct sale_patch_input *in)
{
	struct call *c = sale_call(req, &sale_patch_script, in->name);

	call_setting(c, in->has_opens_at_ms, in->reset_opens_at_ms, in->opens_at_ms, 0);
	call_setting(c, in->has_closes_at_ms, in->reset_closes_at_ms, in->closes_at_ms, 0);
	call_setting(c, in->has_stock, false, in->stock, 0);
	call_setting(c, in->has_per_user, in->reset_per_user, in->per_user, 0);
	call_setting(c, in->has_hold_ms, in->reset_hold_ms, in->hold_ms, HOLD_MS);
	call_setting(c, in->has_retention_ms, in->reset_retention_ms, in->retention_ms, 0);
	call_send(c, on_patched);
}

static void on_state(struct request *req, const struct reply *r)
{
	const struct sale_get_input *in = req->input;

	if (reply_outcome(r) == SALE_GET_ABSENT) {
		handler_answer_missing(req, "sale", in->name);
	} else {
		write_sale(answer_begin(req, 200), req, in->name, r);
		answer_end(req);
	}
}

void sale_get(struct request *req, const struct sale_get_input *in)
{
	call_send(sale_call(req, &sale_get_script, in->name), on_state);
}

const struct kind sale_kind = {
	.list.kind = KEY_SALE,
	.missing = { "sale ", " does not exist" },
	.delete = &sale_delete_script,
	.call = sale_call,
};

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	struct call *c = sale_call(req, &sale_get_script, name);

	(void)part;
	call_string(c, "once"); /* a page has up to 1000 sales */
	return c;
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	const struct sale_list_input *in = req->input;

	(void)part;
	if (reply_outcome(r) == SALE_GET_ABSENT)
		return;
	if (in->state && (int)in->state != state_of(req, r))
		return;
	out_object(o, NULL);
	write_sale(o, req, name, r);
	out_close(o);
}

void sale_list(struct request *req, const struct sale_list_input *in)
{
	static const struct list_of sales = { .kind = KEY_SALE, .is_indexed = true, .look = get_one, .item = item_of };

	list_keys(req, &sales, in->match, in->cursor, in->limit);
}
