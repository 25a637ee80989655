/*
 * through_proxy: set-up and tear-down for a group of tests whose daemon reaches Redis through a
 * proxy, with one client.
 */
#ifndef TEST_THROUGH_PROXY_H
#define TEST_THROUGH_PROXY_H

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/proxy.h"
#include "../support/redis_server.h"

static struct redis_server redis;
static struct proxy *proxy;
static struct daemon patternd;
static struct client *client;

static int start_through_proxy(const char *redis_timeout_ms)
{
	server_start(&redis);
	proxy = proxy_open(redis.port);
	daemon_start(&patternd, "--redis", proxy_url(proxy), "--redis-timeout-ms", redis_timeout_ms);
	client = client_open(patternd.port);
	return 0;
}

static int stop_through_proxy(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	proxy_close(proxy);
	server_stop(&redis);
	return 0;
}

#endif
