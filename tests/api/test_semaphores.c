/*
 * Semaphores: never more permits than the limit, over all daemons; permits that expire; a wait
 * queue like that of a lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/proc.h"
#include "../support/raw.h"
#include "../support/stage.h"

enum { SOON_MS = 5000, LIMIT = 3, CROWD = 12 };

#define PERMITS "/semaphores/s/permits"

static struct answer release(const char *permit)
{
	char target[128];

	snprintf(target, sizeof(target), PERMITS "/%s", permit);
	return http(client, "DELETE", target, NULL);
}

static struct answer extend(const char *permit, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), PERMITS "/%s/extend", permit);
	return post(target, body);
}

static struct raw *queue_up(int port, const char *body, const char *headers)
{
	struct raw *r = raw_connect(port);
	char request[1024];

	snprintf(request, sizeof(request),
		 "POST " PERMITS
		 " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n%s",
		 strlen(body), headers, body);
	raw_text(r, request);
	return r;
}

static void until_in_line(int count)
{
	wait_until(int_at(get("/semaphores/s"), "/waiter_count") == count, SOON_MS);
}

static void so_many_and_no_more(void **state)
{
	(void)state;
	assert_string_equal(get("/semaphores/s").body,
			    "{\"name\":\"s\",\"limit\":null,\"permits_held\":0,\"waiter_count\":0,\"holders\":[]}\n");
	struct answer a = post(PERMITS, "{\"limit\":2,\"owner\":\"a\"}");
	struct answer b = post(PERMITS, "{\"limit\":2,\"ttl_ms\":60000}"); /* ends after a, which expires first */
	assert_status(a, 201);
	char path[128];
	snprintf(path, sizeof(path), PERMITS "/%s", text_at(a, "/permit"));
	assert_string_equal(header_of(a, "Location"), path);
	struct answer there = get(path);
	assert_status(there, 200);
	assert_string_equal(text_at(there, "/name"), "s");
	assert_string_equal(text_at(there, "/permit"), text_at(a, "/permit"));
	assert_string_equal(text_at(there, "/owner"), "a");
	assert_int_equal(int_at(there, "/expires_at_ms"), int_at(a, "/expires_at_ms"));
	assert_in_range(int_at(there, "/ttl_ms"), 1, int_at(a, "/ttl_ms"));
	assert_int_equal(int_at(b, "/permits_held"), 2);
	struct answer c = post(PERMITS, "{\"limit\":2}");
	assert_problem(c, 409, "no_permit", "none");
	assert_int_equal(int_at(c, "/permits_held"), 2);
	assert_true(header_of(c, "Retry-After") != NULL);
	assert_in_range(int_at(c, "/retry_after_ms"), 1, 30000);
	struct answer look = get("/semaphores/s");
	assert_int_equal(int_at(look, "/limit"), 2);
	assert_string_equal(text_at(look, "/holders/0/owner"), "a");
	assert_null(strstr(look.body, text_at(a, "/permit")));
	assert_status(release(text_at(a, "/permit")), 204);
	assert_status(release(text_at(a, "/permit")), 204); /* again: the same holder */
	assert_problem(get(path), 410, "permit_expired", "none");
	snprintf(path, sizeof(path), PERMITS "/%s", text_at(b, "/permit"));
	assert_true(json_is_null(json_at(get(path), "/owner")));
	assert_problem(extend(text_at(a, "/permit"), "{}"), 410, "permit_expired", "none");
	assert_problem(release("00000000000000000000000000000000"), 410, "permit_expired", "none");
	assert_status(post(PERMITS, "{\"limit\":2}"), 201);
	assert_status(post(PERMITS, "{\"limit\":3}"), 201); /* the limit belongs to the call */
}

