/*
 * Input: what a handler gets of a target, a query, headers and a body, and what is refused before it runs: each fault with
 * its code and a pointer to its place.
 */
#include <stdio.h>

#include "asked.h"
#include "operations.h"
#include "route.h"

static struct text given_header; /* the value of Lock-Token; absent: it was not sent */

static struct text header(struct request *req, const char *name)
{
	(void)req;
	return strcmp(name, "Lock-Token") == 0 ? given_header : (struct text){ NULL, 0 };
}

/* The request of that operation, routed and filled; `in` is NULL when it was refused. */
static struct request *filled(const char *method, const char *target, struct text body, const void **in)
{
	struct request *req = asked(method, text_of(target), body);

	req->header = header;
	if (!route_request(req))
		fail_msg("%s %s: no operation", method, target);
	*in = input_fill(req);
	if (*in)
		assert_int_equal(req->state, READING);
	return req;
}

/* "code pointer pointer..." of a refusal, "ok" without one. */
static const char *verdict(const char *method, const char *target, struct text body)
{
	static char out[2500];
	const void *in;
	struct request *req = filled(method, target, body, &in);
	size_t n = (size_t)snprintf(out, sizeof(out), "%s", in ? "ok" : problem_of(req));

	if (!in) {
		json_t *root = json_loadb(req->answer.at, req->answer.len, 0, NULL), *error;
		size_t i;
		assert_int_equal(req->status, 400);
		json_array_foreach(json_object_get(root, "errors"), i, error) {
			assert_true(json_string_length(json_object_get(error, "detail")) > 0);
			n += (size_t)snprintf(out + n, sizeof(out) - n, " %s", json_string_value(json_object_get(error, "pointer")));
		}
		json_decref(root);
	}
	asked_end(req);
	return out;
}

struct row {
	const char *given; /* the body, or the target */
	const char *wanted;
};

static void check_bodies(const char *method, const char *target, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = verdict(method, target, text_of(rows[i].given));
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("%s %s %s: '%s', not '%s'", method, target, rows[i].given, got, rows[i].wanted);
	}
}

#define ROWS(rows) (rows), sizeof(rows) / sizeof((rows)[0])
#define LIMIT(rest) "{\"key\":\"k\",\"limit\":1,\"window_ms\":1" rest "}"

static void types_and_ranges(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ LIMIT(""), "ok" },
		{ LIMIT(",\"cost\":0"), "ok" },
		{ LIMIT(",\"cost\":1000000000"), "ok" },
		{ LIMIT(",\"cost\":1000000001"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":-1"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":9223372036854775807"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":-9223372036854775808"), "out_of_range /cost" },
		{ LIMIT(",\"cost\":2.0"), "ok" },                             /* integral reals are integers */
		{ LIMIT(",\"cost\":1e3"), "ok" },
		{ LIMIT(",\"cost\":-0.0"), "ok" },
		{ LIMIT(",\"cost\":1.5"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":9007199254740992.0"), "out_of_range /cost" }, /* 2^53 counts as one still */
		{ LIMIT(",\"cost\":9007199254740994.0"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":1e300"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":-1e300"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":\"1\""), "wrong_type /cost" },
		{ LIMIT(",\"cost\":true"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":null"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":[1]"), "wrong_type /cost" },
		{ LIMIT(",\"cost\":{}"), "wrong_type /cost" },
		{ LIMIT(",\"count_refused\":1"), "wrong_type /count_refused" },
		{ LIMIT(",\"count_refused\":\"true\""), "wrong_type /count_refused" },
		{ LIMIT(",\"count_refused\":false"), "ok" },
		{ LIMIT(",\"algorithm\":\"sliding_window\""), "ok" },
		{ LIMIT(",\"algorithm\":\"Funnel\""), "invalid_value /algorithm" },
		{ LIMIT(",\"algorithm\":\"\""), "invalid_value /algorithm" },
		{ LIMIT(",\"algorithm\":1"), "wrong_type /algorithm" },
		{ LIMIT(",\"algorithm\":\"funnel\\u0000\""), "invalid_value /algorithm" },
		{ "{\"limit\":1,\"window_ms\":1}", "missing_field /key" },
		{ "{\"key\":1,\"limit\":1,\"window_ms\":1}", "wrong_type /key" },
		{ "{}", "missing_field /key /limit /window_ms" },
		{ "", "missing_field /key /limit /window_ms" },
		{ LIMIT(",\"Cost\":1"), "unknown_field /Cost" },
		{ LIMIT(",\"\":1"), "unknown_field /" },
		{ LIMIT(",\"a/b~c\":1"), "unknown_field /a~1b~0c" },             /* RFC 6901 */
		{ LIMIT(",\"~1\":1"), "unknown_field /~01" },
		{ LIMIT(",\"\\u00e9\":1"), "unknown_field /\xc3\xa9" },
		{ "{\"key\":\"\",\"limit\":0,\"window_ms\":\"x\",\"x\":1}", "unknown_field /x /key /limit /window_ms" },
	};
	check_bodies("POST", "/ratelimit", ROWS(rows));
}

