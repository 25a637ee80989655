/* Fences over HTTP: which fences pass, which problem a stale fence gets, and what a retry gets. */
#include "stage.h"
#include "test.h"

#define KEY "Idempotency-Key: "

static struct answer check(const char *name, int64_t fence)
{
	char target[64], body[64];

	snprintf(target, sizeof(target), "/fences/%s", name);
	snprintf(body, sizeof(body), "{\"fence\":%lld}", (long long)fence);
	return http(client, "POST", target, body);
}

static void assert_passes(const char *name, int64_t fence)
{
	struct answer a = check(name, fence);

	assert_status(a, 200);
	assert_string_equal(text_at(a, "/name"), name);
	assert_int_equal(int_at(a, "/fence"), fence);
	assert_int_equal(int_at(a, "/highest"), fence);
}

static void assert_stale(const char *name, int64_t fence, int64_t highest)
{
	struct answer a = check(name, fence);

	assert_problem(a, 409, "stale_fence", "none");
	assert_int_equal(int_at(a, "/highest"), highest);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_smaller_fence_is_stale)
{
	assert_string_equal(get("/fences/a").body, "{\"name\":\"a\",\"highest\":null}\n");
	assert_passes("a", 33);
	assert_passes("b", 1); /* each name has its own fence */
	assert_passes("a", INT64_C(9007199254740991));
	assert_stale("a", INT64_C(9007199254740990), INT64_C(9007199254740991));
	assert_string_equal(get("/fences/a").body, "{\"name\":\"a\",\"highest\":9007199254740991}\n");
}

/* The purpose of fences: the first holder slept until its lock had expired. */
TEST(the_fences_of_a_lock_are_distinguished)
{
	struct answer first = post("/locks/l", "{\"ttl_ms\":60000}");
	assert_passes("r", int_at(first, "/fence"));
	server_command(&redis, "DEL p:lock:{l}"); /* as when it expires */
	struct answer second = post("/locks/l", NULL);
	assert_passes("r", int_at(second, "/fence"));
	assert_stale("r", int_at(first, "/fence"), int_at(second, "/fence"));
	assert_passes("r", int_at(second, "/fence"));
}

/*
 * Clients may send an Idempotency-Key with every POST. A late writer must be refused, even if its
 * first check had the same key and passed.
 */
TEST(a_key_makes_no_exception)
{
	static const char seven[] = "{\"fence\":7}", five[] = "{\"fence\":5}";

	assert_status(http(client, "POST", "/fences/a", five, KEY "one"), 200);
	assert_status(http(client, "POST", "/fences/a", five, KEY "one"), 200);
	assert_status(http(client, "POST", "/fences/a", seven, KEY "one"), 200);
	assert_problem(http(client, "POST", "/fences/a", five, KEY "one"), 409, "stale_fence", "none");
	assert_int_equal(server_keys(&redis), 1); /* and there is no record */
}
