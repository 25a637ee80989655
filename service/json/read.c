/*
 * read: see json/read.h. A recursive descent with one byte of lookahead. The NUL after the text
 * stops the reader.
 *
 * It replaces jansson, which took a third of all instructions of a request, and ends the process
 * with an assertion when memory runs out. Tests compare the two.
 */
#include "json/read.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <stdlib.h>

#include "core/hex.h"

enum { MAX_DEPTH = 32, OWN_DEPTH = 8, EASY_DIGITS = 18 };

struct reader {
	struct arena *arena;
	const char *at;
	const char *why;        /* NULL: out of memory */
	unsigned depth, deeper; /* deeper: how many levels more than MAX_DEPTH are allowed */
	json_place *place_of;   /* NULL: nothing is opaque */
	bool opaque;            /* the value is only checked, and allocations are freed at its end */
};

static bool fail(struct reader *r, const char *why)
{
	r->why = why;
	return false;
}

static void skip_space(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')
		r->at++;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- Strings ---- */

/* ASCII without controls, quotes and backslashes. */
static const bool plain[256] = { [' ' ... '!'] = true, ['#' ... '['] = true, [']' ... 0x7f] = true };

/* Reads the four hex digits of \uXXXX. Returns -1 if they are not hex digits. */
static int32_t read_unit(struct reader *r)
{
	int32_t unit = 0;

	for (int i = 0; i < 4; i++, r->at++) {
		int digit = hex_value(*r->at);
		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

static char *put_utf8(char *to, int32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* Reads what follows \u: a character of the basic plane, or a pair of surrogates. */
static bool read_code_point(struct reader *r, char **to)
{
	int32_t c = read_unit(r), low;

	if (c < 0)
		return fail(r, "\\u must be followed by four hex digits");
	if (c >= 0xd800 && c <= 0xdfff) {
		if (c > 0xdbff || r->at[0] != '\\' || r->at[1] != 'u')
			return fail(r, "a surrogate is not part of a pair");
		r->at += 2;
		low = read_unit(r);
		if (low < 0xdc00 || low > 0xdfff)
			return fail(r, "a surrogate is not part of a pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	*to = put_utf8(*to, c);
	return true;
}

static bool read_escape(struct reader *r, char **to)
{
	static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char c = *++r->at;
	const char *name = c ? strchr(names, c) : NULL;

	r->at++;
	if (c == 'u')
		return read_code_point(r, to);
	if (!name)
		return fail(r, "a string has an unknown escape");
	*(*to)++ = meant[name - names];
	return true;
}

/* Returns where the string ends, or else where the text ends. */
static const char *closing_quote(const char *at)
{
	while (*at && *at != '"')
		at += at[0] == '\\' && at[1] ? 2 : 1;
	return at;
}

/*
 * Reads a string with escapes or characters beyond ASCII; `out` may be NULL. Decoded text is never
 * longer than its source.
 */
static bool read_escaped(struct reader *r, struct text *out)
{
	size_t most = out ? (size_t)(closing_quote(r->at) - r->at) : 0;
	char unread[4], *from = out ? arena_grow(r->arena, NULL, 0, most + 1) : unread, *to = from;

	if (!from)
		return fail(r, NULL);
	while (*r->at != '"') {
		if (!out)
			to = unread;
		if (*r->at == '\\') {
			if (!read_escape(r, &to))
				return false;
			continue;
		}
		if ((unsigned char)*r->at < ' ')
			return fail(r, *r->at ? "a string contains a control character" : "a string does not end");
		size_t len = text_utf8_char((struct text){ r->at, 4 }); /* stops at the NUL after the text */
		if (len == 0)
			return fail(r, "a string is not UTF-8");
		memcpy(to, r->at, len);
		to += len;
		r->at += len;
	}
	r->at++;
	if (out) {
		*to = '\0';
		*out = (struct text){ from, (size_t)(to - from) };
	}
	return true;
}

/* If `out` is NULL, the string is only checked. */
static bool read_string(struct reader *r, struct text *out)
{
	const char *from = ++r->at, *to = from;

	while (plain[(unsigned char)*to])
		to++;
	if (*to != '"')
		return read_escaped(r, out);
	r->at = to + 1;
	if (!out)
		return true;
	*out = (struct text){ from, (size_t)(to - from) };
	if (!r->opaque)
		*out = arena_copy(r->arena, from, out->len);
	return out->at || fail(r, NULL);
}

/* ---- Numbers ---- */

static void skip_digits(struct reader *r)
{
	while (is_digit(*r->at))
		r->at++;
}

/* Too large a number is infinite, too small a one is not 0: neither is taken for an integer. */
static void read_real(const char *from, struct json *v)
{
	v->kind = JSON_IS_REAL;
	v->real = strtod(from, NULL);
	if (v->real == 0 && is_digit(from[strspn(from, "-0.")]))
		v->real = *from == '-' ? -DBL_TRUE_MIN : DBL_TRUE_MIN;
}

/* An integer beyond 64 bits becomes a real, which no field of integers accepts. */
static void read_integer(struct reader *r, const char *from, struct json *v)
{
	bool is_negative = *from == '-';
	int64_t n = 0;

	v->kind = JSON_IS_INTEGER;
	if (r->at - from > EASY_DIGITS) {
		errno = 0;
		v->integer = strtoll(from, NULL, 10);
		if (errno)
			read_real(from, v);
		return;
	}
	for (const char *at = from + is_negative; at < r->at; at++)
		n = n * 10 + (*at - '0');
	v->integer = is_negative ? -n : n;
}

static bool read_number(struct reader *r, struct json *v)
{
	const char *from = r->at;
	bool is_real = false;

	r->at += *r->at == '-';
	if (*r->at == '0')
		r->at++;
	else if (is_digit(*r->at))
		skip_digits(r);
	else
		return fail(r, "a digit is expected");
	if (*r->at == '.') {
		is_real = true;
		if (!is_digit(*++r->at))
			return fail(r, "a digit is expected");
		skip_digits(r);
	}
	if (*r->at == 'e' || *r->at == 'E') {
		is_real = true;
		r->at++;
		r->at += *r->at == '+' || *r->at == '-';
		if (!is_digit(*r->at))
			return fail(r, "a digit is expected");
		skip_digits(r);
	}
	if (is_real && !r->opaque)
		read_real(from, v);
	else if (!r->opaque)
		read_integer(r, from, v);
	return true;
}

/* ---- Objects and arrays ---- */

static bool read_value(struct reader *r, struct json *v, const void *place);

static bool members_differ(struct reader *r, const struct json *object)
{
	int duplicate = json_tree_has_duplicate(r->arena, object);

	return duplicate == 0 || fail(r, duplicate < 0 ? NULL : "an object has a duplicate name");
}

static bool read_key(struct reader *r, struct json *member)
{
	if (*r->at != '"')
		return fail(r, "the name of a member is expected, in double quotes");
	if (!read_string(r, &member->key))
		return false;
	if (memchr(member->key.at, '\0', member->key.len))
		return fail(r, "the name of a member has a NUL in it");
	skip_space(r);
	if (*r->at != ':')
		return fail(r, "':' is expected");
	r->at++;
	skip_space(r);
	return true;
}

/* Checks a value without keeping it. */
static bool read_opaque(struct reader *r, struct json *v)
{
	const char *from = r->at;

	r->opaque = true;
	bool ok = read_value(r, v, NULL);
	r->opaque = false;
	v->kind = JSON_IS_OPAQUE;
	v->text = (struct text){ from, (size_t)(r->at - from) };
	return ok;
}

/* Reads a member or an item. `spare` is used for items that are only checked. NULL: it failed. */
static struct json *read_one(struct reader *r, bool is_member, const void *parent, struct json *spare)
{
	struct json *one = r->opaque && !is_member ? spare : arena_grow(r->arena, NULL, 0, sizeof(*one));
	bool opaque = false;

	if (!one) {
		fail(r, NULL);
		return NULL;
	}
	*one = (struct json){ 0 };
	if (is_member && !read_key(r, one))
		return NULL;
	const void *place = r->place_of && !r->opaque ? r->place_of(parent, one->key, &opaque) : NULL;
	return (opaque ? read_opaque(r, one) : read_value(r, one, place)) ? one : NULL;
}

/* Moves to the next item or member. False: there is none. */
static bool skip_comma(struct reader *r)
{
	if (*r->at != ',')
		return false;
	r->at++;
	skip_space(r);
	return true;
}

static bool read_all(struct reader *r, struct json *v, char closer, const void *place)
{
	bool is_object = closer == '}';
	const struct json **next = &v->first;
	struct json spare;

	do {
		struct json *one = read_one(r, is_object, place, &spare);
		if (!one)
			return false;
		*next = one;
		next = &one->next;
		v->count++;
		skip_space(r);
	} while (skip_comma(r));
	if (*r->at != closer)
		return fail(r, is_object ? "',' or '}' is expected" : "',' or ']' is expected");
	return true;
}

/* If the value is only checked, only the members of objects are kept, until the object ends. */
static bool read_many(struct reader *r, struct json *v, char closer, const void *place)
{
	struct arena_mark before = arena_mark(r->arena);

	v->kind = closer == '}' ? JSON_IS_OBJECT : JSON_IS_ARRAY;
	if (++r->depth > MAX_DEPTH + r->deeper)
		return fail(r, "it is nested more than 32 levels deep");
	r->at++;
	skip_space(r);
	if (*r->at != closer && !read_all(r, v, closer, place))
		return false;
	r->at++;
	r->depth--;
	if (v->kind == JSON_IS_OBJECT && !members_differ(r, v))
		return false;
	if (r->opaque)
		arena_rewind(r->arena, before);
	return true;
}

/* ---- Values ---- */

static bool read_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(r->at, word, len) != 0)
		return fail(r, "a value is expected");
	r->at += len;
	return true;
}

static bool read_value(struct reader *r, struct json *v, const void *place)
{
	switch (*r->at) {
	case '{':
		return read_many(r, v, '}', place);
	case '[':
		return read_many(r, v, ']', place);
	case '"':
		v->kind = JSON_IS_TEXT;
		return read_string(r, r->opaque ? NULL : &v->text);
	case 't':
		v->kind = JSON_IS_BOOL;
		v->truth = true;
		return read_word(r, "true");
	case 'f':
		v->kind = JSON_IS_BOOL;
		return read_word(r, "false");
	case 'n':
		return read_word(r, "null");
	default:
		if (*r->at == '-' || is_digit(*r->at))
			return read_number(r, v);
		return fail(r, strncmp(r->at, "\xef\xbb\xbf", 3) ? "a value is expected" : "send UTF-8 without a BOM");
	}
}

static void note_place(struct json_error *e, const char *from, const char *at)
{
	e->line = e->column = 1;
	for (; from < at; from++) {
		bool begins = ((unsigned char)*from & 0xc0) != 0x80;
		e->line += *from == '\n';
		e->column = *from == '\n' ? 1 : e->column + begins;
	}
}

/* Reads one value, which may only have white space around it. */
static bool read_document(struct reader *r, struct text text, struct json *v, const void *place)
{
	skip_space(r);
	if (!read_value(r, v, place))
		return false;
	skip_space(r);
	return r->at == text.at + text.len || fail(r, "text follows the JSON value");
}

const struct json *json_read(struct arena *arena, struct text text, json_place *place_of, const void *root,
			     struct json_error *error)
{
	struct reader r = { .arena = arena, .at = text.at, .place_of = place_of };
	struct json *v = arena_alloc(arena, sizeof(*v));

	assert(text.at[text.len] == '\0');
	if (v && read_document(&r, text, v, root))
		return v;
	error->why = r.why;
	note_place(error, text.at, r.at);
	return NULL;
}

const struct json *json_read_own(struct arena *arena, struct text text, json_place *place_of, const void *root)
{
	struct reader r = { .arena = arena, .at = text.at, .place_of = place_of, .deeper = OWN_DEPTH };
	struct json *v = arena_alloc(arena, sizeof(*v));

	assert(text.at[text.len] == '\0');
	return v && read_document(&r, text, v, root) ? v : NULL;
}

bool json_read_is_valid_within(struct arena *arena, struct text text, unsigned levels)
{
	struct reader r = { .arena = arena, .at = text.at, .opaque = true, .depth = levels };
	struct json unread = { 0 };

	return text.at && read_document(&r, text, &unread, NULL);
}

bool json_read_is_valid(struct arena *arena, struct text text)
{
	return json_read_is_valid_within(arena, text, 0);
}
