/* Bitmaps over HTTP: how large they may become, by an option. */
#include "stage.h"
#include "test.h"

static struct answer put(const char *target, const char *body)
{
	return http(client, "PUT", target, body);
}

/* A refusal with this pointer and a detail that contains `word`. */
static void assert_refused(struct answer a, const char *code, const char *pointer, const char *word)
{
	assert_problem(a, 400, code, "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), pointer);
	if (!strstr(text_at(a, "/errors/0/detail"), word))
		fail_msg("'%s' does not contain '%s'", text_at(a, "/errors/0/detail"), word);
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_far_bit_is_refused_by_name)
{
	static const char option[] = "--max-bitmap-bytes";
	struct daemon small = { 0 }, large = { 0 };

	/* By default 16 MiB. */
	assert_refused(put("/bitmaps/b/bits/134217728", "{\"value\":1}"), "out_of_range", "{offset}", option);
	assert_status(get("/bitmaps/b/bits/134217728"), 200);
	daemon_start(&small, "--redis", redis.url, option, "3");
	struct client *c = client_open(small.port);
	assert_status(http(c, "PUT", "/bitmaps/b/bits/23", "{\"value\":1}"), 200);
	assert_refused(http(c, "PUT", "/bitmaps/b/bits/24", "{\"value\":0}"), "out_of_range", "{offset}", option);
	assert_status(http(c, "PUT", "/bitmaps/b", "{\"base64\":\"AAAA\"}"), 200);
	assert_refused(http(c, "PUT", "/bitmaps/b", "{\"base64\":\"AAAAAA==\"}"), "out_of_range", "/base64", option);
	assert_status(http(c, "POST", "/bitmaps/b/fields",
			   "{\"operations\":[{\"op\":\"set\",\"type\":\"u8\",\"offset\":16,\"value\":1},"
			   "{\"op\":\"get\",\"type\":\"u8\",\"offset\":1000}]}"),
		      200);
	assert_refused(http(c, "POST", "/bitmaps/b/fields",
			    "{\"operations\":[{\"op\":\"set\",\"type\":\"u8\",\"offset\":17,\"value\":1}]}"),
		       "out_of_range", "/operations/0/offset", option);
	assert_int_equal(server_command(&redis, "STRLEN p:bitmap:{b}")->integer, 3);
	client_close(c);
	daemon_stop(&small);
	daemon_start(&large, "--redis", redis.url, option, "536870912", "--redis-timeout-ms", "20000");
	c = client_open(large.port);
	/*
	 * Setting the last bit would take half a gigabyte: the test shows only that the daemon
	 * allows it.
	 */
	assert_status(http(c, "GET", "/bitmaps/far/bits/4294967295", NULL), 200);
	assert_status(http(c, "PUT", "/bitmaps/far/bits/200000000", "{\"value\":1}"), 200);
	assert_problem(http(c, "PUT", "/bitmaps/far/bits/4294967296", "{\"value\":1}"), 400, "out_of_range", "none");
	client_close(c);
	daemon_stop(&large);
}
