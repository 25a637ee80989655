/*
 * bitmaps: bits in Redis strings: whole bitmaps, single bits, counts and positions, and integers of
 * up to 64 bits. Each operation is one script (lua/bitmaps/bitmap_*.lua), but a large range is
 * counted or searched in steps, so that Redis is not blocked. Bytes are read with GETRANGE itself,
 * right after the expiry: a script that returns both blocks Redis for 1 ms per MiB, GETRANGE for 20
 * us.
 *
 * --max-bitmap-bytes bounds what a write may create. Reads need no bound, since they create
 * nothing.
 */
#include <stdio.h>

#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"
#include "json/base64.h"

enum { READ_BYTES = 1024 * 1024 }; /* per answer */

static const char *const units[] = { NULL, "BIT", "BYTE" }; /* indexed by the contract's enum */

/* Answers 400 and returns false if a write up to this bit would make the bitmap too large. */
static bool is_within_limit(struct request *req, const char *pointer, int64_t last_bit)
{
	int64_t most = config()->max_bitmap_bytes;

	if (last_bit < most * 8)
		return true;
	answer_field_problem(req, P_OUT_OF_RANGE, pointer,
			     "would make a bitmap of %lld bytes; --max-bitmap-bytes allows %lld",
			     (long long)(last_bit / 8 + 1), (long long)most);
	return false;
}

/* ---- PATCH, DELETE /bitmaps/{name}, GET /bitmaps ---- */

static void out_bitmap(struct json_out *o, struct text name, const struct reply *r)
{
	out_text(o, "name", name);
	out_int(o, "bytes", reply_int(r, BITMAP_BYTES));
	handler_out_expiry(o, r, BITMAP_EXPIRES_AT_MS);
}

const struct kind bitmap_kind = {
	.list = { .kind = KEY_BITMAP, .look = kind_look, .item = kind_item },
	.missing = { "bitmap ", " does not exist" },
	.get = &bitmap_size_get_script, /* GET /bitmaps/{name} has the bytes */
	.patch = &bitmap_patch_script,
	.delete = &bitmap_delete_script,
	.out = out_bitmap,
};

/* ---- GET, PUT /bitmaps/{name} ---- */

static void on_bytes(struct request *req, const struct reply *r)
{
	const struct bitmap_get_input *in = req->input;

	if (r->text.len > READ_BYTES) {
		answer_field_problem(req, P_OUT_OF_RANGE, "?end",
				     "is beyond the %d bytes that one answer has; read parts with ?start and ?end",
				     READ_BYTES);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "start", in->start);
	out_int(o, "bytes", (int64_t)r->text.len);
	out_base64(o, "base64", r->text);
	const int64_t *expires_at_ms = req->work;
	out_int_or_null(o, "expires_at_ms", *expires_at_ms > 0, *expires_at_ms);
	answer_end(req);
}

static void on_expiry(struct request *req, const struct reply *r)
{
	const struct bitmap_get_input *in = req->input;
	/* one byte more than an answer takes, which shows whether there is more */
	int64_t end = in->start + READ_BYTES;
	int64_t *expires_at_ms = req->work;
	struct call *c = call_command(req, "GETRANGE", "t", false);

	*expires_at_ms = r->integer;
	call_key(c, KEY_BITMAP, in->name, NULL);
	call_int(c, in->start);
	call_int(c, in->has_end && in->end < end ? in->end : end);
	call_send(c, on_bytes);
}

void bitmap_get(struct request *req, const struct bitmap_get_input *in)
{
	if (in->has_end && in->end < in->start) {
		answer_field_problem(req, P_OUT_OF_RANGE, "?end", "must not be before ?start");
		return;
	}
	req->work = arena_alloc(&req->arena, sizeof(int64_t));
	if (!req->work) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	struct call *c = call_command(req, "PEXPIRETIME", "i", false);
	call_key(c, KEY_BITMAP, in->name, NULL);
	call_send(c, on_expiry);
}

static void on_written(struct request *req, const struct reply *r)
{
	const struct bitmap_put_input *in = req->input;
	const struct text *bytes = req->work;
	struct json_out *o = answer_begin(req, reply_outcome(r) == BITMAP_PUT_CREATED ? 201 : 200);

	out_text(o, "name", in->name);
	out_int(o, "bytes", (int64_t)bytes->len);
	handler_out_expiry(o, r, BITMAP_PUT_EXPIRES_AT_MS);
	answer_end(req);
}

