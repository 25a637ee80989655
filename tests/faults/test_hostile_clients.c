/*
 * Clients that are slow, silent, gone or merely odd. A deadline is absolute, however many bytes
 * come. A client that left leaves nothing behind. The daemon serves odd but valid requests.
 */
#include <poll.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/stride.h"
#include "requests.h"
#include "test.h"

enum {
	HEADER_MS = 400,
	BODY_MS = 400,
	IDLE_MS = 600,
	WRITE_MS = 600,
	GRACE_MS = 1000, /* beyond a deadline */
	ANSWER_MS = 3000,
};

static struct redis_server redis;
static struct daemon patternd;
static int idle_files; /* the daemon's open descriptors without clients */

/* The daemon must close the connection within the deadline and grace, but not before half of it. */
static void closes_in_time(struct raw *r, int64_t start_ms, int deadline_ms)
{
	assert_true(raw_closed(r, deadline_ms + GRACE_MS));
	assert_in_range(monotonic_ms() - start_ms, deadline_ms / 2, deadline_ms + GRACE_MS);
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

TEST(test_slow_header)
{
	struct raw *r = raw_connect(patternd.port);
	int64_t start_ms = monotonic_ms();

	raw_text(r, GET("/healthz"));
	raw_drip(r, "X-A: a\r\n", 25, HEADER_MS + GRACE_MS); /* bytes keep coming: an idle timer would never fire */
	closes_in_time(r, start_ms, HEADER_MS);
}

TEST(test_slow_body)
{
	struct raw *r = raw_connect(patternd.port);
	int64_t start_ms = monotonic_ms();

	raw_text(r, TAKE "Content-Length: 2000\r\n" END);
	raw_drip(r, " ", 25, BODY_MS + GRACE_MS);
	closes_in_time(r, start_ms, BODY_MS);
}

TEST(test_slow_chunks)
{
	struct raw *r = raw_connect(patternd.port);
	int64_t start_ms = monotonic_ms();

	raw_text(r, TAKE "Transfer-Encoding: chunked\r\n" END);
	raw_drip(r, "1\r\n \r\n", 25, BODY_MS + GRACE_MS);
	closes_in_time(r, start_ms, BODY_MS);
}

TEST(test_silence)
{
	struct raw *r = raw_connect(patternd.port);

	closes_in_time(r, monotonic_ms(), HEADER_MS > IDLE_MS ? HEADER_MS : IDLE_MS);
}

TEST(test_tls_hello)
{
	static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
				    "0123456789abcdef0123456789abcdef";
	struct raw *r = raw_connect(patternd.port);

	raw_send(r, hello, sizeof(hello) - 1);
	assert_true(raw_closed(r, HEADER_MS + GRACE_MS));
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

TEST(test_idle_after_request)
{
	struct raw *r = raw_connect(patternd.port);

	raw_text(r, SMUGGLED);
	assert_status(raw_answer(r, ANSWER_MS), 200);
	closes_in_time(r, monotonic_ms(), IDLE_MS);
}

TEST(test_continue_then_silence)
{
	struct raw *r = raw_connect(patternd.port);
	int64_t start_ms = monotonic_ms();

	raw_text(r, TAKE "Content-Length: 38\r\nExpect: 100-continue\r\n" END);
	assert_status(raw_answer(r, ANSWER_MS), 100);
	closes_in_time(r, start_ms, BODY_MS);
}

TEST(test_continue)
{
	struct raw *r = raw_connect(patternd.port);

	raw_text(r, TAKE "Content-Length: 38\r\nExpect: 100-continue\r\n" END);
	assert_status(raw_answer(r, ANSWER_MS), 100);
	raw_text(r, BODY);
	assert_status(raw_answer(r, ANSWER_MS), 200);
	raw_close(r);
}

/*
 * The client does not read 16 MB of answers: the kernel does not keep as many for one connection.
 */
TEST(test_slow_read)
{
	struct raw *r = raw_connect(patternd.port);

	raw_repeat(r, GET("/openapi.json") HOST END, 160);
	wait_until(daemon_open_files(&patternd) > idle_files, 1000);
	wait_until(daemon_open_files(&patternd) <= idle_files, WRITE_MS + IDLE_MS + 5 * GRACE_MS);
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

TEST(test_many_slow_clients)
{
	enum { SLOW = 300 };
	struct raw *slow[SLOW];
	struct client *c = client_open(patternd.port);

	for (int i = 0; i < SLOW; i++) {
		slow[i] = raw_connect(patternd.port);
		raw_text(slow[i], i % 2 ? GET("/healthz") "X-A: " : TAKE "Content-Length: 38\r\n" END "{");
	}
	for (int i = 0; i < 50; i++) {
		struct answer a = http(c, "GET", "/healthz", NULL);
		assert_status(a, 200);
		assert_in_range(a.took_us, 0, 200000);
	}
	wait_until(daemon_open_files(&patternd) <= idle_files + 1, BODY_MS + 5 * GRACE_MS);
	for (int i = 0; i < SLOW; i++)
		raw_close(slow[i]);
	client_close(c);
}

TEST(test_leaving_clients)
{
	static const char *const halves[] = {
		"",
		"GE",
		GET("/healthz") "Ho",
		TAKE "Content-Length: 38\r\n" END "{\"key",
		GET("/locks/a") HOST END,
		TAKE "Content-Length: 38\r\n" END BODY,
		TAKE "Transfer-Encoding: chunked\r\n" END "5\r\n12",
	};

	for (int i = 0; i < 210; i += stride()) {
		struct raw *r = raw_connect(patternd.port);
		raw_text(r, halves[i % 7]);
		if (i % 3 == 1)
			raw_half_close(r);
		if (i % 3 == 2)
			raw_reset(r);
		else
			raw_close(r);
	}
	assert_true(daemon_is_alive(&patternd));
	wait_until(daemon_open_files(&patternd) <= idle_files, 3 * GRACE_MS);
}

/*
 * The request has more parameters than libmicrohttpd 0.9.75 has memory for. libmicrohttpd stops in
 * the middle, calls no handler, and never reports the end of the request.
 */
TEST(test_leaving_amid_parameters)
{
	struct client *c;

	for (int i = 0; i < 40; i++) {
		struct raw *r = raw_connect(patternd.port);
		raw_text(r, "GET /locks?limit=1");
		raw_repeat(r, "&x=1", 400);
		raw_text(r, " HTTP/1.1\r\n" HOST END);
		if (i % 2)
			raw_answer(r, 10);
		raw_close(r);
	}
	wait_until(daemon_open_files(&patternd) <= idle_files, HEADER_MS + 3 * GRACE_MS);
	c = client_open(patternd.port);
	/* No such request counts as under way: a drain would wait for it. */
	assert_non_null(strstr(http(c, "GET", "/metrics", NULL).body, "\npatternd_http_requests_in_progress 1\n"));
	client_close(c);
}

/* ---- What looks odd and must work ---- */

TEST(test_pipelined)
{
	enum { REQUESTS = 50 };
	struct raw *r = raw_connect(patternd.port);
	char *all = NULL, name[32];
	size_t size;
	FILE *out = open_memstream(&all, &size);

	for (int i = 0; i < REQUESTS; i++)
		fprintf(out, "GET /locks/pipelined-%d HTTP/1.1\r\n" HOST END, i);
	fclose(out);
	raw_text(r, all);
	free(all);
	for (int i = 0; i < REQUESTS; i++) {
		struct answer a = raw_answer(r, ANSWER_MS);
		assert_status(a, 200);
		snprintf(name, sizeof(name), "pipelined-%d", i);
		assert_string_equal(text_at(a, "/name"), name);
	}
	assert_int_equal(raw_answers_left(r), 0);
	raw_close(r);
}

TEST(test_http_1_0)
{
	struct raw *r = raw_connect(patternd.port);

	raw_text(r, "GET /locks/a HTTP/1.0\r\n\r\n");
	assert_status(raw_answer(r, ANSWER_MS), 200);
	assert_true(raw_closed(r, ANSWER_MS));
	raw_close(r);
	r = raw_connect(patternd.port);
	raw_text(r, "GET /locks/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	assert_status(raw_answer(r, ANSWER_MS), 200);
	raw_text(r, "GET /locks/a HTTP/1.0\r\n\r\n");
	assert_status(raw_answer(r, ANSWER_MS), 200);
	raw_close(r);
}

TEST(test_connection_close)
{
	struct raw *r = raw_connect(patternd.port);

	raw_text(r, GET("/locks/a") HOST "Connection: close\r\n" END SMUGGLED);
	struct answer a = raw_answer(r, ANSWER_MS);
	assert_status(a, 200);
	assert_string_equal(header_of(a, "Connection"), "close");
	assert_true(raw_closed(r, ANSWER_MS));
	assert_int_equal(raw_answers_left(r), 0);
	raw_close(r);
}

TEST(test_chunked_body)
{
	struct raw *r = raw_connect(patternd.port);

	raw_text(r, TAKE "Transfer-Encoding: chunked\r\n" END
			 "10\r\n{\"key\":\"k\",\"limi\r\n16\r\nt\":9,\"window_ms\":1000}\r\n"
			 "0\r\nX-Trailer: 1\r\n\r\n" SMUGGLED);
	struct answer a = raw_answer(r, ANSWER_MS);
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/limit"), 9);
	assert_status(raw_answer(r, ANSWER_MS), 200);
	raw_close(r);
}

/* The daemon serves a request that arrives in single bytes like any other. */
TEST(test_byte_by_byte)
{
	static const char request[] = TAKE "Content-Length: 38\r\n" END BODY;
	struct raw *r = raw_connect(patternd.port);

	for (size_t i = 0; i < sizeof(request) - 1; i++)
		assert_true(raw_send(r, request + i, 1));
	assert_status(raw_answer(r, ANSWER_MS), 200);
	raw_close(r);
}

TEST(test_half_close)
{
	struct raw *r = raw_connect(patternd.port);

	raw_text(r, GET("/healthz") HOST END);
	raw_half_close(r);
	struct answer a = raw_answer(r, ANSWER_MS);
	assert_true(a.status == 200 || a.status == 0);
	assert_true(raw_closed(r, ANSWER_MS));
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

static int set_up(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--header-timeout-ms", "400", "--body-timeout-ms", "400",
		     "--idle-timeout-ms", "600", "--write-timeout-ms", "600");
	nap_ms(IDLE_MS); /* the clients that asked for its readiness are gone by then */
	idle_files = daemon_open_files(&patternd);
	return 0;
}

static int tear_down(void **state)
{
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

/* ---- A body that is refused before it comes ---- */

enum { REFUSED_BYTES = 300000, PIECE_BYTES = 1000, LINGER_MS = 1000, CROWD = 100, PLACES = 32 };

#define TOO_LARGE TAKE "Content-Length: 100000000\r\n" END

static char piece[PIECE_BYTES + 1];

/* Waits for the answer without reading it. */
static void await_bytes(const struct raw *r)
{
	struct pollfd p = { .fd = raw_fd(r), .events = POLLIN };

	assert_int_equal(poll(&p, 1, ANSWER_MS), 1);
}

/*
 * The client sends all that it has before it reads anything. The daemon does not close the
 * connection before that, so that the client gets the reason.
 */
TEST(test_refused_body_is_sent_all_the_same)
{
	struct raw *r = raw_connect(patternd.port);

	memset(piece, ' ', PIECE_BYTES);
	raw_text(r, TOO_LARGE);
	await_bytes(r);
	for (int i = 0; i < 3; i++) {
		assert_true(raw_repeat(r, piece, REFUSED_BYTES / PIECE_BYTES / 3));
		nap_ms(20); /* a reset would have arrived by now */
	}
	assert_status(raw_answer(r, ANSWER_MS), 413);
	assert_true(raw_closed(r, ANSWER_MS));
	raw_close(r);
	wait_until(daemon_open_files(&patternd) <= idle_files, LINGER_MS / 2);
}

/*
 * The daemon closes the connection of a client that keeps sending, and of a client that stays
 * silent. Few connections may linger.
 */
TEST(test_refused_bodies_without_end)
{
	struct raw *r = raw_connect(patternd.port), *crowd[CROWD];
	int64_t start_ms = monotonic_ms();

	raw_text(r, TOO_LARGE);
	assert_false(raw_repeat(r, piece, 100000000 / PIECE_BYTES));
	raw_close(r);
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = raw_connect(patternd.port);
		raw_text(crowd[i], TOO_LARGE);
		assert_status(raw_answer(crowd[i], ANSWER_MS), 413);
	}
	/* Afterwards, the daemon is about to close the last connections. */
	wait_until(daemon_open_files(&patternd) <= idle_files + PLACES, LINGER_MS / 4);
	start_ms = monotonic_ms();
	wait_until(daemon_open_files(&patternd) <= idle_files, LINGER_MS + GRACE_MS);
	assert_in_range(monotonic_ms() - start_ms, 0, LINGER_MS + GRACE_MS);
	for (int i = 0; i < CROWD; i++)
		raw_close(crowd[i]);
}

SUITE(.open = set_up, .close = tear_down);
