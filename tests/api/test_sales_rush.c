/*
 * 200 buyers claim at once over two daemons, for far less stock. Exactly the stock is sold, also if
 * one daemon is killed while claims are pending and its buyers retry at the other one. Unconfirmed
 * stock is available to later buyers.
 */
#include <pthread.h>
#include <signal.h>

#include "daemon.h"
#include "http.h"
#include "redis_server.h"
#include "test.h"
#include "waiter.h"

enum { BUYERS = 200, STOCK = 50, CONFIRMED = 30, SOON_MS = 10000 };

static struct redis_server redis;
static struct daemon patternd[2];
static struct client *client; /* of the second daemon, which stays */

static int start(void **state)
{
	server_start(&redis);
	for (int i = 0; i < 2; i++)
		daemon_start(&patternd[i], "--redis", redis.url, "--redis-timeout-ms", "20000");
	client = client_open(patternd[1].port);
	return 0;
}

static int stop(void **state)
{
	client_close(client);
	for (int i = 0; i < 2; i++)
		daemon_stop(&patternd[i]);
	server_stop(&redis);
	return 0;
}

struct buyer {
	pthread_t thread;
	pthread_barrier_t *start;
	int number, first_port;
	const char *name; /* of the group: each group has its own users */
	int status;
	unsigned tries;
	char claim[64], code[32];
};

/* Claims until the answer is a claim or a refusal. Every retry goes to the second daemon. */
static void *buy(void *arg)
{
	struct buyer *b = arg;
	struct client *own = client_open(b->first_port);
	char body[64], key[64];

	snprintf(body, sizeof(body), "{\"user\":\"%s-%d\"}", b->name, b->number);
	snprintf(key, sizeof(key), "Idempotency-Key: %s-%d", b->name, b->number);
	http(own, "GET", "/healthz", NULL); /* connects before the start */
	pthread_barrier_wait(b->start);
	while (b->tries < 50) {
		struct answer a = http(own, "POST", "/sales/s/claims", body, key);
		b->tries++;
		b->status = a.status;
		if (a.status == 201)
			snprintf(b->claim, sizeof(b->claim), "%s", json_string_value(json_at(a, "/claim")));
		if (a.status == 409)
			snprintf(b->code, sizeof(b->code), "%s", json_string_value(json_at(a, "/code")));
		if (a.status == 201 || a.status == 409)
			break;
		client_close(own);
		own = client_open(patternd[1].port);
	}
	client_close(own);
	return NULL;
}

static struct buyer buyers[BUYERS];
static pthread_barrier_t starts[2]; /* of the buyers of each daemon */

static void send_buyers(const char *name)
{
	memset(buyers, 0, sizeof(buyers));
	for (int i = 0; i < 2; i++)
		pthread_barrier_init(&starts[i], NULL, BUYERS / 2 + 1);
	for (int i = 0; i < BUYERS; i++) {
		buyers[i] = (struct buyer){
			.start = &starts[i % 2], .number = i, .first_port = patternd[i % 2].port, .name = name
		};
		assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]), 0);
	}
}

/*
 * Waits for all buyers. Exactly `sold` of them must have a separate claim, and the others the
 * problem sold_out.
 */
