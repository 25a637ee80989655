/*
 * Tests of input from bodies: how each value is read, and which code and pointer (RFC 6901) each
 * fault has.
 */
#include "filled.h"
#include "operations.h"

static void check_bodies(const char *method, const char *target, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = verdict(method, target, text_of(rows[i].given));
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("%s %s %s: '%s', not '%s'", method, target, rows[i].given, got, rows[i].wanted);
	}
}

#define LIMIT(rest) "{\"key\":\"k\",\"limit\":1,\"window_ms\":1" rest "}"

SUITE(.open = load_options, .close = free_options);

TEST(types_and_ranges)
{
	static const struct row rows[] = {
		{ LIMIT(""), "ok" },
		{ LIMIT(",\"cost\":0"), "ok" },
		{ LIMIT(",\"cost\":1000000000"), "ok" },
		{ LIMIT(",\"cost\":1000000001"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":-1"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":9223372036854775807"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":-9223372036854775808"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":2.0"), "ok" }, /* integral reals are integers */
		{ LIMIT(",\"cost\":1e3"), "ok" },
		{ LIMIT(",\"cost\":-0.0"), "ok" },
		{ LIMIT(",\"cost\":1.5"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":9007199254740992.0"), "out_of_range /cost" }, /* 2^53 is read as an integer */
		{ LIMIT(",\"cost\":9007199254740994.0"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":1e300"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":-1e300"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":1e999"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":0e999"), "ok" },
		{ LIMIT(",\"cost\":-0.0e-1"), "ok" },
		{ LIMIT(",\"cost\":1e-400"), "wrong_type /cost" }, /* not 0 */
		{ LIMIT(",\"cost\":-0.00001e-400"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":123456789012345678901234567890"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":\"1\""), "wrong_type /cost" },
		{ LIMIT(",\"cost\":true"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":null"), "ok" },
		{ LIMIT(",\"cost\":[1]"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":{}"), "wrong_type /cost" },
		{ LIMIT(",\"count_refused\":1"), "wrong_type /count_refused" },
		{ LIMIT(",\"count_refused\":\"true\""), "wrong_type /count_refused" },
		{ LIMIT(",\"count_refused\":false"), "ok" },
		{ LIMIT(",\"algorithm\":\"sliding_window\""), "ok" },
		{ LIMIT(",\"algorithm\":\"Gcra\""), "invalid_value /algorithm" },
		{ LIMIT(",\"algorithm\":\"\""), "invalid_value /algorithm" },
		{ LIMIT(",\"algorithm\":1"), "wrong_type /algorithm" },
		{ LIMIT(",\"algorithm\":\"gcra\\u0000\""), "invalid_value /algorithm" },
		{ "{\"limit\":1,\"window_ms\":1}", "missing_field /key" },
		{ "{\"key\":1,\"limit\":1,\"window_ms\":1}", "wrong_type /key" },
		{ "{}", "missing_field /key /limit /window_ms" },
		{ "", "missing_field  /key /limit /window_ms" }, /* the empty pointer is the body itself */
		{ LIMIT(",\"Cost\":1"), "unknown_field /Cost" },
		{ LIMIT(",\"\":1"), "unknown_field /" },
		{ LIMIT(",\"a/b~c\":1"), "unknown_field /a~1b~0c" }, /* RFC 6901 */
		{ LIMIT(",\"~1\":1"), "unknown_field /~01" },
		{ LIMIT(",\"\\u00e9\":1"), "unknown_field /\xc3\xa9" },
		{ "{\"key\":\"\",\"limit\":0,\"window_ms\":\"x\",\"x\":1}", "unknown_field /x /key /limit /window_ms" },
	};
	check_bodies("POST", "/ratelimit", ROWS(rows));
}

#define FIELD(value) "{\"operations\":[{\"op\":\"set\",\"type\":\"i64\",\"offset\":0,\"value\":" value "}]}"

/*
 * A value of the type [integer, string] has 64 bits, as a number or as text, and keeps its last
 * digit.
 */
