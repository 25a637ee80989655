/*
 * Tests of json_tree: it reads documents of json_out as they were written. It accepts and refuses
 * any other text as jansson does, and reads the same value. It accepts opaque values by the same
 * rules, and keeps their bytes.
 */
#include <jansson.h>
#include <math.h>

#include "core/budget.h"
#include "stride.h"
#include "test.h"
#include "json/out.h"
#include "json/read.h"

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
		const char *piece = pieces[(size_t)rand() % (COUNT(pieces))];
		memcpy(bytes + n, piece, strlen(piece));
		n += strlen(piece);
	}
	return (struct text){ bytes, n };
}

/* True when jansson read the same value. */
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
	case JSON_IS_OPAQUE:
		return false;
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

TEST(random_documents)
{
	struct json_error error;

	srand(4);
	for (int i = 0; i < 3000 / stride(); i++) {
		out_init(&out, &arena, 8);
		json_t *wanted = json_object();
		out_object(&out, NULL);
		json_object_set_new(wanted, "it", write_random("it", 0));
		out_close(&out);
		struct text bytes = arena_copy(&arena, out.at, out.len);
		const struct json *got = json_read(&arena, bytes, NULL, NULL, &error);
		if (!got)
			fail_msg("document %d: %.*s: %s", i, (int)bytes.len, bytes.at, error.why);
		if (!is_same(got, wanted))
			fail_msg("document %d: %.*s is not what was meant", i, (int)bytes.len, bytes.at);
		json_decref(wanted);
		arena_free(&arena);
	}
	arena_free_cache();
}

static const char root_place, deep_place;

/* All members of the root but "deep" are opaque, and so are the items of "deep". */
static const void *members_are_opaque(const void *parent, struct text key, bool *opaque)
{
	*opaque = parent != &root_place || !text_is(key, "deep");
	return &deep_place;
}

/*
 * No digit is lost, no real becomes an integer, no escape is resolved, no space between tokens is
 * removed.
 */
TEST(opaque_values_keep_their_bytes)
{
	static const char *const values[] = {
		"5",
		"1.10",
		"-0",
		"-0.0",
		"1e5",
		"1E+2",
		"1e999",
		"-1e-999",
		"0.1000000000000000055511151231257827",
		"123456789012345678901234567890",
		"9223372036854775808",
		"true",
		"false",
		"null",
		"\"\"",
		"\"plain\"",
		"\"\\u0000\\ud83d\\ude00\\/\\b\\u0041\"",
		"\"\xf0\x9f\x98\x80 \xc3\xa9\"",
		"{}",
		"[ ]",
		"{ \"b\" : [ ] ,\n\t\"a\":{\"\\u0061\":1.0}\r\n}",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
	};
	struct json_error error;

	for (size_t i = 0; i < COUNT(values); i++) {
		struct text given =
			arena_printf(&arena, " { \"a\" : %s , \"deep\":[%s\t,%s]}", values[i], values[i], values[i]);
		const struct json *got = json_read(&arena, given, members_are_opaque, &root_place, &error);
		if (!got)
			fail_msg("%s: %s", given.at, error.why);
		const struct json *a = got->first, *item = a->next->first;
		for (const struct json *one = a; one; one = one == a ? item : one->next)
			if (one->kind != JSON_IS_OPAQUE || !text_is(one->text, values[i]))
				fail_msg("%s became %.*s", values[i], (int)one->text.len, one->text.at);
		assert_true(json_read_is_valid(&arena, given));
		arena_free(&arena);
	}
	arena_free_cache();
}

TEST(numbers_beyond_64_bits_are_reals)
{
	struct json_error error;
	const struct json *got =
		json_read(&arena, TEXT("[9223372036854775807,-9223372036854775808,9223372036854775808,1e999]"), NULL,
			  NULL, &error);
	const struct json *one = got->first;

	assert_true(one->kind == JSON_IS_INTEGER && one->integer == INT64_MAX);
	one = one->next;
	assert_true(one->kind == JSON_IS_INTEGER && one->integer == INT64_MIN);
	one = one->next;
	assert_true(one->kind == JSON_IS_REAL && one->real >= 0x1p63);
	one = one->next;
	assert_true(one->kind == JSON_IS_REAL && isinf(one->real));
	arena_free(&arena);
	arena_free_cache();
}

/* Items need no memory. The names of an object need memory only until the object ends. */
TEST(checked_values_take_no_memory)
{
	static const char item[] = "[1,{\"a\":\"\\n\"},2.5,\"\\ud83d\\ude00\"],";
	enum { ITEMS = 10000 };
	char *bytes = malloc(ITEMS * sizeof(item)), *to = bytes;

	*to++ = '[';
	for (int i = 0; i < ITEMS; i++)
		to = (char *)memcpy(to, item, sizeof(item) - 1) + sizeof(item) - 1;
	to[-1] = ']';
	*to = '\0';
	arena.bounded = true;
	budget_limit(budget_used() + 2 * 3680);
	assert_true(json_read_is_valid(&arena, (struct text){ bytes, (size_t)(to - bytes) }));
	budget_limit(SIZE_MAX);
	arena_free(&arena);
	arena_free_cache();
	free(bytes);
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

/* A text that jansson accepts is read as the same value; one that it refuses is refused. */
TEST(broken_documents)
{
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
		struct text text = { bytes, len };
		json_error_t other;
		json_t *wanted =
			json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &other);
		const struct json *got = json_read(&arena, text, NULL, NULL, &error);
		if (!got != !wanted && json_error_code(&other) != json_error_numeric_overflow)
			fail_msg("%.*s: only %s takes it", (int)len, bytes, got ? "our reader" : "jansson");
		if (got && wanted && !is_same(got, wanted))
			fail_msg("%.*s was read as something else", (int)len, bytes);
		if (json_read_is_valid(&arena, text) != !!got)
			fail_msg("%.*s: checked it is %s JSON", (int)len, bytes, got ? "no" : "");
		taken += got != NULL;
		json_decref(wanted);
		arena_free(&arena);
	}
	assert_in_range(taken, 1000 / stride(), 29000 / stride()); /* both kinds occurred */
	arena_free_cache();
}

