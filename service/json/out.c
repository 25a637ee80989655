#include "json/out.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "json/read.h"

void out_init(struct json_out *o, struct arena *arena, size_t first_size)
{
	*o = (struct json_out){ .arena = arena, .at = arena_grow(arena, NULL, 0, first_size) };
	o->size = o->at ? first_size : 0;
}

/* Returns where `n` more bytes can be written, or NULL. */
static char *room(struct json_out *o, size_t n)
{
	if (o->size - o->len < n) {
		size_t size = o->size * 2 > o->len + n ? o->size * 2 : o->len + n;
		char *at = o->arena->failed ? NULL : arena_grow(o->arena, o->at, o->len, size);
		if (!at)
			return NULL;
		o->at = at;
		o->size = size;
	}
	return o->at + o->len;
}

static void put(struct json_out *o, const char *bytes, size_t n)
{
	char *at = room(o, n);

	if (at && n) {
		memcpy(at, bytes, n);
		o->len += n;
	}
}

/*
 * Returns false for a byte that must be escaped (controls, quote, backslash) or checked (not
 * ASCII).
 */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(struct json_out *o, unsigned char c)
{
	char code[8];

	switch (c) {
	case '"':
		put(o, "\\\"", 2);
		break;
	case '\\':
		put(o, "\\\\", 2);
		break;
	case '\n':
		put(o, "\\n", 2);
		break;
	case '\t':
		put(o, "\\t", 2);
		break;
	default:
		snprintf(code, sizeof(code), "\\u%04x", c);
		put(o, code, 6);
	}
}

static void put_quoted(struct json_out *o, struct text t)
{
	size_t i = 0;

	put(o, "\"", 1);
	while (i < t.len) {
		size_t start = i;
		while (i < t.len && is_plain((unsigned char)t.at[i]))
			i++;
		put(o, t.at + start, i - start);
		if (i == t.len)
			break;
		unsigned char c = (unsigned char)t.at[i];
		if (c < 0x80) {
			put_escaped(o, c);
			i++;
			continue;
		}
		/*
		 * Characters beyond ASCII are copied whole; a byte that belongs to none becomes
		 * U+FFFD.
		 */
		size_t good = text_utf8_char((struct text){ t.at + i, t.len - i });
		put(o, good ? t.at + i : "\xef\xbf\xbd", good ? good : 3);
		i += good ? good : 1;
	}
	put(o, "\"", 1);
}

/* Writes what precedes a value: the comma and the key. */
static void lead_in(struct json_out *o, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	char *at = room(o, len + 4); /* one check for room covers all of it */

	if (!at)
		return;
	if (o->comma)
		*at++ = ',';
	o->comma = true;
	if (key) {
		*at++ = '"';
		memcpy(at, key, len);
		memcpy(at + len, "\":", 2);
		at += len + 2;
	}
	o->len = (size_t)(at - o->at);
}

void out_int(struct json_out *o, const char *key, int64_t value)
{
	char buffer[TEXT_DIGITS];
	struct text digits = text_of_int(value, buffer);

	lead_in(o, key);
	put(o, digits.at, digits.len);
}

void out_key(struct json_out *o, struct text key)
{
	lead_in(o, NULL);
	put_quoted(o, key);
	put(o, ":", 1);
	o->comma = false;
}

void out_real(struct json_out *o, const char *key, double value)
{
	char buffer[TEXT_REAL];
	struct text digits = isfinite(value) ? text_of_real(value, buffer) : TEXT("null");

	lead_in(o, key);
	put(o, digits.at, digits.len);
}

void out_bool(struct json_out *o, const char *key, bool value)
{
	lead_in(o, key);
	put(o, value ? "true" : "false", value ? 4 : 5);
}

void out_null(struct json_out *o, const char *key)
{
	lead_in(o, key);
	put(o, "null", 4);
}

void out_text(struct json_out *o, const char *key, struct text value)
{
	if (!value.at) {
		out_null(o, key);
		return;
	}
	lead_in(o, key);
	put_quoted(o, value);
}

void out_string(struct json_out *o, const char *key, const char *value)
{
	out_text(o, key, text_of(value));
}

void out_base64(struct json_out *o, const char *key, struct text bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = (const unsigned char *)bytes.at;

	lead_in(o, key);
	put(o, "\"", 1);
	for (size_t i = 0; i < bytes.len; i += 3) {
		bool two = i + 1 < bytes.len, three = i + 2 < bytes.len;
		unsigned group = (unsigned)at[i] << 16 | (two ? (unsigned)at[i + 1] << 8 : 0) | (three ? at[i + 2] : 0);
		char four[] = { digits[group >> 18], digits[group >> 12 & 63], two ? digits[group >> 6 & 63] : '=',
				three ? digits[group & 63] : '=' };
		put(o, four, sizeof(four));
	}
	put(o, "\"", 1);
}

void out_raw(struct json_out *o, const char *key, struct text json)
{
	bool is_json = json_read_is_valid(o->arena, json);

	o->broken |= !is_json && !o->arena->failed;
	lead_in(o, key);
	put(o, is_json ? json.at : "null", is_json ? json.len : 4);
}

void out_text_or_null(struct json_out *o, const char *key, struct text value)
{
	out_text(o, key, value.len ? value : (struct text){ 0 });
}

void out_raw_or_null(struct json_out *o, const char *key, struct text json)
{
	if (json.len)
		out_raw(o, key, json);
	else
		out_null(o, key);
}

void out_int_or_null(struct json_out *o, const char *key, bool has, int64_t value)
{
	if (has)
		out_int(o, key, value);
	else
		out_null(o, key);
}

static void open_with(struct json_out *o, const char *key, char opener, char closer)
{
	assert(o->depth < sizeof(o->closers));
	lead_in(o, key);
	put(o, &opener, 1);
	o->closers[o->depth++] = closer;
	o->comma = false;
}

void out_object(struct json_out *o, const char *key)
{
	open_with(o, key, '{', '}');
}

void out_array(struct json_out *o, const char *key)
{
	open_with(o, key, '[', ']');
}

void out_close(struct json_out *o)
{
	assert(o->depth > 0);
	put(o, &o->closers[--o->depth], 1);
	o->comma = true;
}

void out_newline(struct json_out *o)
{
	put(o, "\n", 1);
}

struct text out_all(struct json_out *o)
{
	char *end = room(o, 1);

	if (!end)
		return (struct text){ 0 };
	*end = '\0';
	return (struct text){ o->at, o->len };
}
