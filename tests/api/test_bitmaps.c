/*
 * Bitmaps over HTTP: bits, bytes as base64, counts, positions, and integer fields that are exact to
 * the last digit.
 */
#include "stage.h"
#include "test.h"

#define MIB (1024 * 1024)

static struct answer put(const char *target, const char *body)
{
	return http(client, "PUT", target, body);
}

static struct answer fields(const char *operations)
{
	char body[2048];

	snprintf(body, sizeof(body), "{\"operations\":[%s]}", operations);
	return post("/bitmaps/f/fields", body);
}

/* A refusal with this pointer and a detail that contains `word`. */
static void assert_refused(struct answer a, const char *code, const char *pointer, const char *word)
{
	assert_problem(a, 400, code, "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
	if (!strstr(text_at(a, "/errors/0/detail"), word))
		fail_msg("'%s' does not contain '%s'", text_at(a, "/errors/0/detail"), word);
}

/* ---- Bits ---- */

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(bits_are_written_and_read)
{
	struct answer a = put("/bitmaps/b/bits/9", "{\"value\":1}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "b");
	assert_int_equal(int_at(a, "/offset"), 9);
	assert_int_equal(int_at(a, "/previous"), 0);
	assert_int_equal(int_at(put("/bitmaps/b/bits/9", "{\"value\":1}"), "/previous"), 1);
	a = get("/bitmaps/b/bits/9");
	assert_int_equal(int_at(a, "/value"), 1);
	assert_int_equal(int_at(a, "/offset"), 9);
	assert_int_equal(int_at(get("/bitmaps/b/bits/8"), "/value"), 0);
	assert_int_equal(int_at(get("/bitmaps/b/bits/4294967295"), "/value"), 0);
	assert_string_equal(text_at(get("/bitmaps/b"), "/base64"),
			    "AEA="); /* bit 9: the second highest of the second byte */
	assert_int_equal(int_at(put("/bitmaps/b/bits/9", "{\"value\":0}"), "/previous"), 1);
	assert_int_equal(int_at(get("/bitmaps/b/count"), "/count"), 0);
}

TEST(offsets_end_where_redis_ends)
{
	static const struct {
		const char *offset, *code;
	} rows[] = {
		{ "4294967296", "out_of_range" }, { "-1", "out_of_range" },
		{ "1.0", "wrong_type" },          { "x", "wrong_type" },
		{ "%20", "wrong_type" },          { "18446744073709551616", "wrong_type" },
	};
	char target[64];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/bitmaps/b/bits/%s", rows[i].offset);
		assert_problem(get(target), 400, rows[i].code, "none");
		assert_problem(put(target, "{\"value\":1}"), 400, rows[i].code, "none");
	}
	assert_problem(put("/bitmaps/b/bits/0", "{\"value\":2}"), 400, "out_of_range", "none");
	assert_problem(put("/bitmaps/b/bits/0", "{\"value\":true}"), 400, "wrong_type", "none");
	assert_problem(put("/bitmaps/b/bits/0", "{}"), 400, "missing_field", "none");
	assert_int_equal(server_keys(&redis), 0);
}

/* ---- Whole bitmaps ---- */

TEST(a_bitmap_goes_in_and_comes_out)
{
	struct answer a = put("/bitmaps/b", "{\"base64\":\"AP+A\"}");
	assert_status(a, 201);
	assert_int_equal(int_at(a, "/bytes"), 3);
	a = get("/bitmaps/b");
	assert_string_equal(text_at(a, "/base64"), "AP+A");
	assert_int_equal(int_at(a, "/bytes"), 3);
	assert_int_equal(int_at(a, "/start"), 0);
	assert_int_equal(int_at(get("/bitmaps/b/bits/16"), "/value"), 1);
	assert_status(put("/bitmaps/b", "{\"base64\":\"/w==\"}"), 200);
	assert_string_equal(text_at(get("/bitmaps/b"), "/base64"), "/w==");
	assert_status(put("/bitmaps/b", "{\"base64\":\"\"}"), 200);
	assert_string_equal(text_at(get("/bitmaps/b"), "/base64"), "");
	assert_status(http(client, "DELETE", "/bitmaps/b", NULL), 204);
	assert_problem(http(client, "DELETE", "/bitmaps/b", NULL), 404, "not_found", "none");
	a = get("/bitmaps/b"); /* like a bitmap that was never used */
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/bytes"), 0);
	assert_int_equal(server_keys(&redis), 0);
}

/*
 * The list has an empty bitmap. It has no resources of other kinds, and no key of another type
 * under a bitmap's name.
 */
TEST(the_list_has_bitmaps_only)
{
	put("/bitmaps/b", "{\"base64\":\"AP+A\"}");
	put("/bitmaps/empty", "{\"base64\":\"\"}");
	put("/sets/b/members/x", NULL);
	server_command(&redis, "RPUSH p:bitmap:{foreign} x");
	struct answer a = get_all("/bitmaps");
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/items")), 2);
	size_t at = strcmp(text_at(a, "/items/0/name"), "b") != 0;
	assert_string_equal(text_at(a, at ? "/items/1/name" : "/items/0/name"), "b");
	assert_int_equal(int_at(a, at ? "/items/1/bytes" : "/items/0/bytes"), 3);
	assert_int_equal(int_at(a, at ? "/items/0/bytes" : "/items/1/bytes"), 0);
	assert_int_equal(json_array_size(json_at(get("/bitmaps?match=x*"), "/items")), 0);
}

TEST(bitmaps_expire_when_asked)
{
	static const char increment[] = "{\"op\":\"incrby\",\"type\":\"u8\",\"offset\":8,\"value\":1}";

	assert_problem(http(client, "PATCH", "/bitmaps/f", "{\"ttl_ms\":60000}"), 404, "not_found", "none");
	assert_status(put("/bitmaps/f", "{\"base64\":\"AP+A\"}"), 201);
	assert_true(json_is_null(json_at(get("/bitmaps/f"), "/expires_at_ms")));
	struct answer a = http(client, "PATCH", "/bitmaps/f", "{\"ttl_ms\":60000}");
	assert_status(a, 200);
	int64_t at = int_at(a, "/expires_at_ms");
	assert_int_equal(int_at(a, "/bytes"), 3);
	assert_string_equal(text_at(a, "/name"), "f");
	assert_int_equal(server_command(&redis, "PEXPIRETIME p:bitmap:{f}")->integer, at);
	/* No write changes the expiry, not even a write that replaces or extends the bitmap. */
	assert_status(put("/bitmaps/f/bits/100", "{\"value\":1}"), 200);
	assert_status(fields(increment), 200);
	a = put("/bitmaps/f", "{\"base64\":\"AA==\"}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/expires_at_ms"), at);
	assert_int_equal(int_at(get("/bitmaps/f"), "/expires_at_ms"), at);
	assert_int_equal(int_at(get_all("/bitmaps"), "/items/0/expires_at_ms"), at);
	assert_int_equal(int_at(http(client, "PATCH", "/bitmaps/f", "{}"), "/expires_at_ms"), at);
	a = http(client, "PATCH", "/bitmaps/f", "{\"ttl_ms\":null}");
	assert_true(json_is_null(json_at(a, "/expires_at_ms")));
	assert_true(json_is_null(json_at(get("/bitmaps/f"), "/expires_at_ms")));
	assert_problem(http(client, "PATCH", "/bitmaps/f", NULL), 400, "missing_field", "none");
	assert_problem(http(client, "PATCH", "/bitmaps/f", "{\"ttl_ms\":0}"), 400, "out_of_range", "none");
	assert_problem(http(client, "PATCH", "/bitmaps/f", "{\"base64\":\"\"}"), 400, "unknown_field", "none");
	assert_status(http(client, "PATCH", "/bitmaps/f", "{\"ttl_ms\":1}"), 200);
	wait_until(int_at(get("/bitmaps/f"), "/bytes") == 0, 5000);
	wait_until(server_keys(&redis) == 0, 5000);
	assert_status(put("/bitmaps/f/bits/1", "{\"value\":1}"), 200);
	assert_true(json_is_null(json_at(get("/bitmaps/f"), "/expires_at_ms")));
}

