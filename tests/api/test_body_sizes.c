/*
 * Any JSON value may be as large as --max-body-bytes allows, and its request may have up to 128 KiB
 * more. Each operation that accepts a JSON value is tested at both limits, and one byte beyond.
 */
#include "../support/stage.h"
#include "test.h"

enum { MIB = 1048576, AROUND = 131072, WAITING = 65536 };

static const struct taker {
	const char *method, *target, *before, *after; /* the value goes between */
	const char *pointer;
	int status;
} takers[] = {
	{ "POST", "/queues/q/messages", "{\"id\":\"a\",\"priority\":3,\"delay_ms\":0,\"body\":", "}", "/body", 201 },
	{ "POST", "/queues/q/messages", "{\"messages\":[{\"body\":1},{\"body\":", "}]}", "/messages/1/body", 201 },
	{ "PUT", "/cache/c", "{\"ttl_ms\":60000,\"value\":", "}", "/value", 201 },
	{ "POST", "/topics/t", "{\"body\":", "}", "/body", 200 },
};

enum form { STRING, ARRAY, OBJECT, ESCAPED, FORMS };

/* A value that counts as `size` bytes; the caller frees it. */
static char *value_of(enum form form, size_t size)
{
	static const char *const opens[] = { "\"", "[\"", "{\"k\":\"", "\"\\n" }, *const closes[] = { "\"", "\"]",
												      "\"}", "\"" };
	size_t around = strlen(opens[form]) + strlen(closes[form]),
	       len = form == STRING || form == ESCAPED ? size + 2 : size;
	char *value = malloc(len + 1), *at = value;

	assert_non_null(value);
	at = stpcpy(at, opens[form]);
	memset(at, 'x', len - around);
	strcpy(at + len - around, closes[form]);
	return value;
}

static struct answer give(const struct taker *t, const char *value, size_t blanks)
{
	char *body = NULL;

	if (asprintf(&body, "%s%*s%s%s", t->before, (int)blanks, "", value, t->after) < 0)
		fail_msg("no memory");
	struct answer a = http(client, t->method, t->target, body);
	free(body);
	server_command(&redis, "FLUSHALL");
	return a;
}

static void a_value_may_have_all_that_is_allowed(void **state)
{
	const struct taker *t = *state;

	for (enum form form = 0; form < FORMS; form++) {
		char *most = value_of(form, MIB), *more = value_of(form, MIB + 1);
		assert_status(give(t, most, 0), t->status);
		struct answer a = give(t, more, 0);
		assert_problem(a, 413, "body_too_large", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), t->pointer);
		assert_non_null(strstr(text_at(a, "/detail"), "--max-body-bytes"));
		free(most);
		free(more);
		client_forget(client);
	}
}

TEST_ROWS(a_value_may_have_all_that_is_allowed, takers, before);

static void a_request_may_have_128_kib_more(void **state)
{
	const struct taker *t = *state;
	char *most = value_of(STRING, MIB);
	size_t blanks = AROUND - strlen(t->before) - strlen(t->after) - 2;

	assert_status(give(t, most, blanks), t->status);
	struct answer a = give(t, most, blanks + 1);
	assert_problem(a, 413, "body_too_large", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "--max-body-bytes"));
	free(most);
	client_forget(client);
}

TEST_ROWS(a_request_may_have_128_kib_more, takers, before);

/* A request that waits may have only 64 KiB in all, since its body stays in memory until then. */
TEST(a_request_that_waits_may_have_64_kib)
{
	static const struct taker waits = { "POST", "/locks/l", "{\"wait_ms\":1,\"metadata\":", "}", "", 201 };
	size_t around = strlen(waits.before) + strlen(waits.after) + 2;
	char *most = value_of(STRING, WAITING - around);

	assert_status(give(&waits, most, 0), 201);
	struct answer a = give(&waits, most, 1);
	assert_problem(a, 413, "body_too_large", "none");
	assert_non_null(strstr(text_at(a, "/detail"), "wait_ms"));
	assert_false(server_command(&redis, "EXISTS p:lock:{l}")->integer);
	free(most);
}

TEST(it_comes_back_whole)
{
	char *most = value_of(STRING, MIB);

	char *body = NULL;
	assert_true(asprintf(&body, "{\"body\":%s}", most) > 0);
	assert_status(post("/queues/q/messages", body), 201);
	struct answer a = post("/queues/q/receive", NULL);
	assert_int_equal(strlen(text_at(a, "/messages/0/body")), MIB);
	free(body);
	free(most);
}

/*
 * The largest size that can be configured: the command is larger than the buffer of a connection.
 */
TEST(a_value_may_have_64_mib)
{
	enum { MOST = 64 * MIB, SOON_MS = 30000 };
	static struct daemon large;
	char *most = value_of(STRING, MOST), *body = NULL;

	daemon_start(&large, "--redis", redis.url, "--max-body-bytes", "67108864", "--max-request-memory", "1073741824",
		     "--redis-timeout-ms", "30000");
	struct client *c = client_open(large.port);
	assert_true(asprintf(&body, "{\"ttl_ms\":60000,\"value\":%s}", most) > 0);
	assert_status(http(c, "PUT", "/cache/large", body), 201);
	assert_int_equal(strlen(text_at(http(c, "GET", "/cache/large", NULL), "/value")), MOST);
	client_close(c);
	daemon_stop(&large);
	free(body);
	free(most);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);