static void assert_sold(int sold)
{
	int got = 0;

	for (int i = 0; i < BUYERS; i++)
		pthread_join(buyers[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_barrier_destroy(&starts[i]);
	for (int i = 0; i < BUYERS; i++) {
		if (buyers[i].status == 201) {
			got++;
			for (int j = 0; j < i; j++)
				assert_string_not_equal(buyers[i].claim, buyers[j].claim);
		} else {
			assert_int_equal(buyers[i].status, 409);
			assert_string_equal(buyers[i].code, "sale_sold_out");
		}
	}
	assert_int_equal(got, sold);
}

static void assert_counts(int remaining, int held, int confirmed)
{
	struct answer a = http(client, "GET", "/sales/s", NULL);

	assert_int_equal(int_at(a, "/remaining"), remaining);
	assert_int_equal(int_at(a, "/held"), held);
	assert_int_equal(int_at(a, "/confirmed"), confirmed);
}

static void confirm(const char *claim)
{
	char target[128];

	snprintf(target, sizeof(target), "/sales/s/claims/%s/confirm", claim);
	assert_status(http(client, "POST", target, NULL), 200);
}

SUITE(.open = start, .close = stop);

TEST(a_crowd_buys_exactly_the_stock)
{
	server_command(&redis, "FLUSHALL");
	assert_status(http(client, "PUT", "/sales/s", "{\"stock\":50,\"per_user\":1,\"hold_ms\":600000}"), 201);
	send_buyers("crowd");
	for (int i = 0; i < 2; i++)
		pthread_barrier_wait(&starts[i]);
	assert_sold(STOCK);
	assert_counts(0, STOCK, 0);
	int confirmed = 0;
	for (int i = 0; i < BUYERS && confirmed < CONFIRMED; i++) {
		if (buyers[i].status != 201)
			continue;
		confirm(buyers[i].claim);
		confirmed++;
	}
	assert_counts(0, STOCK - CONFIRMED, CONFIRMED);
}

/* Thirty are sold. Twenty were held but not confirmed, and go to the next buyers. */
TEST(what_was_not_confirmed_is_sold_to_the_next)
{
	server_command(&redis, "FLUSHALL");
	assert_status(http(client, "PUT", "/sales/s", "{\"stock\":50,\"per_user\":1,\"hold_ms\":1500}"), 201);
	for (int i = 0; i < STOCK; i++) {
		char body[64];
		snprintf(body, sizeof(body), "{\"user\":\"first-%d\"}", i);
		struct answer a = http(client, "POST", "/sales/s/claims", body);
		assert_status(a, 201);
		if (i < CONFIRMED)
			confirm(text_at(a, "/claim"));
	}
	assert_problem(http(client, "POST", "/sales/s/claims", "{\"user\":\"late\"}"), 409, "sale_sold_out", "none");
	/* The new hold_ms applies to later holds only. */
	assert_status(http(client, "PUT", "/sales/s", "{\"stock\":50,\"per_user\":1,\"hold_ms\":600000}"), 200);
	wait_until(server_command(&redis, "ZCOUNT p:sale:{s}:holds -inf %lld", server_now_ms(&redis))->integer ==
			   STOCK - CONFIRMED,
		   SOON_MS);
	send_buyers("next");
	for (int i = 0; i < 2; i++)
		pthread_barrier_wait(&starts[i]);
	assert_sold(STOCK - CONFIRMED);
	assert_counts(0, STOCK - CONFIRMED, CONFIRMED);
}

/*
 * Redis is stopped while one daemon sends it more claims than the stock, and that daemon is killed
 * before Redis continues. Redis then executes the claims without a daemon to reply to. Their buyers
 * retry at the other daemon, beside its own hundred. This must be the last test.
 */
TEST(a_killed_daemon_sells_nothing_twice)
{
	server_command(&redis, "FLUSHALL");
	assert_status(http(client, "PUT", "/sales/s", "{\"stock\":50,\"per_user\":1,\"hold_ms\":600000}"), 201);
	send_buyers("orphan");
	server_signal(&redis, SIGSTOP);
	pthread_barrier_wait(&starts[0]);
	wait_until(metric_of(&patternd[0], "redis_calls_in_flight") >= STOCK, SOON_MS);
	daemon_kill(&patternd[0]);
	server_signal(&redis, SIGCONT);
	wait_until(server_command(&redis, "HLEN p:sale:{s}:users")->integer == STOCK, SOON_MS);
	pthread_barrier_wait(&starts[1]);
	assert_sold(STOCK);
	assert_counts(0, STOCK, 0);
	assert_int_equal(server_command(&redis, "HLEN p:sale:{s}:users")->integer, STOCK);
	/*
	 * The fault had its full effect: all stock was sold through the dead daemon, to buyers that
	 * had to retry.
	 */
	for (int i = 0; i < BUYERS; i += 2)
		assert_in_range(buyers[i].tries, 2, 50);
	for (int i = 1; i < BUYERS; i += 2)
		assert_int_equal(buyers[i].status, 409);
}