void bitmap_put(struct request *req, const struct bitmap_put_input *in)
{
	struct text *bytes = arena_alloc(&req->arena, sizeof(*bytes));
	char *decoded = arena_alloc(&req->arena, base64_room(in->base64.len) + 1), why[BASE64_WHY];

	if (!bytes || !decoded) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	bytes->at = decoded;
	if (!base64_decode(in->base64, decoded, &bytes->len, why)) {
		answer_field_problem(req, P_INVALID_VALUE, "/base64", "%s", why);
		return;
	}
	if (!is_within_limit(req, "/base64", (int64_t)bytes->len * 8 - 1))
		return;
	req->work = bytes;
	struct call *c = handler_call(req, &bitmap_put_script, KEY_BITMAP, in->name);
	call_text(c, *bytes);
	call_send(c, on_written);
}

/* ---- GET, PUT /bitmaps/{name}/bits/{offset} ---- */

static void on_bit(struct request *req, const struct reply *r)
{
	const struct bitmap_bit_get_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "offset", in->offset);
	out_int(o, "value", reply_int(r, BITMAP_BIT_GET_BIT));
	answer_end(req);
}

void bitmap_bit_get(struct request *req, const struct bitmap_bit_get_input *in)
{
	struct call *c = handler_call(req, &bitmap_bit_get_script, KEY_BITMAP, in->name);

	call_int(c, in->offset);
	call_send(c, on_bit);
}

static void on_bit_set(struct request *req, const struct reply *r)
{
	const struct bitmap_bit_put_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_int(o, "offset", in->offset);
	out_int(o, "previous", reply_int(r, BITMAP_BIT_PUT_PREVIOUS));
	answer_end(req);
}

void bitmap_bit_put(struct request *req, const struct bitmap_bit_put_input *in)
{
	if (!is_within_limit(req, "{offset}", in->offset))
		return;
	struct call *c = handler_call(req, &bitmap_bit_put_script, KEY_BITMAP, in->name);
	call_int(c, in->offset);
	call_int(c, in->value);
	call_send(c, on_bit_set);
}

/* ---- GET /bitmaps/{name}/count, /position ---- */

static void on_counted(struct request *req, const struct reply *r);

static void send_count(struct request *req, int64_t first, int64_t last, const char *unit)
{
	const struct bitmap_bit_count_input *in = req->input;
	struct call *c = handler_call(req, &bitmap_bit_count_script, KEY_BITMAP, in->name);

	call_int(c, first);
	call_int(c, last);
	call_string(c, unit);
	call_send(c, on_counted);
}

static void on_counted(struct request *req, const struct reply *r)
{
	const struct bitmap_bit_count_input *in = req->input;
	int64_t *count = req->work, next = reply_int(r, BITMAP_BIT_COUNT_NEXT_BIT);

	*count += reply_int(r, BITMAP_BIT_COUNT_COUNT);
	if (next >= 0) {
		send_count(req, next, reply_int(r, BITMAP_BIT_COUNT_LAST_BIT), "BIT");
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "count", *count);
	answer_end(req);
}

void bitmap_bit_count(struct request *req, const struct bitmap_bit_count_input *in)
{
	req->work = arena_alloc(&req->arena, sizeof(int64_t));
	if (req->work)
		send_count(req, in->start, in->has_end ? in->end : -1, units[in->unit]);
	else
		answer_no_memory(req, EFFECT_NONE);
}

static void on_position(struct request *req, const struct reply *r);

static void send_position(struct request *req, int64_t first, int64_t last, const char *unit)
{
	const struct bitmap_position_get_input *in = req->input;
	struct call *c = handler_call(req, &bitmap_position_get_script, KEY_BITMAP, in->name);

	call_int(c, in->bit);
	call_int(c, first);
	handler_call_optional(c, in->has_end, last);
	call_string(c, unit);
	call_send(c, on_position);
}