TEST(wide_integers)
{
	static const struct {
		const char *body;
		int64_t value;
	} taken[] = {
		{ FIELD("9223372036854775807"), INT64_MAX },
		{ FIELD("\"9223372036854775807\""), INT64_MAX },
		{ FIELD("-9223372036854775808"), INT64_MIN },
		{ FIELD("\"-9223372036854775808\""), INT64_MIN },
		{ FIELD("9007199254740993"), 9007199254740993 },
		{ FIELD("\"9007199254740993\""), 9007199254740993 },
		{ FIELD("\"0\""), 0 },
		{ FIELD("\"-1\""), -1 },
		{ FIELD("2.0"), 2 },
	};
	static const struct row refused[] = {
		{ FIELD("\"9223372036854775808\""), "wrong_type /operations/0/value" },
		{ FIELD("9223372036854775808"), "wrong_type /operations/0/value" },
		{ FIELD("9007199254740994.0"), "wrong_type /operations/0/value" },
		{ FIELD("\"\""), "wrong_type /operations/0/value" },
		{ FIELD("\"1.0\""), "wrong_type /operations/0/value" },
		{ FIELD("\"1\\u0000\""), "wrong_type /operations/0/value" },
	};

	for (size_t i = 0; i < COUNT(taken); i++) {
		const void *in;
		struct request *req = filled("POST", "/bitmaps/b/fields", text_of(taken[i].body), &in);
		const struct bitmap_field_write_input *fields = in;
		assert_non_null(in);
		assert_true(fields->operations.items[0].has_value);
		assert_true(fields->operations.items[0].value == taken[i].value);
		asked_end(req);
	}
	check_bodies("POST", "/bitmaps/b/fields", ROWS(refused));
	/* Other fields accept numbers only. */
	assert_string_equal(verdict("PUT", "/bitmaps/b/bits/0", text_of("{\"value\":\"1\"}")), "wrong_type /value");
}

/* Members that exclude others, and are required only without them. */
TEST(forms)
{
	static const struct row rows[] = {
		{ "{\"key\":\"k\",\"policy\":\"p\"}", "ok" },
		{ "{\"policy\":\"p\",\"cost\":2,\"key\":\"k\"}", "ok" },
		{ "{\"policy\":\"p\"}", "missing_field /key" },
		{ "{\"key\":\"k\",\"policy\":5}", "wrong_type /policy" },
		{ LIMIT(",\"policy\":\"p\""), "invalid_value /limit /window_ms" },
		{ "{\"key\":\"k\",\"policy\":\"p\",\"algorithm\":\"gcra\"}", "invalid_value /algorithm" },
		{ "{\"key\":\"k\",\"policy\":\"p\",\"algorithm\":null}", "ok" },
		{ "{\"key\":\"k\",\"policy\":\"p\",\"count_refused\":false}", "invalid_value /count_refused" },
		{ "{\"checks\":[" LIMIT("") "]}", "ok" },
		{ "{\"checks\":[" LIMIT("") "],\"cost\":1}", "invalid_value /cost" },
		{ "{\"checks\":[" LIMIT("") "],\"policy\":\"p\",\"key\":\"k\"}", "invalid_value /policy /key" },
		{ "null", "wrong_type " },
		{ "[]", "wrong_type " },
		{ "\"x\"", "wrong_type " },
		{ "1", "wrong_type " },
		{ "true", "wrong_type " },
		{ "{\"checks\":[{\"key\":\"k\",\"policy\":\"p\"},{\"key\":\"k\"}]}",
		  "missing_field /checks/1/limit /checks/1/window_ms" },
		{ "{\"checks\":[{\"key\":\"k\",\"policy\":\"p\",\"burst\":1}]}", "invalid_value /checks/0/burst" },
		{ "{\"key\":\"k\",\"policy\":\"a b\"}", "invalid_name /policy" },
		{ "{\"key\":\"k\",\"policy\":\"\\u00e9\"}", "invalid_name /policy" },
		{ "{\"key\":\"k\",\"policy\":\"..\"}", "reserved_name /policy" },
		{ "{\"key\":\"k\",\"policy\":\"A-z_0.9\"}", "ok" },
	};
	check_bodies("POST", "/ratelimit", ROWS(rows));
}

