/*
 * Tests of json_out: jansson reads exactly the value that was written, and the output has the form
 * that the contract defines.
 */
#include <jansson.h>
#include <time.h>

#include "stride.h"
#include "test.h"
#include "json/out.h"

static struct arena arena;
static struct json_out out;

static int fresh(void **state)
{
	out_init(&out, &arena, 8); /* small, so that most texts make it grow */
	return 0;
}

static int end(void **state)
{
	arena_free(&arena);
	arena_free_cache();
	return 0;
}

static void assert_wrote(const char *wanted)
{
	if (out.len != strlen(wanted) || memcmp(out.at, wanted, out.len) != 0)
		fail_msg("wrote %.*s instead of %s", (int)out.len, out.at, wanted);
	arena_free(&arena);
	fresh(NULL);
}

/* Parses the output, and starts the writer again. */
static json_t *read_back(void)
{
	json_error_t error;
	json_t *root = json_loadb(out.at, out.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

	if (!root)
		fail_msg("wrote %.*s: %s", (int)out.len, out.at, error.text);
	arena_free(&arena);
	fresh(NULL);
	return root;
}

#define REPLACED "\xef\xbf\xbd"

SUITE(.before = fresh, .after = end);

TEST(texts)
{
	static const struct {
		struct text given;
		const char *wanted;
	} rows[] = {
		{ { NULL, 0 }, "null" },
		{ { "", 0 }, "\"\"" },
		{ TEXT("plain"), "\"plain\"" },
		{ TEXT("\"\\/"), "\"\\\"\\\\/\"" },
		{ TEXT("\n\t\r\b\f"), "\"\\n\\t\\u000d\\u0008\\u000c\"" },
		{ TEXT("a\0b\x1f\x7f"), "\"a\\u0000b\\u001f\\u007f\"" },
		{ TEXT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ TEXT("a\xff"), "\"a" REPLACED "\"" },
		{ TEXT("\xc3"), "\"" REPLACED "\"" },
		{ TEXT("\xc3\"\xa9"), "\"" REPLACED "\\\"" REPLACED "\"" }, /* the quote is kept */
		{ TEXT("\xc0\xaf"), "\"" REPLACED REPLACED "\"" },
		{ TEXT("\xed\xa0\x80"), "\"" REPLACED REPLACED REPLACED "\"" }, /* a surrogate */
		{ TEXT("\xe2\x82\xac\xff\xe2\x82\xac"), "\"\xe2\x82\xac" REPLACED "\xe2\x82\xac\"" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		out_text(&out, NULL, rows[i].given);
		assert_wrote(rows[i].wanted);
	}
	out_string(&out, NULL, NULL);
	assert_wrote("null");
}

/* The test vectors of RFC 4648 section 10, and lengths that they do not cover. */
TEST(base64)
{
	static const struct {
		struct text given;
		const char *wanted;
	} rows[] = {
		{ TEXT(""), "\"\"" },
		{ TEXT("f"), "\"Zg==\"" },
		{ TEXT("fo"), "\"Zm8=\"" },
		{ TEXT("foo"), "\"Zm9v\"" },
		{ TEXT("foob"), "\"Zm9vYg==\"" },
		{ TEXT("fooba"), "\"Zm9vYmE=\"" },
		{ TEXT("foobar"), "\"Zm9vYmFy\"" },
		{ TEXT("\0\0\0"), "\"AAAA\"" },
		{ TEXT("\xff\xfe\xfb\xef\xbe"), "\"//77774=\"" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		out_base64(&out, NULL, rows[i].given);
		assert_wrote(rows[i].wanted);
	}
	out_object(&out, NULL);
	out_base64(&out, "a", TEXT("foo"));
	out_base64(&out, "b", TEXT("f"));
	out_close(&out);
	assert_wrote("{\"a\":\"Zm9v\",\"b\":\"Zg==\"}");
}

TEST(any_bytes_become_a_string)
{
	char bytes[64];

	srand(2);
	for (int i = 0; i < 20000 / stride(); i++) {
		size_t n = (size_t)rand() % sizeof(bytes);
		for (size_t j = 0; j < n; j++)
			bytes[j] = (char)(rand() % 3 ? rand() : 0xc0 + rand() % 64);
		out_text(&out, NULL, (struct text){ bytes, n });
		json_t *back = read_back();
		assert_true(json_is_string(back));
		if (text_is_utf8((struct text){ bytes, n })) {
			assert_int_equal(json_string_length(back), n);
			assert_memory_equal(json_string_value(back), bytes, n);
		}
		json_decref(back);
	}
}

/*
 * The work is proportional to the number of bytes, whatever they are, because names come from
 * clients.
 */
TEST(bad_bytes_cost_no_more_than_good_ones)
{
	static char bytes[100000];
	clock_t start = clock();

	memset(bytes, 0xff, sizeof(bytes));
	out_text(&out, NULL, (struct text){ bytes, sizeof(bytes) });
	assert_int_equal(out.len, 2 + 3 * sizeof(bytes));
	assert_true(clock() - start < CLOCKS_PER_SEC);
}

TEST(integers)
{
	static const struct {
		int64_t given;
		const char *wanted;
	} rows[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ -1, "-1" },
		{ 10, "10" },
		{ INT64_C(9007199254740991), "9007199254740991" },
		{ INT64_C(9007199254740992), "9007199254740992" }, /* 2^53 */
		{ INT64_C(9007199254740993), "9007199254740993" },
		{ INT64_C(-9007199254740992), "-9007199254740992" },
		{ INT64_C(-9007199254740993), "-9007199254740993" },
		{ INT64_MAX, "9223372036854775807" },
		{ INT64_MIN, "-9223372036854775808" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		out_int(&out, NULL, rows[i].given);
		assert_wrote(rows[i].wanted);
	}
}

/* The digits are valid JSON, and read back as the same double, bit for bit. */
static void check_real(double value)
{
	uint64_t wanted, got;

	memcpy(&wanted, &value, sizeof(wanted));
	out_real(&out, NULL, value);
	out_newline(&out);
	double back = strtod(out.at, NULL);
	memcpy(&got, &back, sizeof(got));
	if (wanted != got)
		fail_msg("%.17g was written as %.*s", value, (int)out.len - 1, out.at);
	json_decref(read_back());
}

TEST(reals)
{
	static const struct {
		double given;
		const char *wanted;
	} rows[] = {
		{ 0.0, "0" },
		{ -0.0, "-0" },
		{ 1.0, "1" },
		{ 0.1, "0.1" },
		{ 0.3, "0.3" },
		{ -2.5, "-2.5" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 33.0047, "33.0047" },
		{ 116.334255, "116.334255" },
		{ 1e300, "1e+300" },
		{ 5e-324, "4.94065645841247e-324" },
		{ 1.0 / 0.0, "null" },
		{ -1.0 / 0.0, "null" },
		{ __builtin_nan(""), "null" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		out_real(&out, NULL, rows[i].given);
		assert_wrote(rows[i].wanted);
		if (rows[i].given - rows[i].given == 0)
			check_real(rows[i].given);
	}
	srand(3);
	for (int i = 0; i < 50000 / stride(); i++) {
		uint64_t bits = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
		double value;
		memcpy(&value, &bits, sizeof(value));
		if (value - value == 0)
			check_real(value);
	}
}

TEST(nesting_and_commas)
{
	out_object(&out, NULL);
	out_int(&out, "a", 1);
	out_object(&out, "b");
	out_close(&out);
	out_array(&out, "c");
	out_array(&out, NULL);
	out_close(&out);
	out_null(&out, NULL);
	out_object(&out, NULL);
	out_bool(&out, "d", true);
	out_bool(&out, "e", false);
	out_close(&out);
	out_close(&out);
	out_raw(&out, "f", TEXT("[1, {}]"));
	out_key(&out, TEXT("k\"\n")); /* keys that are data */
	out_int(&out, NULL, 2);
	out_key(&out, TEXT(""));
	out_array(&out, NULL);
	out_int(&out, NULL, 3);
	out_close(&out);
	out_key(&out, TEXT("\xff"));
	out_text(&out, NULL, (struct text){ NULL, 0 });
	out_close(&out);
	out_newline(&out);
	assert_wrote("{\"a\":1,\"b\":{},\"c\":[[],null,{\"d\":true,\"e\":false}],\"f\":[1, {}],\"k\\\"\\n\":2,"
		     "\"\":[3],\"" REPLACED "\":null}\n");
	for (int i = 0; i < 64; i++)
		i < 32 ? out_array(&out, NULL) : out_close(&out);
	assert_wrote("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
}

/* Another program may have changed a value in Redis. */
TEST(what_is_not_json_breaks_the_answer)
{
	static const struct text rows[] = { { NULL, 0 },
					    TEXT(""),
					    TEXT("{]"),
					    TEXT("[1,]"),
					    TEXT("01"),
					    TEXT("\"\\x\""),
					    TEXT("{\"a\":1,\"a\":1}"),
					    TEXT("1,\"b\":2"),
					    TEXT("nul"),
					    TEXT("\"\xff\"") };

	for (size_t i = 0; i < COUNT(rows); i++) {
		out_raw(&out, NULL, rows[i]);
		assert_true(out.broken);
		out.broken = false;
		assert_wrote("null");
	}
	out_raw(&out, NULL, TEXT("[1.10, {\"a\":1e5}]"));
	assert_false(out.broken);
}
