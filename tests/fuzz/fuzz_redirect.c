/*
 * A Cluster with arbitrary replies: steps C<slot> (a call of that slot), A<bytes> (the reply to the
 * next call that is seen), S<bytes> (the next answer to CLUSTER SLOTS), X (the newest connection
 * breaks), T (100 ms pass). Each call ends once, in its time, and is not redirected for ever. The
 * number of nodes is bounded. Once the Cluster reports its real map again, the daemon has only the
 * nodes of that map.
 */
#include "core/loop.h"
#include "fuzz.h"
#include "process/config.h"
#include "server.h"
#include "topology/node.h"
#include "topology/node_info.h"
#include "topology/topology.h"
#include "world.h"

enum { MOST_CALLS = 16, MOST_ANSWERS = 16, MOST_SENDS = 64 };

struct call {
	struct redis_call base;
	unsigned sends, ends;
	int64_t began_us;
};

/* The replies still to send, in order. */
struct answers {
	struct text at[MOST_ANSWERS];
	size_t first, count;
};

static struct call calls[MOST_CALLS];
static size_t call_count, ended;
static struct answers to_calls, maps;

static const char true_map[] = "*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n$8\r\n10.0.0.1\r\n:7001\r\n"
			       "*3\r\n:8192\r\n:16383\r\n*2\r\n$8\r\n10.0.0.2\r\n:7002\r\n";

static void put(struct answers *a, struct text bytes)
{
	if (a->count < MOST_ANSWERS)
		a->at[a->count++] = (struct text){ strndup(bytes.at, bytes.len), strnlen(bytes.at, bytes.len) };
}

/* Returns the next answer, or an absent text when none is left. */
static struct text take(struct answers *a)
{
	return a->first < a->count ? a->at[a->first++] : (struct text){ 0 };
}

static void forget(struct answers *a)
{
	for (size_t i = 0; i < a->count; i++)
		free((char *)(uintptr_t)a->at[i].at);
	*a = (struct answers){ 0 };
}

/* ---- A call, as call_wire.c follows it ---- */

static void on_done(struct redis_call *base, enum redis_outcome outcome, const struct reply *reply);

static void end(struct call *c)
{
	CHECK(c->ends++ == 0);
	ended++;
}

static void put_on_wire(struct call *c)
{
	struct text args[] = { TEXT("EVALSHA"), TEXT("x") };

	c->base.done = on_done;
	CHECK(++c->sends < MOST_SENDS);
	enum redis_send_error error = topology_send(&c->base, args, 2);
	if (error != SEND_OK && (error != SEND_LATER || !topology_defer(&c->base)))
		end(c);
}

static void on_done(struct redis_call *base, enum redis_outcome outcome, const struct reply *reply)
{
	struct call *c = container_of(base, struct call, base);
	enum redis_next next = NEXT_NOTHING;

	CHECK(c->ends == 0 && (reply != NULL) == (outcome == REDIS_ANSWERED));
	CHECK(loop_now_us() - c->began_us <= 3 * config()->redis_timeout_ms * 1000);
	if (outcome == REDIS_DEFERRED)
		next = NEXT_SEND;
	else if (outcome == REDIS_ANSWERED && reply->type == REPLY_ERROR)
		next = topology_follow(base, reply->text);
	if (next == NEXT_SEND)
		put_on_wire(c);
	else if (next != NEXT_DEFER || !topology_defer(base))
		end(c);
}

static void begin(unsigned slot)
{
	if (call_count == MOST_CALLS)
		return;
	struct call *c = &calls[call_count++];
	*c = (struct call){ .base = { .slot = (int)slot }, .began_us = loop_now_us() };
	put_on_wire(c);
}

/* ---- The Cluster ---- */

static bool on_asked(struct server *s, const struct text *args, size_t count)
{
	bool is_map = text_is(args[0], "CLUSTER") && count == 2;

	if (!is_map && !text_is(args[0], "EVALSHA"))
		return false;
	struct text answer = take(is_map ? &maps : &to_calls);
	if (answer.at)
		server_send(s, answer);
	else
		server_send(s, is_map ? text_of(true_map) : TEXT("+OK\r\n"));
	return true;
}

static size_t node_count(void)
{
	size_t count = 0;

	for (const struct redis_node *n = node_first(); n; n = n->next)
		count++;
	return count;
}

static bool is_healed(void)
{
	struct node_info look;

	if (node_count() != 2 || topology_in_flight() > 0)
		return false;
	for (size_t i = 0; i < 2; i++)
		if (!node_info_at(i, &look) || look.connections == 0 || look.slots != 8192)
			return false;
	return true;
}

static bool all_ended(void)
{
	return ended == call_count;
}

static void step(struct text s)
{
	struct text rest = { s.at + 1, s.len - 1 };

	if (s.len == 0)
		return;
	if (s.at[0] == 'C')
		begin((unsigned)strtoul(rest.at, NULL, 10) % 16384);
	else if (s.at[0] == 'A')
		put(&to_calls, rest);
	else if (s.at[0] == 'S')
		put(&maps, rest);
	else if (s.at[0] == 'X' && server_first())
		server_leave(server_first());
	else if (s.at[0] == 'T')
		world_pass(100);
	CHECK(node_count() <= 1000);
}

static int64_t on_turn(void)
{
	topology_flush();
	return -1;
}

static void open_cluster(void)
{
	static const struct server_play play = { .mode = "cluster", .asked = on_asked };

	if (node_first())
		return;
	world_open((const char *const[]){ "--log-level", "error", "--pool-size", "1", NULL });
	server_open(&play);
	world_turn = on_turn;
	CHECK(topology_open("redis+cluster://10.0.0.1:7001,10.0.0.2:7002"));
	CHECK(world_pass_until(is_healed, 5000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text piece;

	open_cluster();
	call_count = ended = 0;
	while (input_piece(&in, STEP_END, &piece)) {
		step(piece);
		free((char *)(uintptr_t)piece.at);
	}
	CHECK(world_pass_until(all_ended, 5000));
	forget(&to_calls);
	forget(&maps);
	CHECK(world_pass_until(is_healed, 60000)); /* the daemon asks for the map every 30 s, also without a fault */
	return 0;
}
