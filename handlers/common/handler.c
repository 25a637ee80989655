#include "common/handler.h"

#include <stdlib.h>

struct call *handler_call(struct request *req, const struct script *s, const char *kind, struct text name)
{
	struct call *c = call_script(req, s);

	call_key(c, kind, name, NULL);
	return c;
}

void handler_call_optional(struct call *c, bool has, int64_t value)
{
	if (has)
		call_int(c, value);
	else
		call_string(c, "");
}

void handler_call_ttl(struct call *c, bool has, bool reset, int64_t ttl_ms)
{
	if (reset)
		call_string(c, "null");
	else
		handler_call_optional(c, has, ttl_ms);
}

void handler_patch_ttl(struct call *c, bool has, bool reset, int64_t ttl_ms, call_done done)
{
	handler_call_ttl(c, has, reset, ttl_ms);
	call_send(c, done);
}

void handler_out_expiry(struct json_out *o, const struct reply *r, size_t i)
{
	out_int_or_null(o, "expires_at_ms", reply_int(r, i) > 0, reply_int(r, i));
}

struct text handler_random(struct request *req, size_t digits)
{
	char hex[HANDLER_SECRET_DIGITS + 1];

	hex_random(hex, digits);
	return arena_copy(&req->arena, hex, digits);
}

struct text handler_secret_hash(struct request *req, struct text secret)
{
	struct text digest = seal_digest(req, secret);

	return arena_copy(&req->arena, digest.at, digest.at ? HANDLER_SECRET_DIGITS : 0);
}

/* The remainder is taken from 2^64 values, so its bias does not matter. */
int64_t handler_random_up_to(int64_t most)
{
	char hex[16 + 1];

	hex_random(hex, 16);
	return (int64_t)(strtoull(hex, NULL, 16) % ((uint64_t)most + 1));
}

const struct slots *handler_slots(struct request *req, struct text target, const struct text *sources, size_t count)
{
	struct text *names = arena_alloc(&req->arena, (count + 1) * sizeof(*names));

	if (!names) {
		answer_no_memory(req, EFFECT_NONE);
		return NULL;
	}
	memcpy(names, sources, count * sizeof(*names));
	names[count] = target;
	const struct slots *slots = slots_of(req, names, count + 1);
	return slots && slots_bear_key(req, slots) ? slots : NULL;
}

bool handler_removed(struct request *req, const struct reply *r)
{
	if (reply_outcome(r) < 1)
		return false;
	answer_empty(req, 204);
	return true;
}

void handler_answer_missing(struct request *req, const char *kind, struct text name)
{
	answer_problem(req, P_NOT_FOUND, "%s '%s' does not exist", kind, name.at);
}

void handler_answer_cursor(struct request *req)
{
	answer_field_problem(req, P_INVALID_VALUE, "?cursor",
			     "must be the next_cursor of an earlier page of this list");
}

bool handler_cursor(struct request *req, struct text cursor, int64_t *at)
{
	char digits[TEXT_DIGITS];

	*at = cursor.at ? strtoll(cursor.at, NULL, 10) : 0;
	if (!cursor.at || (*at > 0 && *at < INT64_C(1) << 53 && text_equal(text_of_int(*at, digits), cursor)))
		return true;
	handler_answer_cursor(req);
	return false;
}

void handler_out_cursor(struct json_out *o, bool has, int64_t at)
{
	char digits[TEXT_DIGITS];

	out_text(o, "next_cursor", has ? text_of_int(at, digits) : (struct text){ 0 });
}

bool handler_day(struct request *req, struct text given, const char *pointer, int64_t *day)
{
	if (day_parse(given, day))
		return true;
	answer_field_problem(req, P_INVALID_VALUE, pointer, "must be a date, YYYY-MM-DD");
	return false;
}

void handler_out_day(struct json_out *o, const char *key, int64_t day)
{
	char text[DAY_TEXT_SIZE];

	day_print(day, text);
	out_string(o, key, text);
}