TEST(malformed_bodies)
{
	static const char *const rows[] = { " ",
					    "{",
					    "}",
					    "{}{}",
					    "{} x",
					    "{},",
					    "\xef\xbb\xbf{}",
					    "{\"key\":1,\"key\":1}",
					    "{'key':1}",
					    "{\"key\":NaN}",
					    "{\"key\":01}",
					    "{\"key\":+1}",
					    "{\"key\":.5}",
					    "{\"key\":0x1}",
					    "{\"key\":\"\\ud800\"}",
					    "{\"key\":\"\xff\"}",
					    "{\"key\":\"\xed\xa0\x80\"}",
					    "{\"key\":\"a\nb\"}",
					    "{\"a\\u0000\":1}",
					    "{\"key\":\"\\x\"}",
					    "{/**/}",
					    "{\"key\":\"",
					    "{\"messages\":[1,]}",
					    "{\"key\":{\"a\":1,\"a\":2}}" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *got = verdict("POST", "/ratelimit", text_of(rows[i]));
		if (strcmp(got, "malformed_json") != 0)
			fail_msg("%s: '%s'", rows[i], got);
	}
	assert_string_equal(verdict("POST", "/ratelimit", TEXT("{}\0")), "malformed_json");
	assert_string_equal(verdict("POST", "/ratelimit", TEXT("\xff\xfe{\0}\0")), "malformed_json");
}

/*
 * A body has at most 32 levels, of which the body itself is the first. Brackets in strings do not
 * count.
 */
