/*
 * JSON tree: documents of our writer are read as what was meant, and leave again as the very bytes that came; of any other text the reader
 * thinks as jansson does, which is the referee here.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/budget.h"
#include "stride.h"
#include "json/json_out.h"
#include "json/json_tree.h"

static struct arena arena;
static struct json_out out;

/* A text of up to nine code points, as likely a quote or control as anything else. */
static struct text random_text(char bytes[40])
{
	static const char *const pieces[] = { "\"", "\\",   "\n",       "\x01",         "a",
					      "/",  "\x7f", "\xc2\x80", "\xe2\x80\xa8", "\xf4\x8f\xbf\xbf",
					      "0",  " " };
	size_t n = 0;

	for (int i = rand() % 10; i > 0; i--) {
		const char *piece = pieces[(size_t)rand() % (sizeof(pieces) / sizeof(pieces[0]))];
		memcpy(bytes + n, piece, strlen(piece));
		n += strlen(piece);
	}
	return (struct text){ bytes, n };
}

/* True when the referee read the same. */
static bool is_same(const struct json *a, json_t *b)
{
	const struct json *one = NULL;
	size_t i = 0;

	switch (a->kind) {
	case JSON_IS_NULL:
		return json_is_null(b);
	case JSON_IS_BOOL:
		return json_is_boolean(b) && json_is_true(b) == a->truth;
	case JSON_IS_INTEGER:
		return json_is_integer(b) && json_integer_value(b) == a->integer;
	case JSON_IS_REAL:
		return json_is_real(b) && json_real_value(b) == a->real;
	case JSON_IS_TEXT:
		return json_is_string(b) &&
		       text_equal(a->text, (struct text){ json_string_value(b), json_string_length(b) });
	case JSON_IS_ARRAY:
		if (!json_is_array(b) || json_array_size(b) != a->count)
			return false;
		for (one = a->first; one && is_same(one, json_array_get(b, i)); one = one->next)
			i++;
		return !one && i == a->count;
	case JSON_IS_OBJECT:
		if (!json_is_object(b) || json_object_size(b) != a->count)
			return false;
		for (one = a->first; one; one = one->next)
			if (!json_object_get(b, one->key.at) || !is_same(one, json_object_get(b, one->key.at)))
				return false;
		return true;
	}
	return false;
}

/* Writes a random value, and returns the tree that it should be read back as. */
static json_t *write_random(const char *key, int depth)
{
	char bytes[40], name[8];
	int kind = rand() % (depth < 6 ? 8 : 6);
	int64_t integer = ((int64_t)rand() << 22) - ((int64_t)1 << 51);
	double real = (double)(integer >> 12) + 0.625; /* never whole: a whole one would be read back as an integer */

	if (kind >= 6) {
		json_t *all = kind == 6 ? json_object() : json_array();
		(kind == 6 ? out_object : out_array)(&out, key);
		for (int i = rand() % 6; i > 0; i--) {
			snprintf(name, sizeof(name), "k%d", i);
			json_t *one = write_random(kind == 6 ? name : NULL, depth + 1);
			if (kind == 6)
				json_object_set_new(all, name, one);
			else
				json_array_append_new(all, one);
		}
		out_close(&out);
		return all;
	}
	struct text t = random_text(bytes);
	switch (kind) {
	case 0:
		out_int(&out, key, integer);
		return json_integer(integer);
	case 1:
		out_real(&out, key, real);
		return json_real(real);
	case 2:
		out_bool(&out, key, integer > 0);
		return json_boolean(integer > 0);
	case 3:
		out_null(&out, key);
		return json_null();
	default:
		out_text(&out, key, t);
		return json_stringn(t.at, t.len);
	}
}

static void random_documents(void **state)
{
	(void)state;
	struct json_error error;

	srand(4);
	for (int i = 0; i < 3000 / stride(); i++) {
		out_init(&out, &arena, 8);
		json_t *wanted = json_object();
		out_object(&out, NULL);
		json_object_set_new(wanted, "it", write_random("it", 0));
		out_close(&out);
		struct text bytes = arena_copy(&arena, out.at, out.len);
		const struct json *got = json_tree_read(&arena, bytes, &error);
		if (!got)
			fail_msg("document %d: %.*s: %s", i, (int)bytes.len, bytes.at, error.why);
		if (!is_same(got, wanted))
			fail_msg("document %d: %.*s is not what was meant", i, (int)bytes.len, bytes.at);
		struct text again = json_tree_text(&arena, got);
		if (!text_equal(bytes, again))
			fail_msg("%.*s left as %.*s", (int)bytes.len, bytes.at, (int)again.len, again.at);
		json_decref(wanted);
		arena_free(&arena);
	}
	arena_free_cache();
}