TEST(base64_is_taken_strictly)
{
	static const char *const rows[][2] = {
		{ "AAA*", "'*' as character 4" },   { "AAA", "3 characters" },  { "AB==", "character 2" },
		{ "AA\\nAA", "0x0a as character" }, { "A-_A", "character 2" },  { "AA==AAAA", "(=) as character 3" },
		{ "\\u00e9", "0xc3 as character" }, { "A===", "character 2," },
	};
	char body[96];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"base64\":\"%s\"}", rows[i][0]);
		assert_refused(put("/bitmaps/b", body), "invalid_value", "/base64", rows[i][1]);
	}
	assert_int_equal(server_keys(&redis), 0);
}

TEST(parts_of_a_bitmap)
{
	static const struct {
		const char *range, *base64;
	} rows[] = {
		{ "?start=1", "YmNkZQ==" },           { "?end=1", "YWI=" }, { "?start=1&end=3", "YmNk" },
		{ "?start=4&end=536870911", "ZQ==" }, { "?start=5", "" },   { "?start=536870911", "" },
		{ "?start=2&end=2", "Yw==" },
	};
	char target[64];

	put("/bitmaps/b", "{\"base64\":\"YWJjZGU=\"}"); /* abcde */
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/bitmaps/b%s", rows[i].range);
		assert_string_equal(text_at(get(target), "/base64"), rows[i].base64);
	}
	assert_int_equal(int_at(get("/bitmaps/b?start=3"), "/start"), 3);
	assert_int_equal(int_at(get("/bitmaps/b?start=3"), "/bytes"), 2);
	assert_refused(get("/bitmaps/b?start=2&end=1"), "out_of_range", "?end", "before");
}