TEST(depth)
{
	static char bomb[100000];
	char body[200];
	static const char opened[] = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[";
	static const char closed[] = "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

	snprintf(body, sizeof(body), "{\"body\":%.31s%.31s}", opened, closed);
	assert_string_equal(verdict("POST", "/queues/q/messages", text_of(body)), "ok");
	snprintf(body, sizeof(body), "{\"body\":%.32s%.32s}", opened, closed);
	assert_string_equal(verdict("POST", "/queues/q/messages", text_of(body)), "malformed_json");
	snprintf(body, sizeof(body), "{\"body\":\"\\\"%.32s\\\\\"}", opened);
	assert_string_equal(verdict("POST", "/queues/q/messages", text_of(body)), "ok");
	memset(bomb, '[', sizeof(bomb));
	assert_string_equal(verdict("POST", "/queues/q/messages", (struct text){ bomb, sizeof(bomb) }),
			    "malformed_json");
	for (size_t i = 0; i + 5 < sizeof(bomb); i += 5)
		memcpy(bomb + i, "{\"a\":", 5);
	assert_string_equal(verdict("POST", "/queues/q/messages", (struct text){ bomb, sizeof(bomb) }),
			    "malformed_json");
}

TEST(nested_items)
{
	static const struct row messages[] = {
		{ "{\"messages\":[{\"body\":1},{\"body\":null,\"priority\":9}]}", "ok" },
		{ "{\"messages\":[]}", "out_of_range /messages" },
		{ "{\"messages\":{}}", "wrong_type /messages" },
		{ "{\"messages\":[1]}", "wrong_type /messages/0" },
		{ "{\"messages\":[{\"body\":1},{}]}", "missing_field /messages/1/body" },
		{ "{\"messages\":[{\"body\":1,\"a/~b\":2}]}", "unknown_field /messages/0/a~1~0b" },
		{ "{\"messages\":[{\"body\":1,\"priority\":10},{\"body\":1,\"delay_ms\":\"x\"},7]}",
		  "out_of_range /messages/0/priority /messages/1/delay_ms /messages/2" },
		/* At most 16 faults are listed. */
		{ "{\"messages\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
		  "wrong_type /messages/0 /messages/1 /messages/2 /messages/3 /messages/4 /messages/5 /messages/6"
		  " /messages/7 /messages/8 /messages/9 /messages/10 /messages/11 /messages/12 /messages/13"
		  " /messages/14 /messages/15" },
	};
	static const struct row settings[] = {
		{ "{\"backoff\":{\"base_ms\":1,\"max_ms\":2}}", "ok" },
		{ "{\"backoff\":{}}", "missing_field /backoff/base_ms /backoff/max_ms" },
		{ "{\"backoff\":[]}", "wrong_type /backoff" },
		{ "{\"backoff\":{\"base_ms\":1,\"max_ms\":2,\"x\":{}}}", "unknown_field /backoff/x" },
	};
	check_bodies("POST", "/queues/q/messages", ROWS(messages));
	check_bodies("PUT", "/queues/q", ROWS(settings));
}

/* A null in a POST or a PUT is an absent member, where a member may be absent. */
TEST(null_is_absent)
{
	static const struct row limits[] = {
		{ "{\"checks\":null,\"key\":\"k\",\"policy\":\"p\",\"limit\":null,\"window_ms\":null}", "ok" },
		{ "{\"policy\":null,\"key\":null,\"limit\":1,\"window_ms\":null}", "missing_field /key /window_ms" },
		{ "{\"checks\":[{\"key\":\"k\",\"policy\":null,\"limit\":1,\"window_ms\":1,\"name\":null}]}", "ok" },
		{ "{\"checks\":[{\"key\":null,\"policy\":\"p\"},null]}", "wrong_type /checks/0/key /checks/1" },
	};
	static const struct row messages[] = {
		{ "{\"messages\":null,\"body\":null,\"group\":null,\"headers\":null}", "ok" },
		{ "{\"messages\":[{\"body\":null,\"group\":null,\"on_duplicate\":null}]}", "ok" },
		/* A field of any JSON has null as a value. */
		{ "{\"messages\":[{\"body\":1}],\"body\":null}", "invalid_value /body" },
		{ "{\"body\":1,\"headers\":{\"a\":null}}", "wrong_type /headers/a" },
		{ "{\"body\":1,\"colour\":null}", "unknown_field /colour" },
	};
	static const struct row settings[] = {
		{ "{\"backoff\":{\"base_ms\":null,\"max_ms\":2}}", "wrong_type /backoff/base_ms" },
		{ "{\"rate\":{\"limit\":1,\"window_ms\":1,\"burst\":null}}", "ok" },
	};
	check_bodies("POST", "/ratelimit", ROWS(limits));
	check_bodies("POST", "/queues/q/messages", ROWS(messages));
	check_bodies("PUT", "/queues/q", ROWS(settings));
	assert_string_equal(verdict("PATCH", "/ratelimit/policies/p", text_of("{\"limit\":null}")),
			    "wrong_type /limit");
}

/* A null has the default, and its handler sees an absent member. */
TEST(null_has_the_default)
{
	const void *in;
	struct request *req = filled("PUT", "/queues/q",
				     TEXT("{\"visibility_ms\":null,\"order\":null,\"backoff\":null,"
					  "\"max_messages\":null,\"paused\":null}"),
				     &in);
	const struct queue_put_input *settings = in;

	assert_non_null(in);
	assert_int_equal(settings->visibility_ms, 30000);
	assert_int_equal(settings->order, QUEUE_PUT_ORDER_FAIR);
	assert_false(settings->has_backoff || settings->has_max_messages || settings->paused);
	asked_end(req);
}

/* Members that are maps: their keys are data. */
TEST(maps)
{
	static const struct row rows[] = {
		{ "{\"counters\":{\"a\":1}}", "ok" },
		{ "{\"counters\":{\"a\":-9007199254740991,\"b/c\":2.0,\"\xc3\xa9\":0}}", "ok" },
		{ "{\"counters\":{\"name\":1,\"counters\":2}}", "ok" }, /* no field names here */
		{ "{\"counters\":{}}", "out_of_range /counters" },
		{ "{}", "missing_field /counters" },
		{ "", "missing_field  /counters" },
		{ "{\"counters\":{\"a\":\"x\",\"b~/\":null,\"c\":\"1\"}}",
		  "wrong_type /counters/a /counters/b~0~1 /counters/c" },
		{ "{\"counters\":{\"\":1}}", "invalid_name /counters/" },
		{ "{\"counters\":{\"..\":1}}", "reserved_name /counters/.." },
		{ "{\"counters\":{\"a}\":\"x\"}}", "invalid_name /counters/a}" }, /* one fault a member */
	};
	static const struct row scores[] = {
		{ "{\"scores\":{\"a\":0,\"b/c\":4294967295.0,\"scores\":2}}", "ok" },
		{ "{\"scores\":{}}", "out_of_range /scores" },
		{ "{\"scores\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}}", "out_of_range /scores" },
		{ "{\"scores\":[1]}", "wrong_type /scores" },
		{ "{\"scores\":{\"a\":9007199254740992,\"b~/\":null}}", "out_of_range /scores/a /scores/b~0~1" },
		{ "{\"a\":1}", "unknown_field /a /scores" },
	};
	check_bodies("POST", "/counters/c/increment", ROWS(rows));
	check_bodies("PUT", "/leaderboards/b/members/m", ROWS(scores));
}

static void check_details(const struct detail_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = details(rows[i].method, rows[i].target, text_of(rows[i].body));
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("%s %s: '%s', not '%s'", rows[i].target, rows[i].body, got, rows[i].wanted);
	}
}

#define TYPE(name, wanted, seen) "/" name " must be " wanted ", not " seen "\n"

/*
 * Each error states the value that was seen, what is allowed, and the name that was probably meant.
 */