static void malformed_bodies(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"null", "[]", "\"x\"", "1", "true", " ", "{", "}", "{}{}", "{} x", "{},", "\xef\xbb\xbf{}", "{\"key\":1,\"key\":1}",
		"{'key':1}", "{\"key\":NaN}", "{\"key\":01}", "{\"key\":+1}", "{\"key\":.5}", "{\"key\":1e999}", "{\"key\":0x1}",
		"{\"key\":9223372036854775808}", "{\"key\":\"\\ud800\"}", "{\"key\":\"\xff\"}", "{\"key\":\"\xed\xa0\x80\"}",
		"{\"key\":\"a\nb\"}", "{\"a\\u0000\":1}", "{\"key\":\"\\x\"}", "{/**/}", "{\"key\":\"", "{\"messages\":[1,]}",
		"{\"key\":{\"a\":1,\"a\":2}}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got = verdict("POST", "/ratelimit", text_of(rows[i]));
		if (strcmp(got, "malformed_json") != 0)
			fail_msg("%s: '%s'", rows[i], got);
	}
	assert_string_equal(verdict("POST", "/ratelimit", TEXT("{}\0")), "malformed_json");
	assert_string_equal(verdict("POST", "/ratelimit", TEXT("\xff\xfe{\0}\0")), "malformed_json");
}

/* 32 levels, the body itself the first; brackets in strings are none. */
static void depth(void **state)
{
	(void)state;
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
	assert_string_equal(verdict("POST", "/queues/q/messages", (struct text){ bomb, sizeof(bomb) }), "malformed_json");
	for (size_t i = 0; i + 5 < sizeof(bomb); i += 5)
		memcpy(bomb + i, "{\"a\":", 5);
	assert_string_equal(verdict("POST", "/queues/q/messages", (struct text){ bomb, sizeof(bomb) }), "malformed_json");
}

