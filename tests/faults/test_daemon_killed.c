/*
 * A daemon is killed or stopped with a request under way. The client repeats its request at another
 * daemon with the same Idempotency-Key, and the effect happens once. A daemon that was stopped
 * answers with the state at the time of its answer.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/proxy.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "test.h"

enum { SOON_MS = 8000, ROUNDS = 4 };

static struct redis_server redis;
static struct proxy *proxy;
static struct daemon patternd;

/* Where the request is when its daemon is killed. */
static const struct place {
	const char *name;
	struct proxy_fault fault;
	bool is_done, forgets_scripts; /* Redis has run it; Redis does not have the script yet */
} places[] = {
	{ "31 before Redis has it", { .drop_up = true }, false, false },
	{ "31 between effect and answer", { .drop_down = true }, true, false },
	{ "31 in the middle of the answer", { .bytes_per_second = 400 }, true, false },
	{ "31 while the script is sent", { .bytes_per_second = 400 }, false, true },
};

static void start(void)
{
	daemon_start(&patternd, "--redis", proxy_url(proxy), "--redis-timeout-ms", "5000");
}

static long long count(void)
{
	const redisReply *n = server_command(&redis, "HGET p:counter:{a} n");

	return n->str ? atoll(n->str) : 0;
}

/* Sends an increment, and kills the daemon when the request is at that place. */
static void ask_and_kill(const struct place *p, int round)
{
	char request[256];
	long long before = count();
	uint64_t up = proxy_count(proxy).bytes_up, down = proxy_count(proxy).bytes_down;
	struct raw *r = raw_connect(patternd.port);

	snprintf(
		request, sizeof(request),
		"POST /counters/a/increment HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n"
		"Idempotency-Key: %.2s-%d\r\n\r\n{\"counters\":{\"n\":1}}",
		p->name + 3, round);
	proxy_set(proxy, p->fault);
	raw_text(r, request);
	wait_until(proxy_count(proxy).bytes_up > up, SOON_MS);
	if (p->is_done)
		wait_until(count() == before + 1 && proxy_count(proxy).bytes_down > down, SOON_MS);
	daemon_kill(&patternd);
	raw_close(r);
	proxy_set(proxy, (struct proxy_fault){ 0 });
}

static void killed_with_a_request_under_way(void **state)
{
	const struct place *p = *state;
	char key[64];

	server_command(&redis, "FLUSHALL");
	for (int round = 0; round < ROUNDS; round++) {
		start();
		struct client *c = client_open(patternd.port);
		assert_status(http(c, "POST", "/counters/b/increment", "{\"counters\":{\"n\":1}}"), 200);
		client_close(c); /* now Redis has the script */
		if (p->forgets_scripts)
			server_command(&redis, "SCRIPT FLUSH");
		ask_and_kill(p, round);
		start();
		c = client_open(patternd.port);
		snprintf(key, sizeof(key), "Idempotency-Key: %.2s-%d", p->name + 3, round);
		for (int i = 0; i < 2; i++) {
			struct answer a = http(c, "POST", "/counters/a/increment", "{\"counters\":{\"n\":1}}", key);
			assert_status(a, 200);
			assert_int_equal(int_at(a, "/counters/n"), round + 1);
		}
		assert_int_equal(count(), round + 1);
		client_close(c);
		daemon_stop(&patternd);
	}
}

TEST_ROWS(killed_with_a_request_under_way, places, name);

/* Requests for short leases. Their daemon is stopped until the leases have expired. */
static const struct late {
	const char *name;
	const char *before, *before_body; /* a request that precedes it, or NULL */
	const char *method;               /* of `before` */
	const char *target, *body;
	const char *seen; /* a command whose reply is 1 once the lease was granted */
	const char *code; /* NULL: the answer is empty */
	int status;
} lates[] = {
	{ "32 a lock", NULL, NULL, NULL, "/locks/late", "{\"ttl_ms\":400}", "EXISTS p:lock:{late}", "not_holder", 409 },
	{ "32 a permit", NULL, NULL, NULL, "/semaphores/late/permits", "{\"limit\":1,\"ttl_ms\":400}",
	  "ZCARD p:semaphore:{late}:permits", "permit_expired", 410 },
	{ "32 a delivery", "/queues/late/messages", "{\"body\":1}", "POST", "/queues/late/receive",
	  "{\"visibility_ms\":400}", "ZCARD p:queue:{late}:flight", NULL, 200 },
	{ "32 a claim", "/sales/late", "{\"stock\":1,\"hold_ms\":1000}", "PUT", "/sales/late/claims",
	  "{\"user\":\"u\"}", "ZCARD p:sale:{late}:holds", "claim_expired", 410 },
};

enum { LONGEST_GRANT_MS = 1000 };

static void stopped_until_it_has_expired(void **state)
{
	const struct late *l = *state;
	char request[256];

	server_command(&redis, "FLUSHALL");
	start();
	struct client *c = client_open(patternd.port);
	if (l->before)
		assert_in_range(http(c, l->method, l->before, l->before_body).status, 200, 201);
	struct raw *r = raw_connect(patternd.port);
	proxy_set(proxy, (struct proxy_fault){ .delay_ms = 150 });
	snprintf(
		request, sizeof(request),
		"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		l->target, strlen(l->body), l->body);
	raw_text(r, request);
	wait_until(server_command(&redis, l->seen)->integer == 1, SOON_MS);
	proc_signal(&patternd.proc, SIGSTOP);
	nap_ms(LONGEST_GRANT_MS);
	proc_signal(&patternd.proc, SIGCONT);
	struct answer a = raw_answer(r, SOON_MS);
	if (l->code)
		assert_problem(a, l->status, l->code, "applied");
	else
		assert_true(a.status == l->status && json_array_size(json_at(a, "/messages")) == 0);
	raw_close(r);
	client_close(c);
	proxy_set(proxy, (struct proxy_fault){ 0 });
	daemon_stop(&patternd);
}

TEST_ROWS(stopped_until_it_has_expired, lates, name);

static int set_up(void **state)
{
	server_start(&redis);
	proxy = proxy_open(redis.port);
	return 0;
}

static int tear_down(void **state)
{
	proxy_close(proxy);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down, .columns = 2);