/* What a client sent leaves again as it was: no number loses a digit, no real becomes an integer. */
static void values_keep_their_form(void **state)
{
	(void)state;
	static const struct {
		struct text given;
		const char *wanted;
	} rows[] = {
		{ TEXT("{}"), "{}" },
		{ TEXT(" { \"b\" : [ ] ,\n\t\"a\":{} } "), "{\"b\":[],\"a\":{}}" }, /* in the order it came */
		{ TEXT("{\"a\":5,\"b\":5.0,\"c\":-0.0,\"d\":-0}"), "{\"a\":5,\"b\":5.0,\"c\":-0.0,\"d\":0}" },
		{ TEXT("{\"a\":0.1,\"b\":1e300,\"c\":1E2}"), "{\"a\":0.1,\"b\":1e+300,\"c\":100.0}" },
		{ TEXT("{\"a\":9223372036854775807,\"b\":-9223372036854775808}"),
		  "{\"a\":9223372036854775807,\"b\":-9223372036854775808}" },
		{ TEXT("{\"a\":9007199254740993,\"b\":9007199254740993.0}"),
		  "{\"a\":9007199254740993,\"b\":9007199254740992.0}" },
		{ TEXT("{\"a\":\"\\u0000\\ud83d\\ude00\\/\\b\"}"), "{\"a\":\"\\u0000\xf0\x9f\x98\x80/\\u0008\"}" },
		{ TEXT("{\"\\u00e9\\n\":[null,true,false]}"), "{\"\xc3\xa9\\n\":[null,true,false]}" },
	};
	struct json_error error;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct json *got = json_tree_read(&arena, rows[i].given, &error);
		if (!got)
			fail_msg("%s: %s", rows[i].given.at, error.why);
		struct text again = json_tree_text(&arena, got);
		if (!text_is(again, rows[i].wanted))
			fail_msg("%s left as %.*s", rows[i].given.at, (int)again.len, again.at);
		arena_free(&arena);
	}
	arena_free_cache();
}

/* Breaks a text in one to three places. */
static void break_somewhere(char *bytes, size_t *len)
{
	static const char pieces[] = "{}[]\",:\\/u0123456789-+.eEtruefalsn \t\n\x01\xc3\xa9\xed\xa0\x80\xff";

	for (int i = 1 + rand() % 3; i > 0 && *len > 0; i--) {
		size_t at = (size_t)rand() % *len;
		switch (rand() % 3) {
		case 0:
			bytes[at] = pieces[(size_t)rand() % (sizeof(pieces) - 1)];
			break;
		case 1:
			memmove(bytes + at, bytes + at + 1, *len - at - 1);
			--*len;
			break;
		default:
			memmove(bytes + at + 1, bytes + at, *len - at);
			++*len;
		}
	}
	bytes[*len] = '\0';
}

/* What jansson takes is taken as the same, and what it refuses is refused. */
static void broken_documents(void **state)
{
	(void)state;
	struct json_error error;
	int taken = 0;

	srand(5);
	for (int i = 0; i < 30000 / stride(); i++) {
		out_init(&out, &arena, 8);
		json_decref(write_random(NULL, 3));
		char *bytes = arena_alloc(&arena, out.len + 8);
		size_t len = out.len;
		memcpy(bytes, out.at, len);
		break_somewhere(bytes, &len);
		json_t *wanted =
			json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
		const struct json *got = json_tree_read(&arena, (struct text){ bytes, len }, &error);
		if (!got != !wanted)
			fail_msg("%.*s: only %s takes it", (int)len, bytes, got ? "our reader" : "jansson");
		if (got && !is_same(got, wanted))
			fail_msg("%.*s was read as something else", (int)len, bytes);
		taken += got != NULL;
		json_decref(wanted);
		arena_free(&arena);
	}
	assert_in_range(taken, 1000 / stride(), 29000 / stride()); /* both kinds were there */
	arena_free_cache();
}

