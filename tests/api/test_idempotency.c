/*
 * The scope of an Idempotency-Key: operation, path and key, however the path is spelled and
 * whatever the body contains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "stage.h"

static struct answer send_with_key(const char *target, const char *body)
{
	return http(client, "POST", target, body, "Idempotency-Key: k");
}

static void another_spelling_is_the_same_path(void **state)
{
	(void)state;
	struct answer first = send_with_key("/queues/qa/messages", "{\"body\":1}");
	struct answer again = send_with_key("/queues/q%61/messages", "{\"body\":1}");
	assert_status(first, 201);
	assert_status(again, 201);
	assert_string_equal(text_at(again, "/messages/0/id"), text_at(first, "/messages/0/id"));
	assert_int_equal(int_at(get("/queues/qa"), "/ready"), 1);
}

static void another_path_is_another_request(void **state)
{
	(void)state;
	assert_status(send_with_key("/queues/a/messages", "{\"body\":1}"), 201);
	assert_status(send_with_key("/queues/b/messages", "{\"body\":1}"), 201);
	assert_int_equal(int_at(get("/queues/a"), "/ready"), 1);
	assert_int_equal(int_at(get("/queues/b"), "/ready"), 1);
}

static void another_operation_is_another_request(void **state)
{
	(void)state;
	assert_status(send_with_key("/uv/home", "{\"visitors\":[\"a\"]}"), 200);
	assert_status(send_with_key("/pv/home", "{}"), 200);
}

/*
 * Only the body may name the resource: then another resource is another body, not another request.
 * In a Cluster another node may have that resource, and does not know the first request: there the
 * request is carried out.
 */
static void another_body_is_refused(void **state)
{
	(void)state;
	assert_status(send_with_key("/ratelimit", "{\"key\":\"a\",\"limit\":5,\"window_ms\":60000}"), 200);
	assert_problem(send_with_key("/ratelimit", "{\"key\":\"a\",\"limit\":6,\"window_ms\":60000}"), 422,
		       "idempotency_key_reused", "none");
	if (redis.cluster)
		return;
	assert_problem(send_with_key("/ratelimit", "{\"key\":\"b\",\"limit\":5,\"window_ms\":60000}"), 422,
		       "idempotency_key_reused", "none");
	assert_true(json_is_null(json_at(get("/ratelimit/keys/b"), "/algorithm")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(another_spelling_is_the_same_path, stage_forget),
		cmocka_unit_test_teardown(another_path_is_another_request, stage_forget),
		cmocka_unit_test_teardown(another_operation_is_another_request, stage_forget),
		cmocka_unit_test_teardown(another_body_is_refused, stage_forget),
	};

	return cmocka_run_group_tests_name("idempotency", tests, stage_open, stage_close);
}
