/*
 * What Sentinels report of the master: steps R<bytes> (the latest Sentinel sends this), S<bytes>
 * (the one before it does), X (the latest leaves), T (a second passes), D (the master that they
 * reported does not serve). Each reported address is one to which the daemon can connect, or
 * redis_url_at refuses it. Whatever was sent, the daemon asks another Sentinel, which reports the
 * right master.
 */
#include "fuzz.h"
#include "server.h"
#include "topology/sentinel.h"
#include "world.h"

static bool was_reported; /* the right master was reported */
static bool is_sane;      /* Sentinels answer as they should */

static void on_found(struct text host, long port)
{
	struct redis_url like = { .kind = REDIS_SENTINEL }, url;

	if (!host.at || !redis_url_at(&url, &like, host, port))
		return;
	CHECK(url.host[0] && strlen(url.host) <= host.len && strtol(url.port, NULL, 10) == port && port > 0 &&
	      port <= 65535);
	if (text_is(host, "10.0.0.9") && port == 6379)
		was_reported = true;
}

/* Each reported replica has a host and a port. */
static void on_listed(const struct reply *replicas)
{
	struct text host;
	long port;

	CHECK(replicas->type == REPLY_ARRAY);
	for (size_t i = 0; i < replicas->count; i++)
		if (sentinel_replica(reply_item(replicas, i), &host, &port))
			CHECK(host.at && port > 0 && port <= 65535);
}

static bool on_asked(struct server *s, const struct text *args, size_t count)
{
	if (text_is(args[0], "SENTINEL")) {
		CHECK(count == 3 && text_is(args[2], "mymaster"));
		if (is_sane && text_is(args[1], "REPLICAS"))
			server_send(s, TEXT("*0\r\n"));
		else if (is_sane)
			server_send(s, TEXT("*2\r\n$8\r\n10.0.0.9\r\n$4\r\n6379\r\n"));
		return true;
	}
	return !is_sane;
}

static bool is_reported(void)
{
	return was_reported;
}

static int64_t on_turn(void)
{
	sentinel_flush();
	return -1;
}

static void step(struct text s)
{
	if (s.len && s.at[0] == 'R' && server_first())
		server_send(server_first(), (struct text){ s.at + 1, s.len - 1 });
	else if (s.len && s.at[0] == 'S' && server_first() && server_first()->next)
		server_send(server_first()->next, (struct text){ s.at + 1, s.len - 1 });
	else if (s.len && s.at[0] == 'X' && server_first())
		server_leave(server_first());
	else if (s.len && s.at[0] == 'T')
		world_pass(1000);
	else if (s.len && s.at[0] == 'D')
		sentinel_refresh();
	world_pass(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct server_play play = { .mode = "sentinel", .asked = on_asked };
	static struct redis_urls urls;
	struct input in = { data, size };
	struct text piece;

	world_open((const char *const[]){ "--log-level", "error", NULL });
	server_open(&play);
	CHECK(!redis_urls_parse(&urls, "redis+sentinel://a:1,b:2,c:3/mymaster", NULL));
	is_sane = was_reported = false;
	CHECK(sentinel_open(&urls, on_found, on_listed));
	world_turn = on_turn;
	world_pass(0);
	while (input_piece(&in, STEP_END, &piece)) {
		step(piece);
		free((char *)(uintptr_t)piece.at);
	}
	is_sane = true;
	was_reported = false;
	sentinel_refresh();
	CHECK(world_pass_until(is_reported, 20000));
	world_turn = NULL;
	sentinel_close();
	world_pass(0); /* the server sees it leave */
	CHECK(!server_first());
	return 0;
}
