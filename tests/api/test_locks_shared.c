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
	return http(client, "DELETE", "/locks/s", NULL, lock_token(token));
}

static struct answer enter(const char *token, const char *body)
{
	return http(client, "POST", "/locks/s", body, lock_token(token));
}

static size_t readers(void)
{
	return json_array_size(json_at(get("/locks/s"), "/holders"));
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
	wait_until(int_at(get("/locks/s"), "/waiter_count") == count, SOON_MS);
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
	assert_int_equal(json_array_size(json_at(look, "/holders")), 2);
	assert_int_equal(int_at(look, "/holders/0/holds"), 1);
	assert_int_equal(int_at(look, "/expires_at_ms"), int_at(look, "/holders/1/expires_at_ms"));
	assert_string_equal(text_at(look, "/holders/0/owner"), "b"); /* the first to end */
	assert_in_range(int_at(look, "/holders/1/ttl_ms"), 50000, 60000);
	struct answer writer = post("/locks/s", "{}");
	assert_problem(writer, 409, "lock_held", "none");
	assert_string_equal(text_at(writer, "/holders/1/owner"), "a");
	assert_string_equal(text_at(get("/locks"), "/items/0/mode"), "shared");
	for (int i = 0; i < 2; i++) /* the caller's own count, which is not that of the other reader */
		assert_string_equal(release(text_at(a, "/token")).body, "{\"name\":\"s\",\"holds\":0,\"held\":true}\n");
	for (int i = 0; i < 2; i++)
		assert_string_equal(release(text_at(b, "/token")).body,
				    "{\"name\":\"s\",\"holds\":0,\"held\":false}\n");
	assert_problem(release(text_at(a, "/token")), 409, "not_holder", "none");
	assert_status(post("/locks/s", "{\"mode\":\"shared\"}"), 201);
	assert_string_equal(release(text_at(b, "/token")).body, "{\"name\":\"s\",\"holds\":0,\"held\":true}\n");
}

static void readers_beyond_the_list_are_counted(void **state)
{
	enum { READERS = 20, LISTED = 16 };

	(void)state;
	for (int i = 1; i < READERS; i++)
		assert_status(post("/locks/s", "{\"mode\":\"shared\",\"ttl_ms\":60000}"), 201);
	struct answer last = post("/locks/s", "{\"mode\":\"shared\",\"ttl_ms\":80000}");
	assert_status(enter(text_at(last, "/token"), "{\"ttl_ms\":80000}"), 200);
	struct answer state_of = get("/locks/s"), list = get("/locks"), refused = post("/locks/s", "{}");
	assert_int_equal(int_at(state_of, "/holder_count"), READERS);
	assert_int_equal(json_array_size(json_at(state_of, "/holders")), LISTED);
	assert_int_equal(int_at(list, "/items/0/holder_count"), READERS);
	assert_problem(refused, 409, "lock_held", "none");
	assert_int_equal(int_at(refused, "/holder_count"), READERS);
	assert_int_equal(json_array_size(json_at(refused, "/holders")), LISTED);
	assert_in_range(int_at(refused, "/retry_after_ms"), 60001, 80000); /* until the last one expires */
	assert_non_null(strstr(text_at(refused, "/detail"), "'s' is shared by 20, for another "));
}

static void a_reader_enters_again_in_its_mode_only(void **state)
{
	(void)state;
	struct answer a = post("/locks/s", "{\"mode\":\"shared\",\"owner\":\"a\"}");
	struct answer again = enter(text_at(a, "/token"), NULL);
	assert_status(again, 200);
	assert_int_equal(int_at(again, "/holds"), 2);
	assert_int_equal(int_at(again, "/fence"), int_at(a, "/fence"));
	assert_problem(enter(text_at(a, "/token"), "{\"mode\":\"exclusive\"}"), 409, "lock_mode_conflict", "none");
	struct answer third = enter(text_at(again, "/token"), "{\"mode\":\"shared\"}");
	assert_status(third, 200);
	assert_int_equal(int_at(get("/locks/s"), "/holders/0/holds"), 3);
	release(text_at(third, "/token"));
	release(text_at(a, "/token"));
	assert_int_equal(int_at(release(text_at(again, "/token")), "/holds"), 0);
	a = post("/locks/s", "{}");
	assert_problem(enter(text_at(a, "/token"), "{\"mode\":\"shared\"}"), 409, "lock_mode_conflict", "none");
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
	assert_int_equal(int_at(get("/locks/s"), "/waiter_count"), 2);
	release(text_at(won, "/token"));
	assert_status(raw_answer(second, SOON_MS), 201); /* both readers acquire together */
	assert_status(raw_answer(third, SOON_MS), 201);
	assert_int_equal(readers(), 2);
	raw_close(writer);
	raw_close(second);
	raw_close(third);
}

static void readers_end_one_by_one(void **state)
{
	static const char soon[] = "{\"ttl_ms\":50}";

	(void)state;
	struct answer kept = post("/locks/s", "{\"mode\":\"shared\",\"ttl_ms\":60000}");
	post("/locks/s", "{\"mode\":\"shared\",\"ttl_ms\":100}");
	assert_int_equal(readers(), 2);
	wait_until(readers() == 1, SOON_MS);
	struct raw *writer = queue_up("{\"wait_ms\":20000}", "");
	until_in_line(1);
	const char *held_by = lock_token(text_at(kept, "/token"));
	assert_status(http(client, "POST", "/locks/s/extend", soon, held_by), 200);
	assert_status(raw_answer(writer, SOON_MS), 201); /* woken for the earlier end */
	assert_problem(http(client, "POST", "/locks/s/extend", soon, held_by), 409, "not_holder", "none");
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
	assert_problem(http(client, "POST", "/locks/s", wait, "Idempotency-Key: k",
			    lock_token(text_at(held, "/token"))),
		       422, "idempotency_key_reused", "none");
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
		cmocka_unit_test_teardown(readers_beyond_the_list_are_counted, stage_forget),
		cmocka_unit_test_teardown(a_reader_enters_again_in_its_mode_only, stage_forget),
		cmocka_unit_test_teardown(a_writer_in_line_is_not_overtaken, stage_forget),
		cmocka_unit_test_teardown(readers_end_one_by_one, stage_forget),
		cmocka_unit_test_teardown(a_duplicate_of_a_waiter_is_in_progress, stage_forget),
	};

	return cmocka_run_group_tests_name("shared locks", tests, stage_open, stage_close);
}
