/*
 * Semaphores: never more permits than the limit, over all daemons; permits that expire; a wait
 * queue like a lock's.
 */
#include "../support/proc.h"
#include "../support/raw.h"
#include "../support/stage.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 5000 };

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

/* Adds a waiter; `count` clients wait then. */
static struct raw *queue_up(int count)
{
	struct raw *r = waiter_at(&patternd, PERMITS, "{\"limit\":1,\"wait_ms\":30000}", "");

	wait_until(int_at(get("/semaphores/s"), "/waiter_count") == count, SOON_MS);
	return r;
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(so_many_and_no_more)
{
	assert_string_equal(get("/semaphores/s").body,
			    "{\"name\":\"s\",\"limit\":null,\"permits_held\":0,\"waiter_count\":0,\"holders\":[]}\n");
	struct answer a = post(PERMITS, "{\"limit\":2,\"owner\":\"a\"}");
	struct answer b = post(PERMITS, "{\"limit\":2,\"ttl_ms\":60000}"); /* expires after a */
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
	assert_status(release(text_at(a, "/permit")), 204); /* a repetition by the same holder */
	assert_problem(get(path), 410, "permit_expired", "none");
	snprintf(path, sizeof(path), PERMITS "/%s", text_at(b, "/permit"));
	assert_true(json_is_null(json_at(get(path), "/owner")));
	assert_problem(extend(text_at(a, "/permit"), "{}"), 410, "permit_expired", "none");
	assert_problem(release("00000000000000000000000000000000"), 410, "permit_expired", "none");
	assert_status(post(PERMITS, "{\"limit\":2}"), 201);
	assert_status(post(PERMITS, "{\"limit\":3}"), 201); /* the limit belongs to the call */
}

TEST(permits_end)
{
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

TEST(a_client_that_leaves_is_out_of_the_queue)
{
	struct answer a = post(PERMITS, "{\"limit\":1}");
	struct raw *first = queue_up(1), *second = queue_up(2);
	raw_reset(first);
	wait_until(int_at(get("/semaphores/s"), "/waiter_count") == 1, SOON_MS);
	release(text_at(a, "/permit"));
	assert_status(raw_answer(second, SOON_MS), 201);
	raw_close(second);
}

/*
 * After a release, the key in Redis stays until the permits would have expired, but the list omits
 * it.
 */
TEST(the_list_has_what_is_held)
{
	struct answer a = post(PERMITS, "{\"limit\":2}");
	assert_int_equal(json_array_size(json_at(get_all("/semaphores"), "/items")), 1);
	release(text_at(a, "/permit"));
	assert_int_equal(json_array_size(json_at(get_all("/semaphores"), "/items")), 0);
	assert_int_equal(server_command(&redis, "EXISTS p:semaphore:{s}")->integer, 1);
}
