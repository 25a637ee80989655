/*
 * Each place that accepts JSON from a client returns it byte for byte as it was sent. Text that is
 * not JSON is refused.
 */
#include "../support/events.h"
#include "stage.h"
#include "test.h"

#define DEEP_10 "[[[[[[[[[[]]]]]]]]]]"
#define DEEP_29 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
enum { SOON_MS = 3000 };

/*
 * Where a value is sent, where it is returned, and the text around it in both. `damage` is a
 * command that changes the value in Redis.
 */
static const struct carrier {
	const char *method, *target, *body_before, *body_after, *out_method, *out_target, *before, *after, *damage;
	int status;
} carriers[] = {
	{ "POST", "/queues/q/messages", "{\"id\":\"a\",\"body\":", "}", "GET", "/queues/q/messages/a",
	  "\"body\":", ",\"", NULL, 201 },
	{ "POST", "/queues/q/messages", "{\"messages\":[{\"body\":\t", "\r\n}]}", "POST", "/queues/q/receive",
	  "\"body\":", ",\"", NULL, 201 },
	{ "POST", "/queues/q/messages", "{\"body\":", ",\"priority\":1}", "GET", "/queues/q/messages",
	  "\"body\":", ",\"", NULL, 201 },
	{ "PUT", "/cache/c", "{\"ttl_ms\":60000,\"value\": ", "\n}", "GET", "/cache/c", "\"value\":", ",\"version\"",
	  "HSET p:cache:{c} value %s", 201 },
	{ "POST", "/feeds/f/items", "{\"items\":[ ", " ]}", "GET", "/feeds/f/items", "\"item\":", ",\"pushed_at_ms\"",
	  "XADD p:feed:{f} * item %s", 200 },
	{ "POST", "/locks/l", "{\"ttl_ms\":60000,\"metadata\":", "}", "GET", "/locks/l", "\"metadata\":", "}",
	  "HSET p:lock:{l} metadata %s", 201 },
};

/*
 * Texts of JSONTestSuite (N. Seriot) that parsing and writing could change, and numbers that no
 * double holds.
 */
static const char *const accepted[] = {
	"1.10",
	"1e5",
	"1E+2",
	"-0",
	"-0.0",
	"0e+1",
	"123.456e78",
	"-1e-999",
	"1e999",
	"123123e100000",
	"0.4e00669999999999999999999999999999999999999999999999999999999999",
	"-0.000000000000000000000000000000000000000000000000000000000000000000000000000001",
	"123456789012345678901234567890",
	"-123456789012345678901234567890",
	"9007199254740993",
	"9223372036854775808",
	"0.1000000000000000055511151231257827",
	"true",
	"false",
	"null",
	"\"\"",
	"\" \"",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
	"\"\\u0060\\u012a\\u12AB\"",
	"\"\\uD801\\udc37\"",
	"\"\\u0000\"",
	"\"\\uFFFF\\uDBFF\\uDFFE\"",
	"\"\x7f\"",
	"\"\xe2\x80\xa8\xe2\x80\xa9\"",
	"\"\xf4\x8f\xbf\xbf \xef\xbb\xbf\xc3\xa9\"",
	"\"a/*b*/c/*d//e\"",
	"[]",
	"[   ]",
	"[ 4 , 2]",
	"[1,null,null,null,2]",
	"{}",
	"{\"\":0}",
	"{\"b\":[],\"a\":{\"\":[null,false,{\"b\":1.0}]},\"\xc3\xa4 \\t\":1}",
	"{\"\\u0061\":1,\"A\":1}",
	"{\n\t\"a\" : \"b\" ,\r\n\"c\":1.0e0 }",
	DEEP_29,
};

static const char *const refused[] = {
	"01",
	"-",
	"+1",
	".5",
	"1.",
	"1e",
	"0x1",
	"1_000",
	"NaN",
	"Infinity",
	"nul",
	"True",
	"'a'",
	"\"a",
	"\"\\x00\"",
	"\"\\u12\"",
	"\"\\uD800\"",
	"\"\\uDC00\\uD800\"",
	"\"\\uD800\\u0061\"",
	"\"\x1f\"",
	"\"\t\"",
	"\"\xff\"",
	"\"\xc0\xaf\"",
	"\"\xed\xa0\x80\"",
	"\"\xf4\x90\x80\x80\"",
	"[",
	"]",
	"[1,]",
	"[,1]",
	"[1 2]",
	"[1]]",
	"{\"a\"}",
	"{\"a\":1,}",
	"{a:1}",
	"{\"a\":1,\"a\":2}",
	"{\"a\":1,\"\\u0061\":2}",
	"{\"b\":{\"a\":[{\"c\":0,\"c\":0}]}}",
	"{\"a\\u0000\":1}",
	"// 1",
	"1 /* */",
	"\xef\xbb\xbf"
	"1",
	DEEP_10 DEEP_10,
	"[[[" DEEP_29 "]]]",
};

