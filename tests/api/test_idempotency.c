/*
 * The scope of an Idempotency-Key: a request is identified by its operation, path and key, however
 * the path is spelled and whatever the body contains.
 */
#include "stage.h"
#include "test.h"
#include "waiter.h"

static struct answer send_with_key(const char *target, const char *body)
{
	return http(client, "POST", target, body, "Idempotency-Key: k");
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(another_spelling_is_the_same_path)
{
	struct answer first = send_with_key("/queues/qa/messages", "{\"body\":1}");
	struct answer again = send_with_key("/queues/q%61/messages", "{\"body\":1}");
	assert_status(first, 201);
	assert_status(again, 201);
	assert_string_equal(text_at(again, "/messages/0/id"), text_at(first, "/messages/0/id"));
	assert_int_equal(int_at(get("/queues/qa"), "/ready"), 1);
}

TEST(another_path_is_another_request)
{
	assert_status(send_with_key("/queues/a/messages", "{\"body\":1}"), 201);
	assert_status(send_with_key("/queues/b/messages", "{\"body\":1}"), 201);
	assert_int_equal(int_at(get("/queues/a"), "/ready"), 1);
	assert_int_equal(int_at(get("/queues/b"), "/ready"), 1);
}

TEST(another_operation_is_another_request)
{
	assert_status(send_with_key("/uv/home", "{\"visitors\":[\"a\"]}"), 200);
	assert_status(send_with_key("/pv/home", "{}"), 200);
}

/*
 * If only the body names the resource, a request for another resource is refused as another body
 * under the same key. In a Cluster another node may have that resource. That node does not know the
 * first request, so it carries out the second.
 */
TEST(another_body_is_refused)
{
	assert_status(send_with_key("/ratelimit", "{\"key\":\"a\",\"limit\":5,\"window_ms\":60000}"), 200);
	assert_problem(send_with_key("/ratelimit", "{\"key\":\"a\",\"limit\":6,\"window_ms\":60000}"), 422,
		       "idempotency_key_reused", "none");
	if (redis.cluster)
		return;
	assert_problem(send_with_key("/ratelimit", "{\"key\":\"b\",\"limit\":5,\"window_ms\":60000}"), 422,
		       "idempotency_key_reused", "none");
	assert_true(json_is_null(json_at(get("/ratelimit/keys/b"), "/algorithm")));
}

/* The remaining time of the only record. */
static int64_t record_lasts_ms(void)
{
	const redisReply *keys = server_command(&redis, "KEYS p:idem:*");

	assert_int_equal(keys->elements, 1);
	char *key = strdup(keys->element[0]->str);
	int64_t ms = server_command(&redis, "PTTL %s", key)->integer;
	free(key);
	return ms;
}

/*
 * A change is recorded for a day, a grant for its ttl but at least a minute, a rate-limit decision
 * for its window. A client can ask for less.
 */
TEST(a_record_is_kept_as_long_as_it_is_of_use)
{
	static const char day[] = "X: y", two_seconds[] = "Idempotency-TTL-Ms: 2000",
			  year[] = "Idempotency-TTL-Ms: 99999999999";
	static const struct {
		const char *before, *body_before, *target, *body, *header;
		int64_t most_ms;
	} rows[] = {
		{ NULL, NULL, "/counters/c/increment", "{\"counters\":{\"n\":1}}", day, 86400000 },
		{ NULL, NULL, "/counters/c/increment", "{\"counters\":{\"n\":1}}", two_seconds, 2000 },
		{ NULL, NULL, "/counters/c/increment", "{\"counters\":{\"n\":1}}", year, 86400000 },
		{ NULL, NULL, "/locks/l", "{\"ttl_ms\":1000}", day, 60000 },
		{ NULL, NULL, "/locks/l", "{\"ttl_ms\":600000}", day, 600000 },
		{ NULL, NULL, "/locks/l", "{\"ttl_ms\":600000}", two_seconds, 2000 },
		{ NULL, NULL, "/locks", "{\"names\":[\"l\"],\"ttl_ms\":600000}", day, 600000 },
		{ NULL, NULL, "/semaphores/s/permits", "{\"limit\":1,\"ttl_ms\":120000}", day, 120000 },
		{ NULL, NULL, "/cache/c/fill", "{\"fill_ms\":120000}", day, 120000 },
		{ "/queues/q/messages", "{\"body\":1}", "/queues/q/receive", "{\"visibility_ms\":90000}", day, 90000 },
		{ "/queues/q/messages", "{\"body\":1}", "/queues/q/receive", "{\"acknowledge\":true}", day, 60000 },
		{ "/queues/q/messages", "{\"body\":1}", "/queues/q/messages", "{\"body\":1}", day, 86400000 },
		{ NULL, NULL, "/ratelimit", "{\"key\":\"a\",\"limit\":5,\"window_ms\":5000}", day, 5000 },
		{ NULL, NULL, "/ratelimit", "{\"key\":\"a\",\"limit\":5,\"window_ms\":500000}", two_seconds, 2000 },
	};

	long records = metric_of(&patternd, "idempotency_records_total");
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].before)
			assert_status(post(rows[i].before, rows[i].body_before), 201);
		struct answer a =
			http(client, "POST", rows[i].target, rows[i].body, "Idempotency-Key: k", rows[i].header);
		assert_in_range(a.status, 200, 201);
		assert_int_equal(metric_of(&patternd, "idempotency_records_total"), ++records);
		int64_t ms = record_lasts_ms();
		if (ms < rows[i].most_ms / 2 || ms > rows[i].most_ms)
			fail_msg("%s %s, %s: %lld ms", rows[i].target, rows[i].body, rows[i].header, (long long)ms);
		stage_forget(NULL);
	}
	static const char *const wrong[] = { "999", "0", "-1", "x", "1e9", "1000.5", "9999999999999999", "" };
	for (size_t i = 0; i < COUNT(wrong); i++) {
		char header[64];
		snprintf(header, sizeof(header), "Idempotency-TTL-Ms%s%s", *wrong[i] ? ": " : ";", wrong[i]);
		struct answer a = http(client, "POST", "/counters/c/increment", "{\"counters\":{\"n\":1}}",
				       "Idempotency-Key: k", header);
		assert_problem(a, 400, "out_of_range", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), "Idempotency-TTL-Ms:");
	}
}