TEST(hints)
{
	static const struct detail_row rows[] = {
		{ "POST", "/queues/q/messages", "{\"bdy\":1}",
		  "/bdy is not a known field; did you mean 'body'?\n/body is required, unless messages is given\n" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"delay\":5}",
		  "/delay is not a known field; did you mean 'delay_ms'? It is in milliseconds\n" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"colour\":5}", "/colour is not a known field\n" },
		{ "POST", "/ratelimit", LIMIT(",\"algorithm\":\"sliding-windw\""),
		  "/algorithm must be one of gcra, sliding_window, fixed_window; did you mean 'sliding_window'?\n" },
		/* Words that other systems use, which are not similar. */
		{ "POST", "/ratelimit", LIMIT(",\"algorithm\":\"funnel\""),
		  "/algorithm must be one of gcra, sliding_window, fixed_window; did you mean 'gcra'?\n" },
		{ "POST", "/ratelimit", LIMIT(",\"algorithm\":\"Token_Bucket\""),
		  "/algorithm must be one of gcra, sliding_window, fixed_window; did you mean 'gcra'?\n" },
		{ "PUT", "/bloom/f", "{\"initial_size\":9,\"capacity\":9,\"error_rate\":0.1}",
		  "/initial_size is not a known field; did you mean 'capacity'?\n" },
		{ "POST", "/locks/l", "{\"timeout\":5,\"worker\":\"w\"}",
		  "/timeout is not a known field; did you mean 'ttl_ms'? It is in milliseconds\n"
		  "/worker is not a known field; did you mean 'owner'?\n" },
		{ "POST", "/queues/q/receive", "{\"owner\":\"w\"}",
		  "/owner is not a known field; did you mean 'worker'?\n" },
		{ "POST", "/locks/l", "{\"funnel\":5}", "/funnel is not a known field\n" },
		{ "GET", "/locks?per_page=5", NULL,
		  "?per_page is not a query parameter of lock_list; did you mean 'limit'?\n" },
		{ "POST", "/ratelimit", LIMIT(",\"cost\":\"1\""),
		  TYPE("cost", "a whole number", "a string; leave the quotes out") },
		{ "POST", "/ratelimit", LIMIT(",\"cost\":\"one\""), TYPE("cost", "a whole number", "a string") },
		{ "POST", "/ratelimit", LIMIT(",\"count_refused\":\"true\""),
		  TYPE("count_refused", "true or false", "a string; leave the quotes out") },
		{ "PUT", "/bitmaps/b/bits/0", "{\"value\":null}", TYPE("value", "a whole number", "null") },
		{ "PUT", "/geo/s/members/m", "{\"longitude\":\"1.5\",\"latitude\":[1]}",
		  TYPE("longitude", "a number", "a string; leave the quotes out")
			  TYPE("latitude", "a number", "an array") },
		{ "POST", "/ratelimit", "",
		  " is required: a JSON object with key, limit, window_ms\n/key is required, unless checks is given\n"
		  "/limit is required, unless checks or policy is given\n/window_ms is required, unless checks or policy is given\n" },
		{ "POST", "/ratelimit", "[]",
		  " must be an object, not an array; PHP writes an empty object for (object)[]\n" },
		{ "POST", "/ratelimit", "[1]", " must be an object, not an array\n" },
		{ "POST", "/queues/q/messages", "{\"body\":[],\"headers\":[]}",
		  "/headers must be an object, not an array; PHP writes an empty object for (object)[]\n" },
		{ "POST", "/locks/l", "1.5", " must be an object, not a real number\n" },
		{ "POST", "/counters/c/increment", "\"x\"", " must be an object, not a string\n" },
		{ "POST", "/queues/q/settle", "", " is required: a JSON object\n" },
		{ "GET", "/locks?limt=1&zzz=2", NULL,
		  "?limt is not a query parameter of lock_list; did you mean 'limit'?\n"
		  "?zzz is not a query parameter of lock_list\n" },
		{ "GET", "/geo/nearby?longitude=1&radius=1", NULL, "?name is required, as a query parameter\n" },
		{ "GET", "/checkins/a?from=2026-1-1", NULL, "?from must be a date, YYYY-MM-DD\n" },
		{ "PUT", "/bloom/f", "{\"capacity\":1,\"error_rate\":1e-7}",
		  "/error_rate must be from 0.000001 to 0.5, not 0.0000001\n" },
	};
	check_details(ROWS(rows));
}