/* What is wrong is named, with its place. */
static void faults_are_named(void **state)
{
	(void)state;
	static const struct {
		struct text given;
		const char *why;
		size_t line, column;
	} rows[] = {
		{ TEXT(""), "a value is expected", 1, 1 },
		{ TEXT("{\"a\":1,}"), "the name of a member is expected, in double quotes", 1, 8 },
		{ TEXT("{\"a\" 1}"), "':' is expected", 1, 6 },
		{ TEXT("{\"a\":1\n \"b\":2}"), "',' or '}' is expected", 2, 2 },
		{ TEXT("{\"\xc3\xa9\":[1 2]}"), "',' or ']' is expected", 1, 9 },
		{ TEXT("{\"a\":tru}"), "a value is expected", 1, 6 },
		{ TEXT("{\"a\":01}"), "',' or '}' is expected", 1, 7 },
		{ TEXT("{\"a\":-}"), "a digit is expected", 1, 7 },
		{ TEXT("{\"a\":1.}"), "a digit is expected", 1, 8 },
		{ TEXT("{\"a\":1e+}"), "a digit is expected", 1, 9 },
		{ TEXT("{\"a\":9223372036854775808}"), "an integer has more than 64 bits", 1, 25 },
		{ TEXT("{\"a\":1e999}"), "a number is too large", 1, 11 },
		{ TEXT("{\"a\":\"x"), "a string does not end", 1, 8 },
		{ TEXT("{\"a\":\"x\ny\"}"), "a control character stands in a string", 1, 8 },
		{ TEXT("{\"a\":\"\\x\"}"), "no such escape in a string", 1, 9 },
		{ TEXT("{\"a\":\"\\u12g4\"}"), "\\u is followed by four hex digits", 1, 11 },
		{ TEXT("{\"a\":\"\\ud800\"}"), "half of a surrogate pair stands alone", 1, 13 },
		{ TEXT("{\"a\":\"\\udc00\\ud800\"}"), "half of a surrogate pair stands alone", 1, 13 },
		{ TEXT("{\"a\":\"\xed\xa0\x80\"}"), "a string is not UTF-8", 1, 7 },
		{ TEXT("{\"a\\u0000\":1}"), "the name of a member has a NUL in it", 1, 11 },
		{ TEXT("{\"a\":1,\"a\":2}"), "an object has a duplicate name", 1, 14 },
		{ TEXT("{} {}"), "something follows behind the end", 1, 4 },
		{ TEXT("{}\0"), "something follows behind the end", 1, 3 },
	};
	struct json_error error;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(json_tree_read(&arena, rows[i].given, &error));
		assert_string_equal(error.why, rows[i].why);
		if (error.line != rows[i].line || error.column != rows[i].column)
			fail_msg("%s: at %zu:%zu", rows[i].given.at, error.line, error.column);
		arena_free(&arena);
	}
	arena_free_cache();
}

/* `count` members with names of their own; the last one's is the first one's, if so wished. */
static struct text wide_object(size_t count, bool repeats)
{
	out_init(&out, &arena, 64);
	out_object(&out, NULL);
	for (size_t i = 0; i < count; i++) {
		char name[24];
		snprintf(name, sizeof(name), "k%zu", repeats && i == count - 1 ? 0 : i);
		out_null(&out, name);
	}
	out_close(&out);
	return arena_copy(&arena, out.at, out.len);
}

static void names_meet_in_objects_of_any_size(void **state)
{
	(void)state;
	struct json_error error;

	for (size_t count = 2; count < 100000 / (size_t)stride(); count = count * 3 / 2 + 1) {
		const struct json *got = json_tree_read(&arena, wide_object(count, false), &error);
		assert_non_null(got);
		assert_int_equal(got->count, count);
		assert_null(json_tree_read(&arena, wide_object(count, true), &error));
		assert_string_equal(error.why, "an object has a duplicate name");
		arena_free(&arena);
	}
	arena_free_cache();
}

static void depth_ends_at_32(void **state)
{
	(void)state;
	static const char levels[] = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"; /* 33 */
	struct text deep = TEXT(levels), most = arena_copy(&arena, levels + 1, sizeof(levels) - 3);
	struct json_error error;

	assert_non_null(json_tree_read(&arena, most, &error));
	assert_null(json_tree_read(&arena, deep, &error));
	assert_string_equal(error.why, "it is nested more than 32 levels deep");
	arena_free(&arena);
	arena_free_cache();
}

/* Whichever allocation is the one that has no room: refused as a whole. */
static void memory_may_end_anywhere(void **state)
{
	(void)state;
	static const struct text given = TEXT(
		"{\"body\":{\"a\":[1,2.5,true,null,\"\\n is no longer than that\",[[\"\"]]],"
		"\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":5,\"g\":6,\"h\":7,\"i\":8,\"j\":9,\"k\":0,\"l\":1,\"m\":2,\"n\":3}}");
	enum { BLOCK = 3776 /* FIRST_BLOCK of arena.c */, STEP = 16 };
	unsigned whole = 0, refused = 0;
	struct json_error error;

	for (size_t before = STEP; before < BLOCK; before += STEP) {
		arena_alloc(&arena, before);
		arena.bounded = true;
		budget_limit(budget_used() + BLOCK - STEP); /* enough for the tree, not for another block */
		const struct json *got = json_tree_read(&arena, given, &error);
		if (!got)
			assert_null(error.why);
		whole += got != NULL;
		refused += !got;
		budget_limit(SIZE_MAX);
		arena_free(&arena);
	}
	assert_true(whole > 0 && refused > 20);
	arena_free_cache();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_documents),
		cmocka_unit_test(values_keep_their_form),
		cmocka_unit_test(broken_documents),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(names_meet_in_objects_of_any_size),
		cmocka_unit_test(depth_ends_at_32),
		cmocka_unit_test(memory_may_end_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