static void names(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "/locks/a", "ok" },
		{ "/locks/%20", "ok" },
		{ "/locks/a%2Fb:c", "ok" },
		{ "/locks/%F4%8F%BF%BF", "ok" },
		{ "/locks/...", "ok" },
		{ "/locks/receive", "ok" }, /* reserved for queues only */
		{ "/queues/Receive", "ok" },
		{ "/locks/", "invalid_name {name}" },
		{ "/locks/%01", "invalid_name {name}" },
		{ "/locks/a%0a", "invalid_name {name}" },
		{ "/locks/%7f", "invalid_name {name}" },
		{ "/locks/%C2%85", "invalid_name {name}" },
		{ "/locks/%ff", "invalid_name {name}" },
		{ "/locks/%c0%af", "invalid_name {name}" },
		{ "/locks/%ed%a0%80", "invalid_name {name}" },
		{ "/locks/{x", "invalid_name {name}" },
		{ "/locks/%7D", "invalid_name {name}" },
		{ "/locks/.", "reserved_name {name}" },
		{ "/locks/%2e%2e", "reserved_name {name}" },
		{ "/queues/receive", "reserved_name {queue}" },
		{ "/queues/rec%65ive/messages/1", "reserved_name {queue}" },
		{ "/geo/nearby/members/x", "reserved_name {set}" },
		{ "/geo/nearby?set=nearby&longitude=1&latitude=1&radius=1", "reserved_name ?set" },
		{ "/geo/s/members/%01", "invalid_name {member}" },
		{ "/geo/nearby/members/%01", "reserved_name {set} {member}" },
	};
	char target[700] = "/locks/";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got = verdict("GET", rows[i].given, (struct text){ NULL, 0 });
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("%s: '%s', not '%s'", rows[i].given, got, rows[i].wanted);
	}
	for (int i = 0; i < 100; i++)
		strcat(target, "%C3%A9"); /* 200 bytes, 100 characters */
	assert_string_equal(verdict("GET", target, (struct text){ NULL, 0 }), "ok");
	strcat(target, "x");
	assert_string_equal(verdict("GET", target, (struct text){ NULL, 0 }), "invalid_name {name}");
	assert_string_equal(verdict("POST", "/ratelimit", TEXT("{\"key\":\"a\\u0000\",\"limit\":1,\"window_ms\":1}")),
			    "invalid_name /key");
	assert_string_equal(verdict("POST", "/uv/p/merge", TEXT("{\"sources\":[\"a\",\"pages\",\"..\"]}")),
			    "reserved_name /sources/1 /sources/2");
}

static void queries(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{ "/locks?limit=1000&match=a*", "ok" },
		{ "/locks?limit=0", "out_of_range ?limit" },
		{ "/locks?limit=1001", "out_of_range ?limit" },
		{ "/locks?limit=", "wrong_type ?limit" },
		{ "/locks?limit=-", "wrong_type ?limit" },
		{ "/locks?limit=1.0", "wrong_type ?limit" },
		{ "/locks?limit=+1", "wrong_type ?limit" },
		{ "/locks?limit=%2B1", "wrong_type ?limit" },
		{ "/locks?limit=1x", "wrong_type ?limit" },
		{ "/locks?limit=0x10", "wrong_type ?limit" },
		{ "/locks?limit=%D9%A1", "wrong_type ?limit" },
		{ "/locks?limit=1&limit=1", "invalid_value ?limit" },
		{ "/locks?Limit=1", "unknown_field ?Limit" },
		{ "/locks?x=1&y=2", "unknown_field ?x ?y" },
		{ "/locks?x=1&x=1&limit=z", "unknown_field ?x ?x ?limit" },
		{ "/locks?name=1", "unknown_field ?name" },
		{ "/locks?match=", "out_of_range ?match" },
		{ "/locks?match=%ff", "invalid_value ?match" },
		{ "/queues/q/messages?state=dead", "ok" },
		{ "/queues/q/messages?state=alive", "invalid_value ?state" },
		{ "/geo/nearby?set=s&longitude=-180&latitude=85.05112878&radius=1e3&sort=desc", "ok" },
		{ "/geo/nearby?set=s&longitude=1e-400&latitude=-1e-320&radius=1", "ok" }, /* too small is zero, or nearly */
		{ "/geo/nearby?set=s&longitude=180.0000001&latitude=-85.06", "out_of_range ?longitude ?latitude" },
		{ "/geo/nearby?set=s&longitude=nan&latitude=inf", "wrong_type ?longitude ?latitude" },
		{ "/geo/nearby?set=s&longitude=0x1&latitude=1e999", "wrong_type ?longitude ?latitude" },
		{ "/geo/nearby?set=s&longitude=&latitude=1,5", "wrong_type ?longitude ?latitude" },
		{ "/geo/nearby?longitude=1", "missing_field ?set" },
		{ "/uv?pages=a&pages=b", "ok" },
		{ "/uv", "out_of_range ?pages" },
		{ "/uv?pages=a&pages=%01&pages=", "invalid_name ?pages ?pages" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got = verdict("GET", rows[i].given, (struct text){ NULL, 0 });
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("%s: '%s', not '%s'", rows[i].given, got, rows[i].wanted);
	}
}

