/*
 * The header Patternd-Name carries the name for the placeholder `_` of the path, for proxies that
 * refuse %2F. Then the request is the one with the name in the path in every respect.
 */
#include <stdio.h>

#include "../support/stage.h"
#include "../support/tokens.h"
#include "test.h"

#define ADMIN AUTHORIZATION("admin")
#define NAME "Patternd-Name: orders%2F1"

static void print_tokens(FILE *out)
{
	token_print(out, "admin", "*");
	token_print(out, "ours", "locks:orders/1:*");
	token_print(out, "underscore", "locks:_:*");
}

static int open_stage(void **state)
{
	return stage_open_with_tokens(print_tokens);
}

SUITE(.open = open_stage, .close = stage_close, .after = stage_forget);

TEST(is_the_name_in_the_path)
{
	struct answer a = http(client, "POST", "/locks/_", "{\"ttl_ms\":60000}", ADMIN, NAME);

	assert_status(a, 201);
	assert_string_equal(text_at(a, "/name"), "orders/1");
	a = http(client, "GET", "/locks/orders%2F1", NULL, ADMIN);
	assert_int_equal((int)int_at(a, "/holder_count"), 1);
	a = http(client, "GET", "/locks/_", NULL, ADMIN);
	assert_string_equal(text_at(a, "/name"), "_");
	assert_int_equal((int)int_at(a, "/holder_count"), 0);
	/* Other bytes, each decoded once. */
	a = http(client, "GET", "/locks/_", NULL, ADMIN, "patternd-name: a%252F+%C3%BC/%20");
	assert_string_equal(text_at(a, "/name"), "a%2F+\xc3\xbc/ ");
	a = http(client, "POST", "/semaphores/_/permits", "{\"limit\":1,\"ttl_ms\":60000}", ADMIN, NAME);
	assert_status(a, 201);
	assert_memory_equal(header_of(a, "Location"), "/semaphores/orders%2F1/permits/", 31);
	/* A second name stays in the path. */
	assert_status(http(client, "PUT", "/sets/_/members/_", NULL, ADMIN, NAME), 201);
	assert_status(http(client, "GET", "/sets/orders%2F1/members/_", NULL, ADMIN), 200);
}

TEST(has_the_record_of_the_name_in_the_path)
{
	static const char key[] = "Idempotency-Key: k";
	struct answer a = http(client, "POST", "/queues/orders%2F1/messages", "{\"body\":1}", ADMIN, key);

	assert_status(a, 201);
	assert_null(header_of(a, "Idempotent-Replayed"));
	a = http(client, "POST", "/queues/_/messages", "{\"body\":1}", ADMIN, key, NAME);
	assert_string_equal(header_of(a, "Idempotent-Replayed"), "true");
	a = http(client, "POST", "/queues/_/messages", "{\"body\":1}", ADMIN, key, "Patternd-Name: orders%2F2");
	assert_null(header_of(a, "Idempotent-Replayed"));
}

/* Access is decided by the name that counts. */
TEST(needs_the_scope_of_its_name)
{
	static const char body[] = "{\"ttl_ms\":60000}", ours[] = AUTHORIZATION("ours"),
			  underscore[] = AUTHORIZATION("underscore");

	assert_status(http(client, "POST", "/locks/_", body, ours, NAME), 201);
	assert_problem(http(client, "POST", "/locks/_", body, ours), 403, "forbidden", "none");
	assert_problem(http(client, "POST", "/locks/_", body, underscore, NAME), 403, "forbidden", "none");
	assert_status(http(client, "POST", "/locks/_", body, underscore), 201);
}

TEST(is_refused_where_it_is_not_the_name)
{
	static const struct {
		const char *target, *header, *code, *said;
	} rows[] = {
		{ "/locks/a", NAME, "invalid_value", "needs the path to have _ in place of its first name" },
		{ "/locks/orders%2F1", NAME, "invalid_value", "needs the path to have _" },
		{ "/locks/__", NAME, "invalid_value", "needs the path to have _" },
		{ "/locks", NAME, "invalid_value", "this path has no name" },
		{ "/healthz", NAME, "invalid_value", "this path has no name" },
		{ "/queues/a/messages/_", NAME, "invalid_value", "needs the path to have _" },
		{ "/locks/_", "Patternd-Name;", "invalid_value", "is empty" },
		{ "/locks/_", "Patternd-Name: a%2", "invalid_value", "bad %XX escape" },
		{ "/locks/_", "Patternd-Name: a%00", "invalid_value", "NUL byte" },
		{ "/locks/_", "Patternd_Name: a", "malformed_request", "is written with '_'" },
		/* The rules of names hold. */
		{ "/locks/_", "Patternd-Name: %7Ba%7D", "invalid_name", "{name} must not hold { or }" },
		{ "/locks/_", "Patternd-Name: %FF", "invalid_name", "{name} must be UTF-8" },
		{ "/locks/_", "Patternd-Name: ..", "reserved_name", "{name}" },
		{ "/queues/_", "Patternd-Name: receive", "reserved_name", "{name}" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = http(client, "GET", rows[i].target, NULL, ADMIN, rows[i].header);
		assert_problem(a, 400, rows[i].code, "none");
		if (!strstr(text_at(a, "/detail"), rows[i].said))
			fail_msg("%s %s: %s", rows[i].target, rows[i].header, text_at(a, "/detail"));
	}
	struct answer a = http(client, "GET", "/locks/_", NULL, ADMIN, NAME, NAME);
	assert_problem(a, 400, "malformed_request", "none");
	assert_string_equal(text_at(a, "/detail"), "the header Patternd-Name was sent more than once");
}

/* A reverse proxy forwards its client's headers: they must not choose another policy. */
TEST(of_a_proxys_client_is_ignored)
{
	static const char policy[] = "{\"limit\":1,\"window_ms\":60000,\"key_header\":\"X-Key\"}";

	assert_status(http(client, "PUT", "/ratelimit/policies/_", policy, ADMIN), 201);
	assert_status(http(client, "PUT", "/ratelimit/policies/b", policy, ADMIN), 201);
	for (int i = 0; i < 2; i++) {
		struct answer a =
			http(client, "GET", "/ratelimit/authorize/_/", NULL, ADMIN, "X-Key: k", "Patternd-Name: b");
		assert_status(a, i == 0 ? 200 : 429);
	}
	assert_status(http(client, "GET", "/ratelimit/authorize/b/", NULL, ADMIN, "X-Key: k"), 200);
}