static struct answer send_value(const struct carrier *c, const char *value)
{
	char body[1024];

	snprintf(body, sizeof(body), "%s%s%s", c->body_before, value, c->body_after);
	return http(client, c->method, c->target, body);
}

static struct answer take_out(const struct carrier *c)
{
	return http(client, c->out_method, c->out_target, strcmp(c->out_method, "POST") == 0 ? "{}" : NULL);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(it_comes_back_byte_for_byte)
{
	char wanted[1024];

	for (size_t i = 0; i < COUNT(carriers); i++) {
		const struct carrier *c = &carriers[i];
		for (size_t v = 0; v < COUNT(accepted); v++) {
			stage_forget(NULL);
			assert_status(send_value(c, accepted[v]), c->status);
			struct answer a = take_out(c);
			snprintf(wanted, sizeof(wanted), "%s%s%s", c->before, accepted[v], c->after);
			assert_status(a, 200);
			if (!strstr(a.body, wanted))
				fail_msg("%s: %s became %s", c->target, accepted[v], a.body);
		}
	}
}

TEST(what_is_not_json_is_refused)
{
	for (size_t i = 0; i < COUNT(carriers); i++)
		for (size_t v = 0; v < COUNT(refused); v++)
			assert_problem(send_value(&carriers[i], refused[v]), 400, "malformed_json", "none");
	assert_int_equal(server_keys(&redis), 0);
}

TEST(what_was_damaged_in_redis_is_reported)
{
	static const char *const damaged[] = { "{]", "1,\"b\":2", "[\"\xff\"]", "{\"a\":1,\"a\":2}", "\"\\x\"", "01" };

	for (size_t i = 0; i < COUNT(carriers); i++) {
		const struct carrier *c = &carriers[i];
		for (size_t v = 0; c->damage && v < COUNT(damaged); v++) {
			stage_forget(NULL);
			assert_status(send_value(c, "1"), c->status);
			server_command(&redis, c->damage, damaged[v]);
			assert_problem(take_out(c), 500, "foreign_key", "none");
		}
	}
}

/* A reader's record in Redis holds the owner and the metadata side by side. */
TEST(metadata_of_a_reader_may_hold_tabs)
{
	struct answer taken = post("/locks/s", "{\"mode\":\"shared\",\"owner\":\"a\\tb\",\"metadata\":[1\t,\t2]}");
	char header[128];

	assert_status(taken, 201);
	assert_string_equal(text_at(get("/locks/s"), "/holders/0/owner"), "a\tb");
	snprintf(header, sizeof(header), "Lock-Token: %s", text_at(taken, "/token"));
	assert_status(http(client, "DELETE", "/locks/s", NULL, header), 200);
}

/* An event may contain no line break other than LF, so the daemon replaces the others with LF. */
TEST(listeners_get_it_byte_for_byte)
{
	static const char *const lines[][2] = {
		{ "{\n\n\"a\" : \"b\" ,\n\"c\":1.0e0 }", "{\n\n\"a\" : \"b\" ,\n\"c\":1.0e0 }" },
		{ "[1\r\n,\r2\n\r]", "[1\n,\n2\n\n]" },
	};
	char body[1024], wanted[1024];
	struct events *e = events_get(patternd.port, "/topics/t/stream");

	assert_string_equal(events_next_named(e, SOON_MS).name, "listening");
	for (size_t v = 0; v < COUNT(accepted) + COUNT(lines); v++) {
		const char *sent = v < COUNT(accepted) ? accepted[v] : lines[v - COUNT(accepted)][0];
		const char *arrives = v < COUNT(accepted) ? sent : lines[v - COUNT(accepted)][1];
		if (v < COUNT(accepted) && strchr(sent, '\n'))
			continue;
		snprintf(body, sizeof(body), "{\"body\":%s}", sent);
		assert_status(post("/topics/t", body), 200);
		snprintf(wanted, sizeof(wanted), ",\"body\":%s}", arrives);
		const char *data = events_next_named(e, SOON_MS).data;
		if (!data || !strstr(data, wanted))
			fail_msg("%s became %s", sent, data);
	}
	for (size_t v = 0; v < COUNT(refused); v++) {
		snprintf(body, sizeof(body), "{\"body\":%s}", refused[v]);
		assert_problem(post("/topics/t", body), 400, "malformed_json", "none");
	}
	events_close(e);
}