static void permits_end(void **state)
{
	(void)state;
	struct answer a = post(PERMITS, "{\"limit\":1,\"ttl_ms\":200}");
	struct answer longer = extend(text_at(a, "/permit"), "{\"ttl_ms\":400}");
	assert_status(longer, 200);
	assert_true(int_at(longer, "/expires_at_ms") > int_at(a, "/expires_at_ms"));
	struct answer next = post(PERMITS, "{\"limit\":1,\"wait_ms\":5000}"); /* never released */
	assert_status(next, 201);
	assert_problem(extend(text_at(a, "/permit"), "{}"), 410, "permit_expired", "none");
	assert_problem(release(text_at(a, "/permit")), 410, "permit_expired", "none");
	assert_problem(get(header_of(a, "Location")), 410, "permit_expired", "none");
}

static void a_crowd_over_two_daemons_goes_in_order(void **state)
{
	struct daemon other = { 0 };
	struct answer in[CROWD];
	struct raw *waiting[CROWD];

	(void)state;
	daemon_start(&other, "--redis", redis.url);
	for (int i = 0; i < LIMIT; i++)
		in[i] = post(PERMITS, "{\"limit\":3}");
	for (int i = LIMIT; i < CROWD; i++) {
		waiting[i] = queue_up(i % 2 ? other.port : patternd.port, "{\"limit\":3,\"wait_ms\":30000}", "");
		until_in_line(i - LIMIT + 1);
	}
	assert_problem(post(PERMITS, "{\"limit\":3}"), 409, "no_permit", "none");
	for (int i = LIMIT; i < CROWD; i++) {
		assert_int_equal(int_at(get("/semaphores/s"), "/permits_held"), LIMIT);
		assert_status(release(text_at(in[i - LIMIT], "/permit")), 204);
		in[i] = raw_answer(waiting[i], SOON_MS);
		assert_status(in[i], 201);
	}
	for (int i = LIMIT; i < CROWD; i++)
		raw_close(waiting[i]);
	daemon_stop(&other);
}

static void a_client_that_leaves_is_out_of_the_queue(void **state)
{
	(void)state;
	struct answer a = post(PERMITS, "{\"limit\":1}");
	struct raw *first = queue_up(patternd.port, "{\"limit\":1,\"wait_ms\":30000}", "");
	until_in_line(1);
	struct raw *second = queue_up(patternd.port, "{\"limit\":1,\"wait_ms\":30000}", "");
	until_in_line(2);
	raw_reset(first);
	until_in_line(1);
	release(text_at(a, "/permit"));
	assert_status(raw_answer(second, SOON_MS), 201);
	raw_close(second);
}

static void a_retry_gets_the_first_permit(void **state)
{
	static const char wait[] = "{\"limit\":1,\"wait_ms\":30000,\"ttl_ms\":500}";

	(void)state;
	struct answer a = post(PERMITS, "{\"limit\":1}");
	struct raw *r = queue_up(patternd.port, wait, "Idempotency-Key: k\r\n");
	until_in_line(1);
	assert_problem(http(client, "POST", PERMITS, wait, "Idempotency-Key: k"), 409, "request_in_progress", "none");
	release(text_at(a, "/permit"));
	struct answer won = raw_answer(r, SOON_MS), again = http(client, "POST", PERMITS, wait, "Idempotency-Key: k");
	assert_status(won, 201);
	if (again.status == 201)
		assert_string_equal(text_at(again, "/permit"), text_at(won, "/permit"));
	wait_until(http(client, "POST", PERMITS, wait, "Idempotency-Key: k").status == 410, SOON_MS);
	raw_close(r);
}

