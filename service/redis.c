/*
 * redis: the pool; see redis.h. Which link takes a call, and what is known of the server. The links are redis_link.c's.
 */
#include "redis.h"

#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "log.h"
#include "metrics.h"
#include "redis_link.h"
#include "resolve.h"

enum { TROUBLE_BYTES = LINK_WHY_BYTES + 64 };

static struct redis_link **pool;
static unsigned pool_count, ready_count;
static unsigned
	turn_link; /* takes the commands of this turn, all of them: they leave in one write, and come back in one read */
static struct redis_url target;
static char trouble[TROUBLE_BYTES] = "not connected yet";
static char server[64];
static bool was_reached;

unsigned redis_connections(void)
{
	return ready_count;
}

unsigned redis_in_flight(void)
{
	return links_in_flight();
}

bool redis_was_reached(void)
{
	return was_reached;
}

const char *redis_trouble(void)
{
	return trouble;
}

const struct redis_url *redis_target(void)
{
	return &target;
}

const char *redis_address(void)
{
	return target.address;
}

const char *redis_server(void)
{
	return server;
}

enum redis_refusal redis_send(struct redis_call *call, const struct text *args, size_t count)
{
	if (ready_count == 0)
		return REDIS_DOWN;
	if (links_in_flight() >= config()->max_in_flight)
		return REDIS_FULL;
	while (!link_is_ready(pool[turn_link]))
		turn_link = (turn_link + 1) % pool_count;
	return link_send(pool[turn_link], call, args, count) ? REDIS_TOOK : REDIS_FULL;
}

void redis_flush(void)
{
	for (unsigned i = 0; i < pool_count; i++)
		link_flush(pool[i]);
	if (pool_count)
		turn_link = (turn_link + 1) % pool_count;
}

static void count_ready(void)
{
	ready_count = 0;
	for (unsigned i = 0; i < pool_count; i++)
		ready_count += link_is_ready(pool[i]);
}

static void note_trouble(const char *why)
{
	snprintf(trouble, sizeof(trouble), "%.60s: %s", target.address, why);
}

static void on_up(struct redis_link *l)
{
	count_ready();
	was_reached = true;
	snprintf(server, sizeof(server), "%s", link_server(l));
	if (ready_count == 1)
		log_event(LOG_INFO, "redis_connected", "%s at %s", server, target.address);
}

/* An attempt that fails for the same reason as the one before is no news. */
static void on_down(struct redis_link *l, const char *why, bool was_up)
{
	bool news = was_up || strstr(trouble, why) == NULL;

	(void)l;
	count_ready();
	note_trouble(why);
	log_event(news ? LOG_WARN : LOG_DEBUG, was_up ? "redis_lost" : "redis_unreachable", "%s", trouble);
}

void redis_distrust(const char *why)
{
	note_trouble(why);
	for (unsigned i = 0; i < pool_count; i++)
		link_leave(pool[i]);
	count_ready();
}

static double links_ready(void)
{
	return ready_count;
}

static double is_up(void)
{
	return ready_count > 0;
}

static double calls_in_flight(void)
{
	return links_in_flight();
}

bool redis_open(const char *url, const char *password)
{
	static const struct redis_link_owner owner = { .up = on_up, .down = on_down };
	const char *why = redis_url_parse(&target, url, password);

	if (why) {
		fprintf(stderr,
			"patternd: --redis: %s; expected redis://[user:password@]host:port[/db] or unix:///path\n",
			why);
		return false;
	}
	metrics_gauge("redis_connections", "Connections to Redis that are usable.", links_ready);
	metrics_gauge("redis_calls_in_flight", "Commands that Redis has not answered yet.", calls_in_flight);
	metrics_gauge("redis_up", "1 when a connection to Redis is usable.", is_up);
	pool = calloc((size_t)config()->pool_size, sizeof(*pool));
	for (; pool && pool_count < config()->pool_size; pool_count++) {
		pool[pool_count] = link_new(&target, &owner);
		if (!pool[pool_count])
			return false;
	}
	for (unsigned i = 0; i < pool_count; i++)
		link_open(pool[i]);
	return pool != NULL;
}

void redis_close(void)
{
	ready_count = 0; /* whoever learns now that his call is lost sends no other */
	while (pool_count)
		link_free(pool[--pool_count]);
	free(pool);
	pool = NULL;
	resolve_close();
}