static void nested_items(void **state)
{
	(void)state;
	static const struct row messages[] = {
		{ "{\"messages\":[{\"body\":1},{\"body\":null,\"priority\":9}]}", "ok" },
		{ "{\"messages\":[]}", "out_of_range /messages" },
		{ "{\"messages\":{}}", "wrong_type /messages" },
		{ "{\"messages\":[1]}", "wrong_type /messages/0" },
		{ "{\"messages\":[{\"body\":1},{}]}", "missing_field /messages/1/body" },
		{ "{\"messages\":[{\"body\":1,\"a/~b\":2}]}", "unknown_field /messages/0/a~1~0b" },
		{ "{\"messages\":[{\"body\":1,\"priority\":10},{\"body\":1,\"delay_ms\":\"x\"},7]}",
		  "out_of_range /messages/0/priority /messages/1/delay_ms /messages/2" },
		/* Not more than eight are told. */
		{ "{\"messages\":[1,1,1,1,1,1,1,1,1,1]}", "wrong_type /messages/0 /messages/1 /messages/2 /messages/3"
		  " /messages/4 /messages/5 /messages/6 /messages/7" },
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

/* What the handler sees: values, defaults, and which fields were there. */
static void values_and_defaults(void **state)
{
	(void)state;
	const void *in;
	struct request *req = filled("POST", "/ratelimit", TEXT("{\"key\":\"k\",\"limit\":5.0,\"window_ms\":60000,\"burst\":7}"), &in);
	const struct ratelimit_take_input *take = in;

	assert_true(text_is(take->key, "k") && take->limit == 5 && take->window_ms == 60000 && take->cost == 1);
	assert_true(take->has_burst && take->burst == 7 && !take->count_refused);
	assert_int_equal(take->algorithm, RATELIMIT_TAKE_ALGORITHM_FUNNEL);
	asked_end(req);
	req = filled("POST", "/queues/a%20b/messages", TEXT("{\"messages\":[{\"body\":[1],\"id\":\"i\"},{\"body\":2,\"ttl_ms\":9}]}"),
		     &in);
	const struct queue_send_input *send = in;
	assert_true(text_is(send->queue, "a b") && !send->body && send->messages.count == 2);
	assert_true(json_is_array(send->messages.items[0].body) && text_is(send->messages.items[0].id, "i"));
	assert_true(!send->messages.items[0].has_ttl_ms && send->messages.items[1].has_ttl_ms);
	assert_true(send->messages.items[1].ttl_ms == 9 && send->messages.items[1].priority == 4);
	assert_null(send->messages.items[1].id.at);
	asked_end(req);
	req = filled("GET", "/uv?pages=a&from=2026-01-01&pages=b", (struct text){ NULL, 0 }, &in);
	const struct uv_union_input *uv = in;
	assert_true(uv->pages.count == 2 && text_is(uv->pages.items[1], "b") && text_is(uv->from, "2026-01-01") && !uv->to.at);
	asked_end(req);
	given_header = TEXT("secret");
	req = filled("DELETE", "/locks/x", (struct text){ NULL, 0 }, &in);
	const struct lock_release_input *release = in;
	assert_true(text_is(release->lock_token, "secret") && !release->token.at);
	asked_end(req);
	given_header = TEXT("");
	assert_string_equal(verdict("DELETE", "/locks/x", (struct text){ NULL, 0 }), "out_of_range Lock-Token:");
	given_header = (struct text){ NULL, 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_and_ranges), cmocka_unit_test(malformed_bodies), cmocka_unit_test(depth),
		cmocka_unit_test(names),            cmocka_unit_test(queries),          cmocka_unit_test(nested_items),
		cmocka_unit_test(values_and_defaults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
