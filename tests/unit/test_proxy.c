/*
 * Tests of the fault proxy with a real redis-server. Other tests rely on each fault being as
 * described.
 */
#include <hiredis/hiredis.h>

#include "../support/proc.h"
#include "../support/proxy.h"
#include "../support/redis_server.h"
#include "../support/stubborn.h"
#include "test.h"

enum { ANSWER_MS = 300 };

static struct redis_server redis;
static struct proxy *proxy;
static redisContext *through; /* a connection through the proxy */

static redisContext *connect_through(int port)
{
	const int64_t ms = patience_ms(ANSWER_MS);
	redisContext *c = redisConnectWithTimeout("127.0.0.1", port, (struct timeval){ .tv_sec = 2 });

	assert_non_null(c);
	if (!c->err)
		redisSetTimeout(c, (struct timeval){ .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 });
	return c;
}

static int set_up_all(void **state)
{
	server_start(&redis);
	return 0;
}

static int tear_down_all(void **state)
{
	server_stop(&redis);
	return 0;
}

static int set_up(void **state)
{
	server_command(&redis, "FLUSHALL");
	proxy = proxy_open(redis.port);
	through = connect_through(proxy_port(proxy));
	return 0;
}

static int tear_down(void **state)
{
	redisFree(through);
	proxy_close(proxy);
	return 0;
}

/* Sends INCR through the proxy. Returns its reply, or -1 when none came. */
static long long incr(void)
{
	redisReply *r = redisCommand(through, "INCR n");
	long long n = r && r->type == REDIS_REPLY_INTEGER ? r->integer : -1;

	if (r)
		freeReplyObject(r);
	return n;
}

static long long counted(void)
{
	const char *n = server_command(&redis, "GET n")->str;

	return n ? atoll(n) : 0;
}

SUITE(.open = set_up_all, .close = tear_down_all, .before = set_up, .after = tear_down);

TEST(test_pass)
{
	for (int i = 1; i <= 100; i++)
		assert_int_equal(incr(), i);
	struct proxy_counts counts = proxy_count(proxy);
	assert_int_equal(counts.connections, 1);
	assert_int_equal(counts.open, 1);
	assert_true(counts.bytes_up > 2000 && counts.bytes_down >= 400);
}

TEST(test_large_both_ways)
{
	size_t len = 5000000;
	char *value = malloc(len);

	memset(value, 'x', len);
	redisSetTimeout(through, (struct timeval){ .tv_sec = 5 });
	redisReply *r = redisCommand(through, "ECHO %b", value, len);
	assert_non_null(r);
	assert_int_equal(r->len, len);
	assert_memory_equal(r->str, value, len);
	freeReplyObject(r);
	free(value);
}

TEST(test_delay)
{
	proxy_set(proxy, (struct proxy_fault){ .delay_ms = 50 });
	int64_t start_ms = monotonic_ms();
	assert_int_equal(incr(), 1);
	assert_in_range(monotonic_ms() - start_ms, 99, 250);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	start_ms = monotonic_ms();
	assert_int_equal(incr(), 2);
	assert_in_range(monotonic_ms() - start_ms, 0, 45);
}

TEST(test_drop_up)
{
	proxy_set(proxy, (struct proxy_fault){ .drop_up = true });
	assert_int_equal(incr(), -1);
	assert_int_equal(counted(), 0);
	assert_int_equal(proxy_count(proxy).open, 1);
}

TEST(test_drop_down)
{
	proxy_set(proxy, (struct proxy_fault){ .drop_down = true });
	assert_int_equal(incr(), -1);
	assert_int_equal(counted(), 1);
	assert_int_equal(proxy_count(proxy).open, 1);
}

TEST(test_cut_after_request)
{
	proxy_set(proxy, (struct proxy_fault){ .cut = true });
	assert_int_equal(incr(), -1);
	assert_int_equal(through->err, REDIS_ERR_EOF);
	assert_int_equal(counted(), 1);
}