/*
 * An answer has at most one mebibyte. A read of more is refused, so a client reads a larger bitmap
 * in parts.
 */
TEST(a_large_bitmap_is_read_in_parts)
{
	size_t bytes = 0;
	char target[64];

	server_command(&redis, "SETRANGE p:bitmap:{b} %d x", 5 * MIB / 2 - 1);
	assert_refused(get("/bitmaps/b"), "out_of_range", "?end", "1048576");
	assert_refused(get("/bitmaps/b?start=1&end=1048577"), "out_of_range", "?end", "?start");
	for (size_t start = 0;; start += MIB) {
		snprintf(target, sizeof(target), "/bitmaps/b?start=%zu&end=%zu", start, start + MIB - 1);
		struct answer a = get(target);
		assert_status(a, 200);
		bytes += (size_t)int_at(a, "/bytes");
		assert_int_equal(json_string_length(json_at(a, "/base64")), (int_at(a, "/bytes") + 2) / 3 * 4);
		if (int_at(a, "/bytes") < MIB)
			break;
	}
	assert_int_equal(bytes, 5 * MIB / 2);
	server_command(&redis, "SETRANGE p:bitmap:{c} %d x", MIB - 1);
	assert_int_equal(int_at(get("/bitmaps/c"), "/bytes"), MIB);
}