/* A unit of another system, and a value without a member around it. */
TEST(units_and_places)
{
	static const struct detail_row rows[] = {
		{ "POST", "/queues/q/messages", "{\"body\":1,\"run_at\":5}",
		  "/run_at is not a known field; did you mean 'deliver_at_ms'? It is Unix time in milliseconds\n" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"ttlms\":5}",
		  "/ttlms is not a known field; did you mean 'ttl_ms'?\n" },
		{ "POST", "/queues/q/messages", "{\"to\":\"ann\"}",
		  "/to is not a known field; a value of your own belongs into 'body'\n"
		  "/body is required, unless messages is given\n" },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"delay_ms\":\"30s\"}",
		  TYPE("delay_ms", "a whole number of milliseconds", "a string") },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"deliver_at_ms\":\"2026-11-29\"}",
		  TYPE("deliver_at_ms", "a whole number, Unix time in milliseconds", "a string") },
		{ "POST", "/queues/q/messages", "{\"body\":1,\"jobId\":\"a\"}",
		  "/jobId is not a known field; did you mean 'id'?\n" },
	};
	check_details(ROWS(rows));
}

/* An empty name at the end of a path is an error, which suggests the list of the names. */
TEST(empty_names)
{
	static const struct detail_row rows[] = {
		{ "GET", "/queues/", NULL, "{name} must have 1 to 200 bytes, not 0; did you mean GET /queues?\n" },
		{ "GET", "/queues/q/messages/", NULL,
		  "{id} must have 1 to 200 bytes, not 0; did you mean GET /queues/{name}/messages?\n" },
		{ "DELETE", "/queues/", NULL, "{name} must have 1 to 200 bytes, not 0\n" },
		{ "GET", "/queues//messages", NULL, "{name} must have 1 to 200 bytes, not 0\n" },
		{ "GET", "/queues//messages/", NULL,
		  "{name} must have 1 to 200 bytes, not 0\n"
		  "{id} must have 1 to 200 bytes, not 0; did you mean GET /queues/{name}/messages?\n" },
	};
	check_details(ROWS(rows));
}

/* The unit of an instant is named if the number looks like another unit. */
TEST(instants_in_other_units)
{
	static const struct detail_row rows[] = {
		{ "PUT", "/sales/s", "{\"stock\":1,\"opens_at_ms\":1795219450,\"closes_at_ms\":1795219450378000}",
		  "/opens_at_ms must be from 1000000000000 to 253402300799999, not 1795219450; "
		  "it looks like seconds, and milliseconds are expected\n"
		  "/closes_at_ms must be from 1000000000000 to 253402300799999, not 1795219450378000; "
		  "it looks like microseconds, and milliseconds are expected\n" },
		{ "PATCH", "/queues/q/schedules/s", "{\"start_at_ms\":1}",
		  "/start_at_ms must be from 1000000000000 to 253402300799999, not 1; "
		  "Unix milliseconds are expected\n" },
		{ "POST", "/pv/home", "{\"at_ms\":1795219450}",
		  "/at_ms must be from 1000000000000 to 4102444800000, not 1795219450; "
		  "it looks like seconds, and milliseconds are expected\n" },
		{ "GET", "/locks/l/history?after_at_ms=-1", NULL,
		  "?after_at_ms must be from 0 to 9007199254740991, not -1\n" },
	};
	check_details(ROWS(rows));
}

#define RATE(limit, window) "{\"limit\":" limit ",\"window_ms\":" window "}"
#define NO_RATE TYPE("limit", "a whole number", "a real number")
#define RATE_AS(limit, window, whole, longer)                                                     \
	"/limit must be a whole number, not a real number; limit " limit " per window_ms " window \
	": send limit " whole ", window_ms " longer "\n"