static void the_list_has_what_is_held(void **state)
{
	(void)state;
	assert_string_equal(get("/semaphores").body, "{\"items\":[],\"next_cursor\":null,\"complete\":true}\n");
	struct answer a = post(PERMITS, "{\"limit\":2}");
	assert_status(post("/semaphores/other/permits", "{\"limit\":7}"), 201);
	server_command(&redis, "SET p:semaphore:{foreign} mine");
	assert_status(post("/locks/l", NULL), 201);
	assert_int_equal(json_array_size(json_at(get_all("/semaphores"), "/items")), 2);
	struct answer some = get_all("/semaphores?match=o*");
	assert_int_equal(json_array_size(json_at(some, "/items")), 1);
	assert_string_equal(text_at(some, "/items/0/name"), "other");
	assert_int_equal(int_at(some, "/items/0/limit"), 7);
	assert_int_equal(int_at(some, "/items/0/permits_held"), 1);
	assert_int_equal(int_at(some, "/items/0/waiter_count"), 0);
	release(text_at(a, "/permit")); /* its key stays, and it is no longer held */
	assert_int_equal(json_array_size(json_at(get_all("/semaphores"), "/items")), 1);
}

static void delete_ends_all_permits(void **state)
{
	(void)state;
	assert_problem(http(client, "DELETE", "/semaphores/s", NULL), 404, "not_found", "none");
	struct answer a = post(PERMITS, "{\"limit\":2,\"ttl_ms\":60000}");
	assert_status(release(text_at(post(PERMITS, "{\"limit\":2}"), "/permit")), 204);
	assert_status(http(client, "DELETE", "/semaphores/s", NULL), 204);
	assert_int_equal(server_keys(&redis), 0);
	assert_problem(extend(text_at(a, "/permit"), "{}"), 410, "permit_expired", "none");
	assert_problem(release(text_at(a, "/permit")), 410, "permit_expired", "none");
	assert_problem(http(client, "DELETE", "/semaphores/s", NULL), 404, "not_found", "none");
}

static void reserved_names_are_refused(void **state)
{
	static const char *const rows[][3] = {
		{ "GET", "/semaphores/.", NULL },
		{ "DELETE", "/semaphores/..", NULL },
		{ "POST", "/semaphores/../permits", "{\"limit\":1}" },
		{ "DELETE", "/semaphores/../permits/p", NULL },
		{ "POST", "/semaphores/../permits/p/extend", NULL },
		{ "POST", "/semaphores/acquire/permits", "{\"limit\":1}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_problem(http(client, rows[i][0], rows[i][1], rows[i][2]), 400, "reserved_name", "none");
}

/* All waiters that have room are served at once, in their order; the others wait on. */
static void delete_lets_waiters_in(void **state)
{
	static const char body[] = "{\"limit\":2,\"ttl_ms\":60000,\"wait_ms\":30000}";
	struct raw *waiting[3];

	(void)state;
	assert_status(post(PERMITS, "{\"limit\":2,\"ttl_ms\":60000}"), 201);
	assert_status(post(PERMITS, "{\"limit\":2,\"ttl_ms\":60000}"), 201);
	for (int i = 0; i < 3; i++) {
		waiting[i] = queue_up(patternd.port, body, "");
		until_in_line(i + 1);
	}
	assert_status(http(client, "DELETE", "/semaphores/s", NULL), 204);
	assert_status(raw_answer(waiting[0], SOON_MS), 201);
	assert_status(raw_answer(waiting[1], SOON_MS), 201);
	until_in_line(1);
	assert_int_equal(int_at(get("/semaphores/s"), "/permits_held"), 2);
	for (int i = 0; i < 3; i++)
		raw_close(waiting[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(so_many_and_no_more, stage_forget),
		cmocka_unit_test_teardown(permits_end, stage_forget),
		cmocka_unit_test_teardown(a_crowd_over_two_daemons_goes_in_order, stage_forget),
		cmocka_unit_test_teardown(a_client_that_leaves_is_out_of_the_queue, stage_forget),
		cmocka_unit_test_teardown(a_retry_gets_the_first_permit, stage_forget),
		cmocka_unit_test_teardown(the_list_has_what_is_held, stage_forget),
		cmocka_unit_test_teardown(delete_ends_all_permits, stage_forget),
		cmocka_unit_test_teardown(delete_lets_waiters_in, stage_forget),
		cmocka_unit_test_teardown(reserved_names_are_refused, stage_forget),
	};

	return cmocka_run_group_tests_name("semaphores", tests, stage_open, stage_close);
}
