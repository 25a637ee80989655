/*
 * A whole client connection, from the socket to Redis and back, with the daemon's event loop,
 * libmicrohttpd and the handlers. Steps:
 *
 *	H<bytes>  the client sends this
 *	R<bytes>  Redis's answer to the next command
 *	E         the client sends no more
 *	W<ms>     so much time passes
 *	X         Redis closes the connection
 *	Q         the client is gone
 *
 * The client reads a sequence of whole answers, not more than its requests, and none after
 * "Connection: close". At its deadline each request was answered, or its connection was closed. At
 * the end no connection, request, call or memory is left.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/budget.h"
#include "fuzz.h"
#include "http/response.h"
#include "http/server.h"
#include "patterns.h"
#include "process/config.h"
#include "reading.h"
#include "server.h"
#include "topology/topology.h"
#include "wait/wait.h"
#include "world.h"

enum { MOST_ANSWERS = 64, MOST_READ = 4 * 1024 * 1024, LONGEST_MS = 200000 };

static struct acceptor acceptor = { .max_connections = 64 };
static struct http_server front = { .acceptor = &acceptor, .timeouts = { 10000, 30000, 30000, 60000 } };
static struct text answers[MOST_ANSWERS];
static size_t answer_count, answered;
static int client = -1;
static char got[MOST_READ];
static size_t got_len;
static bool was_closed;
static size_t blank_lines; /* blank lines sent: each ends the headers of at most one request */
static char last_sent;

/* ---- Redis ---- */

static bool on_asked(struct server *s, const struct text *args, size_t count)
{
	(void)count;
	if (text_is(args[0], "SSUBSCRIBE") || text_is(args[0], "SUNSUBSCRIBE") || text_is(args[0], "SUBSCRIBE") ||
	    text_is(args[0], "UNSUBSCRIBE") || text_is(args[0], "PING"))
		return false;
	if (answered < answer_count)
		server_send(s, answers[answered++]);
	return true; /* answered, or never answered */
}

/* ---- The client ---- */

static void drain_client(void)
{
	ssize_t n = 1;

	while (client >= 0 && n > 0 && got_len < sizeof(got)) {
		n = recv(client, got + got_len, sizeof(got) - got_len, MSG_DONTWAIT);
		if (n > 0)
			got_len += (size_t)n;
		else
			was_closed = was_closed || n == 0 || errno != EAGAIN;
	}
}

/*
 * Counts blank lines as libmicrohttpd 0.9.75 reads lines: CR, LF or both end a line, and a line
 * that begins with NUL or a colon is blank.
 */
static void count_lines(struct text bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		char c = bytes.at[i];
		bool ends = c == '\r' || (c == '\n' && last_sent != '\r');
		bool begins = last_sent == '\r' || last_sent == '\n';
		if (ends || ((c == '\0' || c == ':') && begins))
			blank_lines += begins;
		last_sent = c;
	}
}

static void send_bytes(struct text bytes)
{
	if (client < 0)
		return;
	count_lines(bytes);
	ssize_t n = send(client, bytes.at, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)n; /* a closed connection takes no more */
}

static void leave(void)
{
	if (client >= 0)
		close(client);
	client = -1;
}

/* ---- The daemon, as main.c runs it ---- */

static bool never(void)
{
	return false;
}

static int64_t on_turn(void)
{
	bool some_wait = wait_run(), again = http_server_run(&front);

	topology_flush();
	drain_client();
	return some_wait || again ? 0 : http_server_timeout_ms(&front);
}

static void open_daemon(void)
{
	static const struct server_play play = { .mode = "standalone", .asked = on_asked };

	if (front.daemon)
		return;
	world_prepare = patterns_open;
	world_open((const char *const[]){ "--log-level", "error", "--access-log", "off", "--max-body-bytes", "65536",
					  "--pool-size", "1", "--redis", "unix:///redis", NULL });
	server_open(&play);
	budget_limit(16 * 1024 * 1024);
	http_response_open(never);
	CHECK(topology_open(config()->redis) && wait_open() && http_server_open(&front));
	world_turn = on_turn;
}

static bool is_connected(void)
{
	return topology_connections() == 1;
}

static bool is_empty(void)
{
	return front.request_count == 0 && client_count() == 0 && topology_in_flight() == 0 && budget_used() == 0;
}

/* ---- A course ---- */

static void step(struct text s)
{
	struct text rest = { s.at + 1, s.len - 1 };

	if (s.len == 0)
		return;
	if (s.at[0] == 'H')
		send_bytes(rest);
	else if (s.at[0] == 'R' && answer_count < MOST_ANSWERS)
		answers[answer_count++] = (struct text){ memcpy(malloc(rest.len + 1), rest.at, rest.len), rest.len };
	else if (s.at[0] == 'W')
		world_pass(strtol(rest.at, NULL, 10) & 0xffff);
	else if (s.at[0] == 'X' && server_first())
		server_leave(server_first());
	else if (s.at[0] == 'E' && client >= 0)
		shutdown(client, SHUT_WR);
	else if (s.at[0] == 'Q')
		leave();
	if (s.at[0] != 'R')
		world_pass(0);
}

static bool has_ended(void)
{
	return was_closed || client < 0;
}

/*
 * By its deadline a waiting, slow or idle client has an answer, a closed connection, or a stream.
 */
static void check_client(void)
{
	bool in_time = world_pass_until(has_ended, LONGEST_MS);
	struct reading r = reading_of((struct text){ got, got_len });

	CHECK(in_time || r.is_stream);
	CHECK(r.answers <= blank_lines + 1); /* bytes that are not a request are answered, too, once */
}

static void begin(void)
{
	int ends[2];

	CHECK(world_pass_until(is_connected, 20000));
	CHECK(is_empty() && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
	client = ends[0];
	got_len = answer_count = answered = blank_lines = 0;
	was_closed = false;
	last_sent = 0;
	http_server_add(&front, &(struct listener){ 0 }, ends[1]);
	world_pass(0);
}

static void end(void)
{
	leave();
	/* Half of an unrequested answer may stay until its connection to Redis is closed. */
	if (!world_pass_until(is_empty, 5000)) {
		while (server_first())
			server_leave(server_first());
		CHECK(world_pass_until(is_empty, 20000));
	}
	for (size_t i = 0; i < answer_count; i++)
		free((char *)(uintptr_t)answers[i].at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text piece;

	open_daemon();
	begin();
	while (input_piece(&in, STEP_END, &piece)) {
		step(piece);
		free((char *)(uintptr_t)piece.at);
	}
	check_client();
	end();
	return 0;
}