TEST(test_cut_at_byte)
{
	redisReply *r;

	proxy_set(proxy, (struct proxy_fault){ .cut = true, .cut_at = 9 });
	assert_int_equal(incr(), 1); /* ":1\r\n": four bytes */
	assert_int_equal(incr(), 2);
	assert_int_equal(incr(), -1);
	assert_int_equal(through->err, REDIS_ERR_EOF);
	assert_int_equal(counted(), 3);
	/* Counting starts again on each connection. */
	redisFree(through);
	through = connect_through(proxy_port(proxy));
	assert_int_equal(incr(), 4);
	r = redisCommand(through, "PING");
	assert_null(r);
}

/*
 * Only chunks with the given bytes are cut, and only a percentage of those: a connection's
 * handshake passes.
 */
TEST(test_cut_on)
{
	proxy_set(proxy, (struct proxy_fault){ .cut = true, .cut_on = PROXY_BYTES("INCR"), .cut_percent = 50 });
	for (int i = 1; i <= 5; i += 2) {
		assert_int_equal(incr(), i);
		for (int k = 0; k < 3; k++) {
			redisReply *r = redisCommand(through, "PING");
			assert_non_null(r);
			freeReplyObject(r);
		}
		assert_int_equal(incr(), -1);
		assert_int_equal(through->err, REDIS_ERR_EOF);
		assert_int_equal(counted(), i + 1);
		redisFree(through);
		through = connect_through(proxy_port(proxy));
	}
	/* The bytes of replies are counted from that request on. */
	proxy_set(proxy,
		  (struct proxy_fault){ .cut = true, .cut_at = 6, .cut_on = PROXY_BYTES("INCR"), .cut_percent = 100 });
	redisReply *r = redisCommand(through, "PING");
	assert_non_null(r);
	freeReplyObject(r);
	assert_int_equal(incr(), 7); /* four bytes of six */
	assert_int_equal(incr(), -1);
	assert_int_equal(counted(), 8);
}

TEST(test_inject)
{
	proxy_set(proxy, (struct proxy_fault){ .before = PROXY_BYTES(":77\r\n"), .after = PROXY_BYTES(":88\r\n") });
	assert_int_equal(incr(), 77);
	assert_int_equal(incr(), 1);
	assert_int_equal(incr(), 88);
	assert_int_equal(incr(), 2); /* once */
}

TEST(test_inject_now)
{
	assert_int_equal(incr(), 1);
	proxy_inject(proxy, PROXY_BYTES(":99\r\n"));
	assert_int_equal(incr(), 99);
	assert_int_equal(incr(), 2);
}

/* Each of two commands is answered, also when they arrive together. */
TEST(test_answer)
{
	redisReply *r;

	proxy_set(proxy, (struct proxy_fault){ .answer = PROXY_BYTES("-LOADING not yet\r\n") });
	for (int i = 0; i < 2; i++)
		assert_int_equal(redisAppendCommand(through, "INCR n"), REDIS_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(redisGetReply(through, (void **)&r), REDIS_OK);
		assert_int_equal(r->type, REDIS_REPLY_ERROR);
		freeReplyObject(r);
	}
	assert_int_equal(counted(), 0);
}

TEST(test_slices_and_bandwidth)
{
	proxy_set(proxy, (struct proxy_fault){ .slice = 1 });
	for (int i = 1; i <= 20; i++)
		assert_int_equal(incr(), i);
	/*
	 * INCR n is 22 bytes: at 220 bytes per second a second request waits until the first has
	 * passed.
	 */
	proxy_set(proxy, (struct proxy_fault){ .bytes_per_second = 220 });
	int64_t start_ms = monotonic_ms();
	assert_int_equal(incr(), 21);
	assert_int_equal(incr(), 22);
	assert_in_range(monotonic_ms() - start_ms, 80, 600);
}

TEST(test_reset)
{
	assert_int_equal(incr(), 1);
	proxy_set(proxy, (struct proxy_fault){ .reset = true });
	wait_until(proxy_count(proxy).open == 0, 1000);
	assert_int_equal(incr(), -1);
	redisFree(through);
	through = connect_through(proxy_port(proxy));
	assert_int_equal(incr(), 2);
}

TEST(test_refuse)
{
	proxy_set(proxy, (struct proxy_fault){ .refuse = true });
	assert_int_equal(incr(), 1); /* open connections stay */
	redisContext *c = connect_through(proxy_port(proxy));
	assert_int_equal(c->err, REDIS_ERR_IO);
	redisFree(c);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	c = connect_through(proxy_port(proxy));
	assert_int_equal(c->err, 0);
	redisFree(c);
}