/* The refusal of a rate with a fraction names the same rate in whole numbers, if there is one. */
TEST(rates_with_a_fraction)
{
#define PUT_POLICY "PUT", "/ratelimit/policies/p"
	static const struct detail_row rows[] = {
		{ PUT_POLICY, RATE("0.5", "1000"), RATE_AS("0.5", "1000", "1", "2000") },
		{ PUT_POLICY, RATE("2.5", "60000"), RATE_AS("2.5", "60000", "5", "120000") },
		{ PUT_POLICY, RATE("0.1", "1000"), RATE_AS("0.1", "1000", "1", "10000") },
		{ PUT_POLICY, RATE("1e-3", "1"), RATE_AS("0.001", "1", "1", "1000") },
		{ PUT_POLICY, RATE("33.333", "60000"), RATE_AS("33.333", "60000", "33333", "60000000") },
		{ "PATCH", "/ratelimit/policies/p", RATE("0.5", "1000"), RATE_AS("0.5", "1000", "1", "2000") },
		{ "POST", "/ratelimit", "{\"key\":\"k\",\"window_ms\":1000,\"limit\":0.5}",
		  RATE_AS("0.5", "1000", "1", "2000") },
		{ "POST", "/ratelimit", "{\"checks\":[{\"key\":\"k\",\"limit\":1.5,\"window_ms\":1000}]}",
		  "/checks/0" RATE_AS("1.5", "1000", "3", "2000") },
		{ PUT_POLICY, RATE("-0.5", "1000"), NO_RATE },
		{ PUT_POLICY, RATE("1e300", "1000"), NO_RATE },
		{ PUT_POLICY, RATE("1e-300", "1000"), NO_RATE },
		{ PUT_POLICY, RATE("1000000000.5", "1"), NO_RATE },
		{ PUT_POLICY, RATE("3.141592653589793", "1000"), NO_RATE },
		/* The window would be longer than the longest. */
		{ PUT_POLICY, RATE("0.5", "20000000000"), NO_RATE },
		{ PUT_POLICY, RATE("0.5", "\"x\""),
		  NO_RATE TYPE("window_ms", "a whole number of milliseconds", "a string") },
		{ "PATCH", "/ratelimit/policies/p", "{\"limit\":0.5}", NO_RATE },
		/* No rate: a number that has no period. */
		{ PUT_POLICY, "{\"limit\":1,\"window_ms\":1,\"burst\":0.5}",
		  TYPE("burst", "a whole number", "a real number") },
	};
	check_details(ROWS(rows));
}

/* Each state (absent, null, given) of each kind of optional member that a PATCH may reset. */
struct patch_part {
	int64_t n;
};
struct patch {
	bool has_n, reset_n;
	int64_t n;
	bool has_s, reset_s;
	struct text s;
	bool has_part, reset_part;
	struct patch_part part;
};

static const struct field patch_part_rows[] = {
	{ .name = "n", .place = IN_BODY, .kind = FIELD_INT, .high = 9, .has_offset = NO_OFFSET },
};
#define PATCHED(member)                                                                                \
	.name = #member, .place = IN_BODY, .nullable = true, .offset = offsetof(struct patch, member), \
	.has_offset = offsetof(struct patch, has_##member)
static const struct field patch_rows[] = {
	{ PATCHED(n), .kind = FIELD_INT, .low = 1, .high = 9 },
	{ PATCHED(s), .kind = FIELD_TEXT, .high = 9 },
	{ PATCHED(part), .kind = FIELD_OBJECT, .fields = patch_part_rows, .field_count = 1 },
};

static const char *patched(const char *body)
{
	static const struct operation op = { .id = "patch",
					     .takes_body = true,
					     .input_size = sizeof(struct patch),
					     .fields = patch_rows,
					     .field_count = 3 };
	static char out[100];
	struct request *req = asked("PATCH", TEXT("/x"), text_of(body));

	req->op = &op;
	const struct patch *in = input_fill(req);
	if (in)
		snprintf(out, sizeof(out), "n%d%d=%d s%d%d=%s part%d%d=%d", in->has_n, in->reset_n, (int)in->n,
			 in->has_s, in->reset_s, in->s.at ? in->s.at : "", in->has_part, in->reset_part,
			 (int)in->part.n);
	else
		snprintf(out, sizeof(out), "%s", problem_of(req));
	asked_end(req);
	return out;
}

TEST(null_resets)
{
	assert_string_equal(patched("{}"), "n00=0 s00= part00=0");
	assert_string_equal(patched("{\"n\":null,\"s\":null,\"part\":null}"), "n01=0 s01= part01=0");
	assert_string_equal(patched("{\"n\":5,\"s\":\"x\",\"part\":{\"n\":7}}"), "n10=5 s10=x part10=7");
	assert_string_equal(patched("{\"n\":null,\"s\":\"x\"}"), "n01=0 s10=x part00=0");
	assert_string_equal(patched("{\"n\":0}"), "out_of_range");
	assert_string_equal(patched("{\"part\":{\"n\":null}}"), "wrong_type");
}