static void on_position(struct request *req, const struct reply *r)
{
	const struct bitmap_position_get_input *in = req->input;
	int64_t position = reply_int(r, BITMAP_POSITION_GET_POSITION);
	int64_t next = reply_int(r, BITMAP_POSITION_GET_NEXT_BIT);

	if (next >= 0) {
		send_position(req, next, reply_int(r, BITMAP_POSITION_GET_LAST_BIT), "BIT");
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_int(o, "bit", in->bit);
	out_int_or_null(o, "position", position >= 0, position);
	answer_end(req);
}

void bitmap_position_get(struct request *req, const struct bitmap_position_get_input *in)
{
	send_position(req, in->start, in->end, units[in->unit]);
}

/* ---- POST /bitmaps/{name}/fields ---- */

enum { POINTER_SIZE = 48 };
static const int64_t last_of_all_bits = UINT32_MAX; /* 512 MiB, the longest string in Redis */

static bool refuse_operation(struct request *req, size_t i, const char *member, enum problem p, const char *why)
{
	char pointer[POINTER_SIZE];

	snprintf(pointer, sizeof(pointer), "/operations/%zu%s", i, member);
	answer_field_problem(req, p, pointer, "%s", why);
	return false;
}

/* Returns the bits of u1 to u63 and i1 to i64, or 0 for any other type. */
static int64_t bits_of(struct text type)
{
	int64_t most = type.at[0] == 'u' ? 63 : type.at[0] == 'i' ? 64 : 0, bits = 0;

	for (size_t i = 1; i < type.len; i++) {
		if (type.at[i] < (i == 1 ? '1' : '0') || type.at[i] > '9')
			return 0;
		bits = bits * 10 + type.at[i] - '0';
	}
	return bits <= most ? bits : 0;
}

/*
 * Finds the bits of operation `i`. False: the operation is invalid, and the request was answered.
 */
static bool find_field(struct request *req, size_t i, const struct bitmap_field_write_operations_item *op,
		       int64_t *bits, int64_t *offset)
{
	const char *where = op->has_element ? "/element" : "/offset";
	bool writes = op->op != BITMAP_FIELD_WRITE_OPERATIONS_ITEM_OP_GET;
	char pointer[POINTER_SIZE];

	*bits = bits_of(op->type);
	*offset = op->has_element ? op->element * *bits : op->offset;
	if (*bits == 0)
		return refuse_operation(req, i, "/type", P_INVALID_VALUE, "must be one of u1 to u63 and i1 to i64");
	if (!op->has_offset && !op->has_element)
		return refuse_operation(req, i, "/offset", P_MISSING_FIELD, "is required, unless element is given");
	if (op->has_offset && op->has_element)
		return refuse_operation(req, i, "/element", P_INVALID_VALUE, "cannot be combined with offset");
	if (writes && !op->has_value)
		return refuse_operation(req, i, "/value", P_MISSING_FIELD, "is required to set or add");
	if (!writes && op->has_value)
		return refuse_operation(req, i, "/value", P_INVALID_VALUE,
					"is only allowed with set and incrby, not with get");
	if (*offset + *bits - 1 > last_of_all_bits)
		return refuse_operation(req, i, where, P_OUT_OF_RANGE,
					"must end at bit 4294967295, the last one, or before");
	snprintf(pointer, sizeof(pointer), "/operations/%zu%s", i, where);
	return !writes || is_within_limit(req, pointer, *offset + *bits - 1);
}

/*
 * Writes a bitmap_field, which begins at item `i`: its value in decimal, or null. The value arrives
 * as its upper and its lower 32 bits, because Lua would round a number above 2^53.
 */
static void out_field(struct json_out *o, const struct reply *r, size_t i)
{
	int64_t upper = reply_int(r, i + BITMAP_FIELD_UPPER), lower = reply_int(r, i + BITMAP_FIELD_LOWER);
	char digits[TEXT_DIGITS];

	if (reply_int(r, i + BITMAP_FIELD_IS_REFUSED))
		out_null(o, NULL);
	else
		out_text(o, NULL, text_of_int((int64_t)(((uint64_t)upper << 32) + (uint64_t)lower), digits));
}

static void on_fields(struct request *req, const struct reply *r)
{
	const struct bitmap_field_write_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	out_array(o, "values");
	for (size_t i = BITMAP_FIELD_WRITE_FIELDS; i < r->count; i += BITMAP_FIELD_ITEMS)
		out_field(o, r, i);
	out_close(o);
	answer_end(req);
}

void bitmap_field_write(struct request *req, const struct bitmap_field_write_input *in)
{
	static const char *const ops[] = { NULL, "GET", "SET", "INCRBY" }; /* indexed by the contract's enum */
	static const char *const overflows[] = { NULL, "FAIL", "SAT", "WRAP" };
	struct call *c = handler_call(req, &bitmap_field_write_script, KEY_BITMAP, in->name);
	int64_t bits, offset;

	for (size_t i = 0; i < in->operations.count; i++) {
		const struct bitmap_field_write_operations_item *op = &in->operations.items[i];
		if (!find_field(req, i, op, &bits, &offset))
			return;
		call_string(c, ops[op->op]);
		call_string(c, op->type.at[0] == 'u' ? "u" : "i");
		call_int(c, bits);
		call_int(c, offset);
		handler_call_optional(c, op->has_value, op->value);
		call_string(c, overflows[op->overflow]);
	}
	call_send(c, on_fields);
}
