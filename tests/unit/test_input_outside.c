/*
 * Tests of input from paths, queries and headers, and of the values, defaults and presence flags
 * that a handler gets.
 */
#include "filled.h"
#include "operations.h"

static void check_targets(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = verdict("GET", rows[i].given, NOTHING);
		if (strcmp(got, rows[i].wanted) != 0)
			fail_msg("GET %s: '%s', not '%s'", rows[i].given, got, rows[i].wanted);
	}
}

SUITE(.open = load_options, .close = free_options);

TEST(names)
{
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
		{ "/queues/settle", "reserved_name {name}" },
		{ "/queues/rec%65ive/messages/1", "reserved_name {name}" },
		{ "/geo/nearby/members/x", "reserved_name {name}" },
		{ "/geo/nearby?name=nearby&longitude=1&latitude=1&radius=1", "reserved_name ?name" },
		{ "/geo/s/members/%01", "invalid_name {member}" },
		{ "/geo/nearby/members/%01", "reserved_name {name} {member}" },
		{ "/keys/%ff%01%7b%2f..", "ok" }, /* any bytes */
		{ "/keys/..", "ok" },
		{ "/keys/", "invalid_name {key}" },
	};
	char target[700];
	size_t n = (size_t)snprintf(target, sizeof(target), "/locks/");

	check_targets(ROWS(rows));
	for (int i = 0; i < 100; i++, n += 6)
		memcpy(target + n, "%C3%A9", 7); /* 200 bytes, 100 characters */
	assert_string_equal(verdict("GET", target, NOTHING), "ok");
	memcpy(target + n, "x", 2);
	assert_string_equal(verdict("GET", target, NOTHING), "invalid_name {name}");
	assert_string_equal(verdict("POST", "/ratelimit", TEXT("{\"key\":\"a\\u0000\",\"limit\":1,\"window_ms\":1}")),
			    "invalid_name /key");
	assert_string_equal(verdict("POST", "/uv/p/merge", TEXT("{\"sources\":[\"a\",\"combine\",\"..\"]}")),
			    "reserved_name /sources/1 /sources/2");
}

TEST(queries)
{
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
		{ "/geo/nearby?name=s&longitude=-180&latitude=85.05112878&radius=1e3&order=desc", "ok" },
		{ "/geo/nearby?name=s&longitude=1e-400&latitude=-1e-320&radius=1",
		  "ok" }, /* too small is zero, or nearly */
		{ "/geo/nearby?name=s&longitude=180.0000001&latitude=-85.06", "out_of_range ?longitude ?latitude" },
		{ "/geo/nearby?name=s&longitude=nan&latitude=inf", "wrong_type ?longitude ?latitude" },
		{ "/geo/nearby?name=s&longitude=0x1&latitude=1e999", "wrong_type ?longitude ?latitude" },
		{ "/geo/nearby?name=s&longitude=&latitude=1,5", "wrong_type ?longitude ?latitude" },
		{ "/geo/nearby?longitude=1", "missing_field ?name" },
		{ "/uv/combine?name=a&name=b", "ok" },
		{ "/uv/combine", "missing_field ?name" },
		{ "/uv/combine?name=a&name=%01&name=", "invalid_name ?name ?name" },
	};

	check_targets(ROWS(rows));
}

/* What the handler gets: values, defaults, and which fields were present. */
TEST(values_and_defaults)
{
	const void *in;
	struct request *req = filled("POST", "/ratelimit",
				     TEXT("{\"key\":\"k\",\"limit\":5.0,\"window_ms\":60000,\"burst\":7}"), &in);
	const struct ratelimit_take_input *take = in;

	assert_true(text_is(take->key, "k") && take->limit == 5 && take->window_ms == 60000 && take->cost == 1);
	assert_true(take->has_burst && take->burst == 7 && !take->count_refused);
	assert_int_equal(take->algorithm, RATELIMIT_TAKE_ALGORITHM_GCRA);
	asked_end(req);
	req = filled("POST", "/queues/a%20b/messages",
		     TEXT("{\"messages\":[{\"body\":[1],\"id\":\"i\"},{\"body\":2,\"ttl_ms\":9}]}"), &in);
	const struct queue_message_send_input *send = in;
	assert_true(text_is(send->name, "a b") && !send->body.at && send->messages.count == 2);
	assert_true(text_is(send->messages.items[0].body, "[1]") && text_is(send->messages.items[0].id, "i"));
	assert_true(!send->messages.items[0].has_ttl_ms && send->messages.items[1].has_ttl_ms);
	assert_true(send->messages.items[1].ttl_ms == 9 && send->messages.items[1].priority == 4);
	assert_null(send->messages.items[1].id.at);
	asked_end(req);
	req = filled("GET", "/uv/combine?name=a&from=2026-01-01&name=b", NOTHING, &in);
	const struct uv_combine_input *uv = in;
	assert_true(uv->name.count == 2 && text_is(uv->name.items[1], "b") && text_is(uv->from, "2026-01-01") &&
		    !uv->to.at);
	asked_end(req);
	given_header = TEXT("secret");
	req = filled("DELETE", "/locks/x", NOTHING, &in);
	const struct lock_release_input *release = in;
	assert_true(text_is(release->lock_token, "secret"));
	asked_end(req);
	given_header = TEXT("");
	assert_string_equal(verdict("DELETE", "/locks/x", NOTHING), "out_of_range Lock-Token:");
	given_header = NOTHING;
}
