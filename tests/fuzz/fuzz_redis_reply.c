/*
 * The replies of a server on one connection, against a model of the calls under way. Steps:
 *
 *	C         a call is sent        R<bytes>  the server sends this   F  all is written and read
 *	X         the server leaves     G<bytes>  its next handshake      T  a second passes
 *	D, L, M   the connection is dropped, drained, retargeted
 *
 * Each call has one outcome. The n-th answer of a connection goes to its n-th call, and is the n-th
 * reply in the sent bytes. A call is NOT_SENT only if the server got none of its bytes. Whatever
 * was sent, the connection is usable again once a server completes the handshake as Redis would.
 */
#include "fuzz.h"
#include "model.h"
#include "redis/connection.h"
#include "server.h"
#include "world.h"

enum { MOST_CALLS = 64, MOST_SENT = 64 * 1024 };

struct call {
	struct redis_call base;
	unsigned outcomes;
};

static struct call calls[MOST_CALLS];
static size_t sent, decided;       /* calls */
static size_t seen;                /* calls of this connection that the server has got */
static size_t first_here;          /* the first call of this connection */
static char sent_bytes[MOST_SENT]; /* on this connection, after the greeting */
static size_t sent_len, read_at;   /* read_at: the end of the latest reply that was checked */
static bool is_odd;                /* the sent bytes are not RESP2, or fit no call: only the order is known */
static bool spoke_early;           /* the server sent bytes before the connection was ready */
static struct redis_connection *connection;
static struct text greeting; /* of the next connection; if absent, as Redis answers */

/* ---- The daemon's side ---- */

static void check_answer(const struct reply *reply)
{
	uint64_t digest;
	long n = model_reply((struct text){ sent_bytes + read_at, sent_len - read_at }, &digest);

	if (n < 0)
		is_odd = true; /* hiredis accepts a little more than the specification */
	if (is_odd)
		return;
	CHECK(n > 0 && digest == model_digest(reply));
	read_at += (size_t)n;
}

static void on_done(struct redis_call *base, enum redis_outcome outcome, const struct reply *reply)
{
	struct call *c = container_of(base, struct call, base);
	size_t place = (size_t)(c - calls) - first_here;

	CHECK(c == &calls[decided++] && c->outcomes++ == 0);
	CHECK((reply != NULL) == (outcome == REDIS_ANSWERED));
	CHECK(outcome == REDIS_ANSWERED || outcome == REDIS_UNKNOWN || outcome == REDIS_NOT_SENT);
	if (outcome == REDIS_ANSWERED)
		check_answer(reply);
	else if (outcome == REDIS_NOT_SENT)
		CHECK(place >= seen);
}

static void send_call(void)
{
	if (sent == MOST_CALLS || !connection_is_ready(connection))
		return;
	struct call *c = &calls[sent++];
	*c = (struct call){ .base = { .done = on_done } };
	CHECK(connection_send(connection, &c->base, (struct text[]){ TEXT("EVALSHA"), TEXT("a\r\nb"), TEXT("") }, 3) ==
	      SEND_OK);
}

static void on_up(struct redis_connection *l)
{
	(void)l;
	CHECK(decided == sent); /* every earlier call has its outcome */
	first_here = sent;
	seen = sent_len = read_at = 0;
	is_odd = spoke_early; /* the rest of the greeting may be read as an answer */
}

static void on_down(struct redis_connection *l, const char *why, bool was_up)
{
	CHECK(!connection_is_ready(l));
	(void)why;
	(void)was_up;
}

static int64_t on_turn(void)
{
	if (connection)
		connection_flush(connection);
	return -1;
}

/* ---- The server's side ---- */

static void on_met(struct server *s)
{
	spoke_early = greeting.at != NULL;
	if (greeting.at)
		server_send(s, greeting);
}

static bool on_asked(struct server *s, const struct text *args, size_t count)
{
	(void)s;
	CHECK(count == 3 && text_is(args[0], "EVALSHA") && text_is(args[1], "a\r\nb") && args[2].len == 0);
	seen++;
	return true;
}

static void respond(struct text bytes)
{
	if (!server_first() || bytes.len > sizeof(sent_bytes) - sent_len)
		return;
	memcpy(sent_bytes + sent_len, bytes.at, bytes.len);
	sent_len += bytes.len;
	spoke_early = spoke_early || !connection_is_ready(connection);
	server_send(server_first(), bytes);
}

/* ---- A course ---- */

static void step(struct text s)
{
	struct text rest = { s.at + 1, s.len - 1 };

	if (s.len == 0)
		return;
	switch (s.at[0]) {
	case 'C':
		send_call();
		break;
	case 'R':
		respond(rest);
		break;
	case 'F':
		world_pass(0);
		break;
	case 'X':
		if (server_first())
			server_leave(server_first());
		break;
	case 'G':
		free((char *)(uintptr_t)greeting.at);
		greeting = (struct text){ strdup(rest.at), strlen(rest.at) };
		break;
	case 'T':
		world_pass(1000);
		break;
	case 'D':
		connection_drop(connection, "it was to be");
		break;
	case 'L':
		connection_drain(connection);
		break;
	case 'M':
		connection_retarget(connection);
		break;
	default:
		break;
	}
}

static bool is_settled(void)
{
	return connection_is_ready(connection) && decided == sent;
}

/*
 * Each whole reply answered a call, as long as there were calls, and the connection is ready again.
 */
static void check_end(void)
{
	uint64_t digest;

	world_pass(0);
	if (connection_is_ready(connection) && !is_odd && decided < sent)
		CHECK(model_reply((struct text){ sent_bytes + read_at, sent_len - read_at }, &digest) <= 0);
	free((char *)(uintptr_t)greeting.at);
	greeting = (struct text){ 0 };
	CHECK(world_pass_until(is_settled, 20000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct server_play play = { .mode = "standalone", .met = on_met, .asked = on_asked };
	static const struct redis_connection_callbacks callbacks = { .up = on_up,
								     .down = on_down,
								     .drain_all = connection_drain };
	struct server_check check = { 0 };
	struct redis_url url = { .path = "/redis", .address = "/redis" };
	struct input in = { data, size };
	struct text piece;

	world_open((const char *const[]){ "--log-level", "error", NULL });
	server_open(&play);
	world_turn = on_turn;
	sent = decided = first_here = seen = sent_len = read_at = 0;
	connection = connection_new(&url, &check, &callbacks, NULL);
	CHECK(connection);
	connection_open(connection);
	world_pass(0);
	while (input_piece(&in, STEP_END, &piece)) {
		step(piece);
		free((char *)(uintptr_t)piece.at);
	}
	check_end();
	connection_free(connection);
	connection = NULL;
	world_pass(0); /* the server sees it leave */
	CHECK(decided == sent && connections_in_flight() == 0 && !server_first());
	return 0;
}