/* All bytes of a body of the largest size arrive. A larger body is refused before anything else. */
TEST(a_body_bounds_what_is_written)
{
	enum { MOST_BODY = MIB + 64 * 1024, BYTES = MOST_BODY / 4 * 3 - 48 };
	char *body = malloc(2 * MIB);

	int n = snprintf(body, 2 * MIB, "{\"base64\":\"");
	memset(body + n, '/', BYTES / 3 * 4); /* all ones */
	strcpy(body + n + BYTES / 3 * 4, "\"}");
	struct answer a = put("/bitmaps/b", body);
	assert_status(a, 201);
	assert_int_equal(int_at(a, "/bytes"), BYTES);
	assert_int_equal(int_at(get("/bitmaps/b/count"), "/count"), BYTES * 8);
	assert_int_equal(int_at(get("/bitmaps/b"), "/bytes"), BYTES);
	memset(body + n, '/', MOST_BODY);
	strcpy(body + n + MOST_BODY, "\"}");
	a = http(client, "PUT", "/bitmaps/b", body,
		 "Expect: 100-continue"); /* without it, the refusal may arrive while the client sends */
	assert_problem(a, 413, "body_too_large", "none");
	free(body);
}

/* ---- Counts and positions ---- */

TEST(ranges_count_as_in_redis)
{
	static const struct {
		const char *range;
		int count;
	} rows[] = {
		{ "", 11 },
		{ "?start=1&unit=byte", 8 },
		{ "?start=-1&unit=byte", 1 },
		{ "?end=0&unit=byte", 3 },
		{ "?start=1&end=1&unit=byte", 7 },
		{ "?start=0&end=-2&unit=byte", 10 },
		{ "?start=9&unit=byte", 0 },
		{ "?start=2&end=1&unit=byte", 0 },
		{ "", 11 },
		{ "?start=-5&unit=byte", 11 },
		{ "?start=4", 10 },
		{ "?start=3&end=8", 4 },
		{ "?start=-1", 1 },
		{ "?end=-4294967296", 0 },
		{ "?end=4294967295&unit=byte", 11 },
	};
	char target[64];

	put("/bitmaps/b", "{\"base64\":\"Gf0B\"}"); /* 00011001 11111101 00000001 */
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/bitmaps/b/count%s", rows[i].range);
		assert_int_equal(int_at(get(target), "/count"), rows[i].count);
	}
	assert_int_equal(int_at(get("/bitmaps/nothing/count"), "/count"), 0);
	assert_problem(get("/bitmaps/b/count?unit=byt"), 400, "invalid_value", "none");
	assert_problem(get("/bitmaps/b/count?start=4294967296"), 400, "out_of_range", "none");
}

TEST(positions)
{
	static const struct {
		const char *name, *range;
		int position;
	} rows[] = {
		{ "b", "bit=1", 3 },
		{ "b", "bit=0", 0 },
		{ "b", "bit=1&start=1&unit=byte", 8 },
		{ "b", "bit=0&start=1&unit=byte", 14 },
		{ "b", "bit=1&start=5", 7 },
		{ "b", "bit=1&start=16&end=22", -1 },
		{ "b", "bit=1&start=-1&unit=byte", 23 },
		{ "b", "bit=1&start=3&unit=byte", -1 },
		{ "ones", "bit=0", 16 }, /* the first bit after the end is clear */
		{ "ones", "bit=0&start=1&unit=byte", 16 },
		{ "ones", "bit=0&end=-1&unit=byte", -1 }, /* a given end excludes it */
		{ "ones", "bit=0&end=15", -1 },
		{ "ones", "bit=1&start=15", 15 },
		{ "ones", "bit=0&start=15", 16 },
		{ "ones", "bit=0&start=16", 16 },
		{ "ones", "bit=0&start=100", 100 },
		{ "ones", "bit=0&start=3&unit=byte", 24 },
		{ "ones", "bit=0&start=-1", 16 },
		{ "ones", "bit=0&start=16&end=20", -1 },
		{ "nothing", "bit=0", 0 },
		{ "nothing", "bit=0&start=20", 20 },
		{ "nothing", "bit=0&start=-20", 0 },
		{ "nothing", "bit=0&end=20", -1 },
		{ "nothing", "bit=1", -1 },
	};
	char target[96];

	put("/bitmaps/b", "{\"base64\":\"Gf0B\"}");
	put("/bitmaps/ones", "{\"base64\":\"//8=\"}");
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(target, sizeof(target), "/bitmaps/%s/position?%s", rows[i].name, rows[i].range);
		struct answer a = get(target);
		if (rows[i].position < 0)
			assert_true(json_is_null(json_at(a, "/position")));
		else if (int_at(a, "/position") != rows[i].position)
			fail_msg("%s: %lld", target, (long long)int_at(a, "/position"));
		assert_int_equal(int_at(a, "/bit"), target[strlen("/bitmaps/") + strlen(rows[i].name) + 14] - '0');
	}
	assert_problem(get("/bitmaps/b/position"), 400, "missing_field", "none");
	assert_problem(get("/bitmaps/b/position?bit=2"), 400, "out_of_range", "none");
}

