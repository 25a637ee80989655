/*
 * Shared locks: several readers at once, each with its own token, fence and time; a waiting writer
 * is not overtaken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/proc.h"
#include "../support/raw.h"
#include "../support/stage.h"

enum { SOON_MS = 5000 };

static struct answer release(const char *token)
{
	char header[128];

	snprintf(header, sizeof(header), "Lock-Token: %s", token);
	return http(client, "DELETE", "/locks/s", NULL, header);
}

static struct raw *queue_up(const char *body, const char *headers)
{
	struct raw *r = raw_connect(patternd.port);
	char request[1024];

	snprintf(
		request, sizeof(request),
		"POST /locks/s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
		strlen(body), headers, body);
	raw_text(r, request);
	return r;
}

static void until_in_line(int count)
{
	wait_until(int_at(get("/locks/s"), "/waiters") == count, SOON_MS);
}

static void readers_are_beside_each_other(void **state)
{
	(void)state;
	struct answer a = post("/locks/s", "{\"mode\":\"shared\",\"owner\":\"a\",\"ttl_ms\":60000}");
	struct answer b = post("/locks/s", "{\"mode\":\"shared\",\"owner\":\"b\"}");
	assert_status(a, 201);
	assert_status(b, 201);
	assert_string_equal(text_at(b, "/mode"), "shared");
	assert_true(int_at(b, "/fence") > int_at(a, "/fence"));
	assert_string_not_equal(text_at(a, "/token"), text_at(b, "/token"));
	struct answer look = get("/locks/s");
	assert_int_equal(int_at(look, "/holds"), 2);
	assert_true(json_is_null(json_at(look, "/owner")));
	assert_string_equal(text_at(look, "/holders/0/owner"), "b"); /* the first to end */
	assert_in_range(int_at(look, "/holders/1/ttl_ms"), 50000, 60000);
	struct answer writer = post("/locks/s", "{}");
	assert_problem(writer, 409, "lock_held", "none");
	assert_string_equal(text_at(writer, "/holders/1/owner"), "a");
	assert_string_equal(text_at(get("/locks"), "/items/0/mode"), "shared");
	assert_int_equal(int_at(release(text_at(a, "/token")), "/holds"), 1);
	assert_problem(release(text_at(a, "/token")), 409, "not_holder", "none");
	assert_int_equal(int_at(release(text_at(b, "/token")), "/holds"), 0);
	assert_status(post("/locks/s", "{}"), 201);
}

static void a_reader_enters_again_in_its_mode_only(void **state)
{
	char body[256];

	(void)state;
	struct answer a = post("/locks/s", "{\"mode\":\"shared\",\"owner\":\"a\"}");
	snprintf(body, sizeof(body), "{\"token\":\"%s\"}", text_at(a, "/token"));
	struct answer again = post("/locks/s", body);
	assert_status(again, 200);
	assert_int_equal(int_at(again, "/holds"), 2);
	assert_int_equal(int_at(again, "/fence"), int_at(a, "/fence"));
	snprintf(body, sizeof(body), "{\"token\":\"%s\",\"mode\":\"exclusive\"}", text_at(a, "/token"));
	assert_problem(post("/locks/s", body), 409, "lock_mode_conflict", "none");
	release(text_at(a, "/token"));
	assert_int_equal(int_at(release(text_at(again, "/token")), "/holds"), 0);
	a = post("/locks/s", "{}");
	snprintf(body, sizeof(body), "{\"token\":\"%s\",\"mode\":\"shared\"}", text_at(a, "/token"));
	assert_problem(post("/locks/s", body), 409, "lock_mode_conflict", "none");
}

static void a_writer_in_line_is_not_overtaken(void **state)
{
	(void)state;
	struct answer reader = post("/locks/s", "{\"mode\":\"shared\"}");
	struct raw *writer = queue_up("{\"wait_ms\":20000,\"owner\":\"writer\"}", "");
	until_in_line(1);
	assert_problem(post("/locks/s", "{\"mode\":\"shared\"}"), 409, "lock_held", "none");
	struct raw *second = queue_up("{\"wait_ms\":20000,\"mode\":\"shared\",\"owner\":\"second\"}", "");
	until_in_line(2);
	struct raw *third = queue_up("{\"wait_ms\":20000,\"mode\":\"shared\",\"owner\":\"third\"}", "");
	until_in_line(3);
	release(text_at(reader, "/token"));
	struct answer won = raw_answer(writer, SOON_MS);
	assert_status(won, 201);
	assert_true(int_at(won, "/waited_ms") >= 0);
	assert_int_equal(int_at(get("/locks/s"), "/waiters"), 2);
	release(text_at(won, "/token"));
	assert_status(raw_answer(second, SOON_MS), 201); /* both readers acquire together */
	assert_status(raw_answer(third, SOON_MS), 201);
	assert_int_equal(int_at(get("/locks/s"), "/holds"), 2);
	raw_close(writer);
	raw_close(second);
	raw_close(third);
}

static void readers_end_one_by_one(void **state)
{
	char body[256];

	(void)state;
	struct answer kept = post("/locks/s", "{\"mode\":\"shared\",\"ttl_ms\":60000}");
	post("/locks/s", "{\"mode\":\"shared\",\"ttl_ms\":100}");
	assert_int_equal(int_at(get("/locks/s"), "/holds"), 2);
	wait_until(int_at(get("/locks/s"), "/holds") == 1, SOON_MS);
	struct raw *writer = queue_up("{\"wait_ms\":20000}", "");
	until_in_line(1);
	snprintf(body, sizeof(body), "{\"token\":\"%s\",\"ttl_ms\":50}", text_at(kept, "/token"));
	assert_status(post("/locks/s/extend", body), 200);
	assert_status(raw_answer(writer, SOON_MS), 201); /* woken for the earlier end */
	assert_problem(post("/locks/s/extend", body), 409, "not_holder", "none");
	raw_close(writer);
}

static void a_duplicate_of_a_waiter_is_in_progress(void **state)
{
	static const char wait[] = "{\"wait_ms\":20000}";

	(void)state;
	struct answer held = post("/locks/s", "{}");
	struct raw *r = queue_up(wait, "Idempotency-Key: k\r\n");
	until_in_line(1);
	assert_problem(http(client, "POST", "/locks/s", wait, "Idempotency-Key: k"), 409, "request_in_progress",
		       "none");
	assert_problem(http(client, "POST", "/locks/s", "{}", "Idempotency-Key: k"), 422, "idempotency_key_reused",
		       "none");
	release(text_at(held, "/token"));
	struct answer won = raw_answer(r, SOON_MS),
		      again = http(client, "POST", "/locks/s", wait, "Idempotency-Key: k");
	assert_status(again, 201);
	assert_string_equal(text_at(again, "/token"), text_at(won, "/token"));
	raw_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(readers_are_beside_each_other, stage_forget),
		cmocka_unit_test_teardown(a_reader_enters_again_in_its_mode_only, stage_forget),
		cmocka_unit_test_teardown(a_writer_in_line_is_not_overtaken, stage_forget),
		cmocka_unit_test_teardown(readers_end_one_by_one, stage_forget),
		cmocka_unit_test_teardown(a_duplicate_of_a_waiter_is_in_progress, stage_forget),
	};

	return cmocka_run_group_tests_name("shared locks", tests, stage_open, stage_close);
}
