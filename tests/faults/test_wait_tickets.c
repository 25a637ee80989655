/*
 * The tickets of requests that wait for a lock, a permit or a cached value. A ticket leaves the
 * wait queue however its request is answered or its client disconnects, also if the daemon cannot
 * ask Redis at that moment. If the ticket stayed, it would be offered the lock, permit or value
 * that other waiters need.
 */
#include <signal.h>

#include "../support/proxy.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 5000, RESOURCES = 3, AT_ONCE_MS = 700 };

static const struct resource {
	const char *target, *hold, *line;
	const char *capability;  /* the member of the answer with the token or permit */
	const char *is_released; /* the code for a replay after the release */
	int status;              /* the status for that replay */
} resources[RESOURCES] = {
	{ "/locks/a", "{\"ttl_ms\":60000", "p:lock:{a}:waiters", "/token", "not_holder", 409 },
	{ "/semaphores/a/permits", "{\"limit\":1,\"ttl_ms\":60000", "p:semaphore:{a}:waiters", "/permit",
	  "permit_expired", 410 },
	{ "/cache/a/fill", "{\"fill_ms\":60000", "p:cache:{a}:waiters", "/ticket", "ticket_expired", 410 },
};

static struct redis_server redis;
static struct proxy *proxy;
static struct daemon direct, proxied;
static struct client *client; /* of the daemon that reaches Redis directly */

static int open_all(void **state)
{
	server_start(&redis);
	proxy = proxy_open(redis.port);
	daemon_start(&direct, "--redis", redis.url);
	daemon_start(&proxied, "--redis", proxy_url(proxy), "--redis-timeout-ms", "300");
	client = client_open(direct.port);
	return 0;
}

static int close_all(void **state)
{
	client_close(client);
	daemon_stop(&direct);
	daemon_stop(&proxied);
	proxy_close(proxy);
	server_stop(&redis);
	return 0;
}

static int forget(void **state)
{
	server_command(&redis, "FLUSHALL");
	return 0;
}

static long tickets_of(const struct resource *r)
{
	return (long)server_command(&redis, "ZCOUNT %s 100000000000000 +inf", r->line)->integer;
}

static struct raw *wait_at(const struct daemon *d, const struct resource *r, int wait_ms, const char *headers)
{
	long before = tickets_of(r);
	char body[96];

	snprintf(body, sizeof(body), "%s,\"wait_ms\":%d}", r->hold, wait_ms);
	struct raw *w = waiter_at(d, r->target, body, headers);
	wait_until(tickets_of(r) == before + 1, SOON_MS);
	return w;
}

/* Takes the resource. The caller releases it with release(). */
static void hold(const struct resource *r, char capability[64])
{
	char body[96];

	snprintf(body, sizeof(body), "%s}", r->hold);
	struct answer a = http(client, "POST", r->target, body, NULL);
	assert_status(a, 201);
	snprintf(capability, 64, "%s", text_at(a, r->capability));
}

static void release(const struct resource *r, const char *capability)
{
	char text[160];

	if (r == &resources[0]) {
		snprintf(text, sizeof(text), "Lock-Token: %s", capability);
		assert_status(http(client, "DELETE", "/locks/a", NULL, text), 200);
	} else if (r == &resources[2]) {
		assert_status(http(client, "DELETE", "/cache/a", NULL), 204); /* removes the ticket, too */
	} else {
		snprintf(text, sizeof(text), "/semaphores/a/permits/%s", capability);
		assert_status(http(client, "DELETE", text, NULL), 204);
	}
}

/* The waiter gets the resource at once, and releases it. */
static void is_served_at_once(const struct resource *r, struct raw *w)
{
	struct answer a = waiter_answer(w, r->target, AT_ONCE_MS);

	assert_status(a, 201);
	release(r, text_at(a, r->capability));
	raw_close(w);
}

/* ---- Faults while the last attempt is made ---- */

static void no_fault(bool begin)
{
	(void)begin;
}

static void redis_refuses_connections(bool begin)
{
	proxy_set(proxy, (struct proxy_fault){ .refuse = begin, .reset = begin });
}