/* An error names its place. */
TEST(faults_are_named)
{
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
		{ TEXT("\xef\xbb\xbf{}"), "send UTF-8 without a BOM", 1, 1 },
		{ TEXT("\xef\xbb{}"), "a value is expected", 1, 1 },
		{ TEXT("{\"a\":01}"), "',' or '}' is expected", 1, 7 },
		{ TEXT("{\"a\":-}"), "a digit is expected", 1, 7 },
		{ TEXT("{\"a\":1.}"), "a digit is expected", 1, 8 },
		{ TEXT("{\"a\":1e+}"), "a digit is expected", 1, 9 },
		{ TEXT("{\"a\":\"x"), "a string does not end", 1, 8 },
		{ TEXT("{\"a\":\"x\ny\"}"), "a string contains a control character", 1, 8 },
		{ TEXT("{\"a\":\"\\x\"}"), "a string has an unknown escape", 1, 9 },
		{ TEXT("{\"a\":\"\\u12g4\"}"), "\\u must be followed by four hex digits", 1, 11 },
		{ TEXT("{\"a\":\"\\ud800\"}"), "a surrogate is not part of a pair", 1, 13 },
		{ TEXT("{\"a\":\"\\udc00\\ud800\"}"), "a surrogate is not part of a pair", 1, 13 },
		{ TEXT("{\"a\":\"\xed\xa0\x80\"}"), "a string is not UTF-8", 1, 7 },
		{ TEXT("{\"a\\u0000\":1}"), "the name of a member has a NUL in it", 1, 11 },
		{ TEXT("{\"a\":1,\"a\":2}"), "an object has a duplicate name", 1, 14 },
		{ TEXT("{} {}"), "text follows the JSON value", 1, 4 },
		{ TEXT("{}\0"), "text follows the JSON value", 1, 3 },
	};
	struct json_error error;

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_null(json_read(&arena, rows[i].given, NULL, NULL, &error));
		assert_string_equal(error.why, rows[i].why);
		assert_false(json_read_is_valid(&arena, rows[i].given));
		if (error.line != rows[i].line || error.column != rows[i].column)
			fail_msg("%s: at %zu:%zu", rows[i].given.at, error.line, error.column);
		arena_free(&arena);
	}
	arena_free_cache();
}

/* `count` members with different names; with `repeats` the last has the name of the first. */
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

TEST(names_meet_in_objects_of_any_size)
{
	struct json_error error;

	/* Each of the usual sizes: a table of names that is too full for one never ends. */
	for (size_t count = 2; count < 100000 / (size_t)stride(); count += count < 300 ? 1 : count / 2) {
		struct text wide = wide_object(count, false), twice = wide_object(count, true);
		const struct json *got = json_read(&arena, wide, NULL, NULL, &error);
		assert_non_null(got);
		assert_int_equal(got->count, count);
		assert_null(json_read(&arena, twice, NULL, NULL, &error));
		assert_string_equal(error.why, "an object has a duplicate name");
		assert_true(json_read_is_valid(&arena, wide));
		assert_false(json_read_is_valid(&arena, twice));
		arena_free(&arena);
	}
	arena_free_cache();
}

TEST(depth_ends_at_32)
{
	static const char levels[] = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"; /* 33 */
	struct text deep = TEXT(levels), most = arena_copy(&arena, levels + 1, sizeof(levels) - 3);
	struct json_error error;

	assert_non_null(json_read(&arena, most, NULL, NULL, &error));
	assert_null(json_read(&arena, deep, NULL, NULL, &error));
	assert_string_equal(error.why, "it is nested more than 32 levels deep");
	assert_true(json_read_is_valid(&arena, most));
	assert_false(json_read_is_valid(&arena, deep));
	arena_free(&arena);
	arena_free_cache();
}

/* Whichever allocation fails, the document is refused as a whole. */
TEST(memory_may_end_anywhere)
{
	static const struct text given = TEXT(
		"{\"body\":{\"a\":[1,2.5,true,null,\"\\n is no longer than that\",[[\"\"]]],"
		"\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":5,\"g\":6,\"h\":7,\"i\":8,\"j\":9,\"k\":0,\"l\":1,\"m\":2,\"n\":3}}");
	enum { BLOCK = 3648 /* FIRST_BLOCK of arena.c */, STEP = 16 };
	unsigned whole = 0, refused = 0;
	struct json_error error;

	for (size_t before = STEP; before < BLOCK; before += STEP) {
		arena_alloc(&arena, before);
		arena.bounded = true;
		budget_limit(budget_used() + BLOCK - STEP); /* enough for the tree, not for another block */
		const struct json *got = json_read(&arena, given, NULL, NULL, &error);
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