/* The daemon needs several Redis calls for one answer. */
TEST(a_large_bitmap_is_searched_whole)
{
	put("/bitmaps/b/bits/0", "{\"value\":1}");
	put("/bitmaps/b/bits/50000000", "{\"value\":1}");
	put("/bitmaps/b/bits/99999999", "{\"value\":1}");
	assert_int_equal(int_at(get("/bitmaps/b/count"), "/count"), 3);
	assert_int_equal(int_at(get("/bitmaps/b/count?start=1&end=-1"), "/count"), 2);
	assert_int_equal(int_at(get("/bitmaps/b/count?start=1&end=99999998"), "/count"), 1);
	assert_int_equal(int_at(get("/bitmaps/b/position?bit=1&start=1&unit=byte"), "/position"), 50000000);
	assert_int_equal(int_at(get("/bitmaps/b/position?bit=1&start=50000001"), "/position"), 99999999);
	assert_true(json_is_null(json_at(get("/bitmaps/b/position?bit=1&start=50000001&end=99999998"), "/position")));
}

/* ---- Fields ---- */

TEST(fields_keep_every_digit)
{
	struct answer a = fields("{\"op\":\"set\",\"type\":\"i64\",\"offset\":0,\"value\":\"-9223372036854775808\"},"
				 "{\"op\":\"get\",\"type\":\"i64\",\"offset\":0},"
				 "{\"op\":\"incrby\",\"type\":\"i64\",\"offset\":0,\"value\":9007199254740993},"
				 "{\"op\":\"set\",\"type\":\"u63\",\"element\":2,\"value\":9223372036854775807},"
				 "{\"op\":\"incrby\",\"type\":\"u63\",\"element\":2,\"value\":\"-1\"},"
				 "{\"op\":\"incrby\",\"type\":\"u53\",\"offset\":300,\"value\":9007199254740991},"
				 "{\"op\":\"incrby\",\"type\":\"i55\",\"offset\":400,\"value\":\"9007199254740992\"},"
				 "{\"op\":\"incrby\",\"type\":\"i55\",\"offset\":400,\"value\":1},"
				 "{\"op\":\"get\",\"type\":\"i1\",\"offset\":126}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), "f");
	assert_int_equal(json_array_size(json_at(a, "/values")), 9);
	assert_string_equal(text_at(a, "/values/0"), "0");
	assert_string_equal(text_at(a, "/values/1"), "-9223372036854775808");
	assert_string_equal(text_at(a, "/values/2"), "-9214364837600034815");
	assert_string_equal(text_at(a, "/values/3"), "0");
	assert_string_equal(text_at(a, "/values/4"), "9223372036854775806");
	assert_string_equal(text_at(a, "/values/5"), "9007199254740991");
	assert_string_equal(text_at(a, "/values/6"), "9007199254740992");
	assert_string_equal(text_at(a, "/values/7"), "9007199254740993");
	assert_string_equal(text_at(a, "/values/8"), "-1"); /* one bit, and it is the sign */
	redisReply *plain = server_command(&redis, "BITFIELD p:bitmap:{f} GET u63 #2 GET i64 0");
	assert_true(plain->element[0]->integer == INT64_MAX - 1);
	assert_true(plain->element[1]->integer == -9214364837600034815);
}

TEST(what_does_not_fit_overflows_as_asked)
{
	static const struct {
		const char *operation, *values;
	} rows[] = {
		{ "{\"op\":\"incrby\",\"type\":\"u4\",\"element\":3,\"value\":20}", "[null]" },
		{ "{\"op\":\"incrby\",\"type\":\"u4\",\"element\":3,\"value\":20,\"overflow\":\"wrap\"}", "[\"4\"]" },
		{ "{\"op\":\"incrby\",\"type\":\"u4\",\"element\":3,\"value\":20,\"overflow\":\"sat\"}", "[\"15\"]" },
		{ "{\"op\":\"incrby\",\"type\":\"u4\",\"element\":3,\"value\":1,\"overflow\":\"fail\"}", "[null]" },
		{ "{\"op\":\"incrby\",\"type\":\"u4\",\"element\":3,\"value\":-16,\"overflow\":\"sat\"}", "[\"0\"]" },
		{ "{\"op\":\"set\",\"type\":\"i8\",\"offset\":0,\"value\":200}", "[null]" },
		{ "{\"op\":\"set\",\"type\":\"i8\",\"offset\":0,\"value\":200,\"overflow\":\"wrap\"}", "[\"0\"]" },
		{ "{\"op\":\"get\",\"type\":\"i8\",\"offset\":0}", "[\"-56\"]" },
		{ "{\"op\":\"set\",\"type\":\"i8\",\"offset\":0,\"value\":-200,\"overflow\":\"sat\"}", "[\"-56\"]" },
		{ "{\"op\":\"get\",\"type\":\"i8\",\"offset\":0}", "[\"-128\"]" },
		{ "{\"op\":\"set\",\"type\":\"i8\",\"offset\":0,\"value\":128,\"overflow\":\"fail\"}", "[null]" },
		{ "{\"op\":\"incrby\",\"type\":\"i8\",\"offset\":0,\"value\":-1,\"overflow\":\"wrap\"}", "[\"127\"]" },
		{ "{\"op\":\"set\",\"type\":\"u8\",\"offset\":0,\"value\":-1,\"overflow\":\"sat\"}", "[\"127\"]" },
		{ "{\"op\":\"get\",\"type\":\"u8\",\"offset\":0}", "[\"255\"]" }, /* Redis sets all bits */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = fields(rows[i].operation);
		assert_status(a, 200);
		char *values = json_dumps(json_at(a, "/values"), JSON_COMPACT);
		if (strcmp(values, rows[i].values) != 0)
			fail_msg("%s: %s", rows[i].operation, values);
		free(values);
	}
}

TEST(operations_are_checked)
{
	static const struct {
		const char *operation, *code, *pointer;
	} rows[] = {
		{ "{\"op\":\"get\",\"type\":\"u64\",\"offset\":0}", "invalid_value", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"i65\",\"offset\":0}", "invalid_value", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"u0\",\"offset\":0}", "invalid_value", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"u08\",\"offset\":0}", "invalid_value", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"x8\",\"offset\":0}", "invalid_value", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"U8\",\"offset\":0}", "invalid_value", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"u-8\",\"offset\":0}", "invalid_value", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"u\",\"offset\":0}", "out_of_range", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"u008\",\"offset\":0}", "out_of_range", "/operations/1/type" },
		{ "{\"op\":\"get\",\"type\":\"u8\"}", "missing_field", "/operations/1/offset" },
		{ "{\"op\":\"get\",\"type\":\"u8\",\"offset\":0,\"element\":0}", "invalid_value",
		  "/operations/1/element" },
		{ "{\"op\":\"set\",\"type\":\"u8\",\"offset\":0}", "missing_field", "/operations/1/value" },
		{ "{\"op\":\"incrby\",\"type\":\"u8\",\"offset\":0}", "missing_field", "/operations/1/value" },
		{ "{\"op\":\"get\",\"type\":\"u8\",\"offset\":0,\"value\":0}", "invalid_value", "/operations/1/value" },
		{ "{\"op\":\"get\",\"type\":\"u8\",\"offset\":4294967289}", "out_of_range", "/operations/1/offset" },
		{ "{\"op\":\"get\",\"type\":\"i64\",\"element\":67108864}", "out_of_range", "/operations/1/element" },
		{ "{\"op\":\"set\",\"type\":\"u8\",\"element\":16777216,\"value\":0}", "out_of_range",
		  "/operations/1/element" },
		{ "{\"op\":\"get\",\"type\":\"u8\",\"offset\":-1}", "out_of_range", "/operations/1/offset" },
		{ "{\"op\":\"get\",\"type\":\"u8\",\"offset\":0,\"overflow\":\"WRAP\"}", "invalid_value",
		  "/operations/1/overflow" },
	};
	char operations[512];

	for (size_t i = 0; i < COUNT(rows); i++) {
		/* The first operation is valid: it must not be carried out either. */
		snprintf(operations, sizeof(operations), "{\"op\":\"set\",\"type\":\"u8\",\"offset\":0,\"value\":1},%s",
			 rows[i].operation);
		struct answer a = fields(operations);
		assert_problem(a, 400, rows[i].code, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
	}
	assert_int_equal(server_keys(&redis), 0);
	struct answer a = fields("{\"op\":\"get\",\"type\":\"u8\",\"offset\":4294967288},"
				 "{\"op\":\"get\",\"type\":\"i64\",\"element\":67108863},"
				 "{\"op\":\"get\",\"type\":\"u63\",\"offset\":4294967233}");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/values/2"), "0");
}

TEST(a_retry_adds_once)
{
	static const char body[] = "{\"operations\":[{\"op\":\"incrby\",\"type\":\"i64\",\"offset\":0,\"value\":"
				   "\"9007199254740993\"},{\"op\":\"set\",\"type\":\"u1\",\"offset\":70,\"value\":2,"
				   "\"overflow\":\"fail\"}]}";

	struct answer first = http(client, "POST", "/bitmaps/f/fields", body, "Idempotency-Key: one");
	assert_string_equal(text_at(first, "/values/0"), "9007199254740993");
	struct answer again = http(client, "POST", "/bitmaps/f/fields", body, "Idempotency-Key: one");
	assert_status(again, 200);
	assert_true(json_equal(first.json, again.json));
	assert_string_equal(text_at(post("/bitmaps/f/fields", body), "/values/0"), "18014398509481986");
	assert_problem(http(client, "POST", "/bitmaps/f/fields",
			    "{\"operations\":[{\"op\":\"get\",\"type\":\"u1\",\"offset\":0}]}", "Idempotency-Key: one"),
		       422, "idempotency_key_reused", "none");
}

/* Operations that only read are not recorded: the same key returns the present value. */
TEST(a_look_is_not_kept)
{
	static const char body[] = "{\"operations\":[{\"op\":\"get\",\"type\":\"u8\",\"offset\":0}]}";

	assert_string_equal(text_at(http(client, "POST", "/bitmaps/f/fields", body, "Idempotency-Key: two"),
				    "/values/0"),
			    "0");
	put("/bitmaps/f", "{\"base64\":\"BQ==\"}");
	assert_string_equal(text_at(http(client, "POST", "/bitmaps/f/fields", body, "Idempotency-Key: two"),
				    "/values/0"),
			    "5");
}

/* ---- The limit ---- */

TEST(a_far_bit_is_refused_by_name)
{
	static const char option[] = "--max-bitmap-bytes";
	struct daemon small = { 0 }, large = { 0 };

	/* By default 16 MiB. */
	assert_refused(put("/bitmaps/b/bits/134217728", "{\"value\":1}"), "out_of_range", "{offset}", option);
	assert_status(get("/bitmaps/b/bits/134217728"), 200);
	daemon_start(&small, "--redis", redis.url, option, "3");
	struct client *c = client_open(small.port);
	assert_status(http(c, "PUT", "/bitmaps/b/bits/23", "{\"value\":1}"), 200);
	assert_refused(http(c, "PUT", "/bitmaps/b/bits/24", "{\"value\":0}"), "out_of_range", "{offset}", option);
	assert_status(http(c, "PUT", "/bitmaps/b", "{\"base64\":\"AAAA\"}"), 200);
	assert_refused(http(c, "PUT", "/bitmaps/b", "{\"base64\":\"AAAAAA==\"}"), "out_of_range", "/base64", option);
	assert_status(http(c, "POST", "/bitmaps/b/fields",
			   "{\"operations\":[{\"op\":\"set\",\"type\":\"u8\",\"offset\":16,\"value\":1},"
			   "{\"op\":\"get\",\"type\":\"u8\",\"offset\":1000}]}"),
		      200);
	assert_refused(http(c, "POST", "/bitmaps/b/fields",
			    "{\"operations\":[{\"op\":\"set\",\"type\":\"u8\",\"offset\":17,\"value\":1}]}"),
		       "out_of_range", "/operations/0/offset", option);
	assert_int_equal(server_command(&redis, "STRLEN p:bitmap:{b}")->integer, 3);
	client_close(c);
	daemon_stop(&small);
	daemon_start(&large, "--redis", redis.url, option, "536870912", "--redis-timeout-ms", "20000");
	c = client_open(large.port);
	/*
	 * Setting the last bit would take half a gigabyte: the test shows only that the daemon
	 * allows it.
	 */
	assert_status(http(c, "GET", "/bitmaps/far/bits/4294967295", NULL), 200);
	assert_status(http(c, "PUT", "/bitmaps/far/bits/200000000", "{\"value\":1}"), 200);
	assert_problem(http(c, "PUT", "/bitmaps/far/bits/4294967296", "{\"value\":1}"), 400, "out_of_range", "none");
	client_close(c);
	daemon_stop(&large);
}

/* ---- Names, and foreign keys ---- */

TEST(foreign_keys_are_reported_and_kept)
{
	server_command(&redis, "RPUSH p:bitmap:{b} x");
	assert_problem(get("/bitmaps/b"), 500, "foreign_key", "none");
	assert_non_null(strstr(text_at(get("/bitmaps/b"), "/detail"), "p:bitmap:{b}"));
	assert_problem(put("/bitmaps/b", "{\"base64\":\"AA==\"}"), 500, "foreign_key", "none");
	assert_problem(http(client, "DELETE", "/bitmaps/b", NULL), 500, "foreign_key", "none");
	assert_problem(http(client, "PATCH", "/bitmaps/b", "{\"ttl_ms\":1}"), 500, "foreign_key", "none");
	assert_int_equal(server_command(&redis, "LLEN p:bitmap:{b}")->integer, 1);
}

TEST(names_of_all_kinds)
{
	static const char *const names[] = { "a%2Fb", "caf%C3%A9", "a%20b", "count", "b:%5B*%5D" };
	char target[96];

	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(target, sizeof(target), "/bitmaps/%s/bits/1", names[i]);
		assert_status(put(target, "{\"value\":1}"), 200);
		snprintf(target, sizeof(target), "/bitmaps/%s/count", names[i]);
		assert_int_equal(int_at(get(target), "/count"), 1);
	}
	assert_int_equal(server_keys(&redis), COUNT(names));
	assert_problem(get("/bitmaps/.."), 400, "reserved_name", "none");
}