static void commands_vanish(bool begin)
{
	proxy_set(proxy, (struct proxy_fault){ .drop_up = begin });
}

static void replies_vanish(bool begin)
{
	proxy_set(proxy, (struct proxy_fault){ .drop_down = begin });
}

static void replies_are_cut_off(bool begin)
{
	proxy_set(proxy, (struct proxy_fault){ .cut = begin, .cut_on = PROXY_BYTES("EVALSHA"), .cut_percent = 100 });
}

static void redis_is_full(bool begin)
{
	server_command(&redis, "CONFIG SET maxmemory %s", begin ? "1" : "0");
}

static void scripts_are_denied(bool begin)
{
	server_command(&redis, "ACL SETUSER default %s", begin ? "-evalsha" : "+@all");
}

static void redis_stops(bool begin)
{
	server_signal(&redis, begin ? SIGSTOP : SIGCONT);
}

typedef void fault(bool begin);

struct named_fault {
	const char *name;
	fault *inject;
};

static const struct named_fault faults[] = {
	{ "no fault", no_fault },
	{ "Redis refuses connections", redis_refuses_connections },
	{ "commands vanish", commands_vanish },
	{ "replies vanish", replies_vanish },
	{ "replies are cut off", replies_are_cut_off },
	{ "Redis is full", redis_is_full },
	{ "scripts are denied", scripts_are_denied },
	{ "Redis stops", redis_stops },
};

/* At each resource two clients wait: one stays for its answer, the other leaves. */
static void no_ticket_stays(void **state)
{
	fault *inject = ((const struct named_fault *)*state)->inject;
	struct raw *stays[RESOURCES], *leaves[RESOURCES];
	char capability[RESOURCES][64];

	for (int i = 0; i < RESOURCES; i++) {
		hold(&resources[i], capability[i]);
		stays[i] = wait_at(&proxied, &resources[i], 400, "");
		leaves[i] = wait_at(&proxied, &resources[i], 20000, "");
	}
	inject(true);
	for (int i = 0; i < RESOURCES; i++)
		raw_close(leaves[i]);
	for (int i = 0; i < RESOURCES; i++) {
		assert_int_not_equal(waiter_answer(stays[i], resources[i].target, SOON_MS).status, 0);
		raw_close(stays[i]);
	}
	inject(false);
	for (int i = 0; i < RESOURCES; i++) {
		wait_until(tickets_of(&resources[i]) == 0, SOON_MS);
		struct raw *next = wait_at(&direct, &resources[i], 20000, "");
		release(&resources[i], capability[i]);
		is_served_at_once(&resources[i], next);
	}
}

TEST_ROWS(no_ticket_stays, faults, name);

/* ---- The same Idempotency-Key at another daemon ---- */

TEST(a_duplicate_delays_no_waiter)
{
	for (int i = 0; i < RESOURCES; i++) {
		const struct resource *r = &resources[i];
		char capability[64];
		hold(r, capability);
		struct raw *first = wait_at(&direct, r, 20000, "Idempotency-Key: k\r\n");
		struct raw *twice = wait_at(&proxied, r, 20000, "Idempotency-Key: k\r\n");
		struct raw *second = wait_at(&direct, r, 20000, "Idempotency-Key: l\r\n");
		struct raw *reused = wait_at(&proxied, r, 19999, "Idempotency-Key: l\r\n");
		struct raw *others[] = { wait_at(&proxied, r, 20000, ""), wait_at(&direct, r, 20000, ""),
					 wait_at(&proxied, r, 20000, "") };
		release(r, capability);
		is_served_at_once(r, first);
		struct answer a = waiter_answer(twice, r->target, AT_ONCE_MS);
		assert_problem(a, r->status, r->is_released, "applied");
		raw_close(twice);
		is_served_at_once(r, second);
		assert_problem(waiter_answer(reused, r->target, AT_ONCE_MS), 422, "idempotency_key_reused", "none");
		raw_close(reused);
		for (int k = 0; k < 3; k++)
			is_served_at_once(r, others[k]);
		assert_int_equal(tickets_of(r), 0);
	}
}

SUITE(.open = open_all, .close = close_all, .before = forget);
