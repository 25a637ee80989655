/*
 * A list that scans Redis continues until its page is full. When Redis takes long, the page reports
 * that it is not complete, and its cursor continues the list.
 */
#include "../support/proxy.h"
#include "../support/stage_parts.h"
#include "test.h"

enum { OTHERS = 5000, BITMAPS = 5, DELAY_MS = 30 };

static struct proxy *proxy;

static int open_slow(void **state)
{
	server_start(&redis);
	proxy = proxy_open(redis.port);
	daemon_start(&patternd, "--redis", proxy_url(proxy));
	client = client_open(patternd.port);
	for (int i = 0; i < OTHERS; i++)
		server_command(&redis, "SET p:idem:{%d} x", i);
	for (int i = 0; i < BITMAPS; i++)
		server_command(&redis, "SETBIT p:bitmap:{b%d} 1 1", i);
	assert_status(http(client, "PUT", "/sets/a/members/m", NULL), 201);
	return 0;
}

static int close_slow(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	proxy_close(proxy);
	server_stop(&redis);
	return 0;
}

static size_t items_of(struct answer a)
{
	assert_status(a, 200);
	return json_array_size(json_at(a, "/items"));
}

SUITE(.open = open_slow, .close = close_slow);

TEST(a_page_continues_until_it_is_full)
{
	struct answer a = http(client, "GET", "/bitmaps", NULL);
	assert_int_equal(items_of(a), BITMAPS);
	assert_true(bool_at(a, "/complete"));
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	a = http(client, "GET", "/bitmaps?limit=3", NULL);
	assert_int_equal(items_of(a), 3);
	assert_true(bool_at(a, "/complete"));
}

TEST(a_page_that_takes_long_is_not_complete)
{
	char target[96] = "/bitmaps";
	int pages = 0;
	size_t found = 0;

	proxy_set(proxy, (struct proxy_fault){ .delay_ms = DELAY_MS });
	for (;;) {
		struct answer a = http(client, "GET", target, NULL);
		found += items_of(a);
		pages++;
		if (json_is_null(json_at(a, "/next_cursor"))) {
			assert_true(bool_at(a, "/complete"));
			break;
		}
		assert_false(bool_at(a, "/complete"));
		snprintf(target, sizeof(target), "/bitmaps?cursor=%s", text_at(a, "/next_cursor"));
	}
	assert_in_range(pages, 2, OTHERS / 500);
	assert_int_equal(found, BITMAPS);
	/* A list that uses an index takes one page, however many keys there are. */
	struct answer a = http(client, "GET", "/sets", NULL);
	assert_int_equal(items_of(a), 1);
	assert_true(bool_at(a, "/complete"));
	proxy_set(proxy, (struct proxy_fault){ 0 });
}