static void ask_numbered(int first, int last)
{
	int done = 0;

	for (int i = first; i <= last; i++)
		redisAppendCommand(through, "ECHO %d", i);
	while (!done)
		if (redisBufferWrite(through, &done) != REDIS_OK)
			return; /* the link is gone already */
}

/* Reads replies to ECHO up to `last` or the end; none may be skipped. Returns the last. */
static int read_numbered(int first, int last)
{
	redisReply *r;
	int next = first;

	while (next <= last && redisGetReply(through, (void **)&r) == REDIS_OK) {
		bool is_echo = r->type == REDIS_REPLY_STRING; /* else the proxy's own answer */
		int n = is_echo ? atoi(r->str) : 0;
		freeReplyObject(r);
		if (is_echo && n != next)
			fail_msg("reply %d came where %d was due", n, next);
		next += is_echo;
	}
	return next - 1;
}

/* True when the proxy has received three requests that it drops, or the replies to them. */
static bool has_lost(const struct proxy_fault *loss, struct proxy_counts before)
{
	const size_t requests = 3 * (sizeof("*2\r\n$4\r\nECHO\r\n$1\r\n6\r\n") - 1),
		     replies = 3 * (sizeof("$1\r\n6\r\n") - 1);
	struct proxy_counts now = proxy_count(proxy);

	return now.bytes_up >= before.bytes_up + requests &&
	       (loss->drop_up || loss->answer.at || now.bytes_down >= before.bytes_down + replies);
}

/* A link that lost bytes passes no later bytes, whatever the next fault is. It is reset. */
static void no_hole(struct proxy_fault loss, struct proxy_fault next)
{
	ask_numbered(1, 5);
	assert_int_equal(read_numbered(1, 5), 5);
	struct proxy_counts before = proxy_count(proxy);
	proxy_set(proxy, loss);
	ask_numbered(6, 8);
	wait_until(has_lost(&loss, before), ANSWER_MS);
	proxy_set(proxy, next);
	ask_numbered(9, 9);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	ask_numbered(10, 10);
	assert_int_equal(read_numbered(6, 10), 5);
	assert_int_equal(proxy_count(proxy).open, 0);
	redisFree(through);
	through = connect_through(proxy_port(proxy));
}

TEST(test_no_holes)
{
	static const struct proxy_fault losses[] = {
		{ .drop_up = true },
		{ .drop_down = true },
		{ .drop_up = true, .drop_down = true },
		{ .answer = PROXY_BYTES("+mine\r\n") },
	};
	static const struct proxy_fault next[] = {
		{ 0 },
		{ .delay_ms = 1 },
		{ .slice = 3 },
		{ .bytes_per_second = 10000 },
		{ .cut = true },
		{ .cut = true, .cut_at = 1000 },
		{ .before = PROXY_BYTES("+mine\r\n") },
		{ .drop_up = true },
		{ .drop_down = true },
		{ .hold_up = true },
		{ .refuse = true },
	};

	for (size_t i = 0; i < COUNT(losses); i++)
		for (size_t k = 0; k < COUNT(next); k++)
			no_hole(losses[i], next[k]);
}

TEST(test_server_gone)
{
	server_kill(&redis);
	assert_int_equal(incr(), -1);
	server_restart(&redis);
	redisFree(through);
	through = connect_through(proxy_port(proxy));
	assert_int_equal(incr(), 1);
}

TEST(test_stubborn)
{
	static const struct stubborn_manner manners[] = {
		{ .name = "greets", .greeting = ":5\r\n" },
		{ .name = "answers", .answer = ":5\r\n" },
		{ .name = "floods", .answer = ":5\r\n", .times = SIZE_MAX },
	};

	for (size_t i = 0; i < COUNT(manners); i++) {
		struct stubborn *s = stubborn_open(&manners[i]);
		redisFree(through);
		through = connect_through(stubborn_port(s));
		assert_int_equal(incr(), 5);
		assert_int_equal(stubborn_connections(s), 1);
		stubborn_close(s);
	}
}
