/*
 * Tokens and sale claims that are wrong, expired, used before, another holder's, or nonsense. The
 * daemon refuses each, and changes nothing. (api/test_queues_receipts.c tests receipts.)
 */
#include <pthread.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "test.h"

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static int set_up_all(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	return 0;
}

static int tear_down_all(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

static int set_up(void **state)
{
	client_forget(client);
	server_command(&redis, "FLUSHALL");
	return 0;
}

/*
 * Nonsense of all kinds, percent-encoded. The daemon must not mistake any of it for a valid token.
 */
static const char *const nonsense[] = {
	"x",
	"0",
	"-1",
	"1",
	"null",
	"9223372036854775808",
	"18446744073709551616",
	"aaaaaaaaaaaaaaaaaaaaaa",
	"%20",
	"a%2Fb",
	"*",
	"..%2F",
	"%27%22",
	"1.1.1",
	"1.1.",
	"..",
	"0.0.0",
	"-1.-1.-1",
	"1.1.aaaaaaaaaaaaaaaaaaaaaa",
	"1e3.1.x",
	"9007199254740993.1.x",
};
enum { NONSENSE = COUNT(nonsense) };

/* ---- Locks ---- */

static struct answer release(const char *lock, const char *token)
{
	char target[64];

	snprintf(target, sizeof(target), "/locks/%s", lock);
	return http(client, "DELETE", target, NULL, lock_token(token));
}

static struct answer with_token(const char *target, const char *token)
{
	return http(client, "POST", target, "{\"ttl_ms\":60000}", lock_token(token));
}

static void assert_still_held(const char *lock, const char *owner)
{
	char target[64];

	snprintf(target, sizeof(target), "/locks/%s", lock);
	struct answer a = http(client, "GET", target, NULL);
	assert_status(a, 200);
	assert_true(bool_at(a, "/held"));
	assert_string_equal(text_at(a, "/holders/0/owner"), owner);
	assert_int_equal(int_at(a, "/holders/0/holds"), 1);
	assert_in_range(int_at(a, "/ttl_ms"), 1, 30000);
}

static void assert_no_token(const char *lock, const char *token)
{
	char target[64], extend[64];

	snprintf(target, sizeof(target), "/locks/%s", lock);
	snprintf(extend, sizeof(extend), "/locks/%s/extend", lock);
	assert_problem(release(lock, token), 409, "not_holder", "none");
	assert_problem(with_token(extend, token), 409, "not_holder", "none");
	assert_problem(with_token(target, token), 409, "not_holder", "none");
}

SUITE(.open = set_up_all, .close = tear_down_all, .before = set_up);

TEST(test_wrong_token)
{
	assert_status(http(client, "POST", "/locks/a", "{\"owner\":\"holder\"}"), 201);
	struct answer other = http(client, "POST", "/locks/b", "{\"owner\":\"other\"}");
	assert_status(other, 201);
	assert_no_token("a", text_at(other, "/token"));
	for (size_t i = 0; i < NONSENSE; i++) {
		assert_problem(release("a", nonsense[i]), 409, "not_holder", "none");
	}
	assert_still_held("a", "holder");
	assert_still_held("b", "other");
}

TEST(test_no_token)
{
	assert_status(http(client, "POST", "/locks/a", "{\"owner\":\"holder\"}"), 201);
	assert_problem(http(client, "DELETE", "/locks/a", NULL), 400, "missing_field", "none");
	assert_still_held("a", "holder");
}

TEST(test_expired_token)
{
	struct answer first = http(client, "POST", "/locks/a", "{\"owner\":\"first\",\"ttl_ms\":30}");
	assert_status(first, 201);
	wait_until(!bool_at(http(client, "GET", "/locks/a", NULL), "/held"), 2000);
	assert_no_token("a", text_at(first, "/token"));
	assert_false(bool_at(http(client, "GET", "/locks/a", NULL), "/held"));
	struct answer second = http(client, "POST", "/locks/a", "{\"owner\":\"second\"}");
	assert_status(second, 201);
	assert_true(int_at(second, "/fence") > int_at(first, "/fence"));
	assert_no_token("a", text_at(first, "/token"));
	assert_still_held("a", "second");
}

TEST(test_used_token)
{
	struct answer first = http(client, "POST", "/locks/a", "{\"owner\":\"first\"}");
	struct answer entered = with_token("/locks/a", text_at(first, "/token"));
	assert_status(entered, 200);
	assert_int_equal(int_at(entered, "/holds"), 2);
	/* A repeated DELETE must not release an entry that it did not make. */
	assert_int_equal(int_at(release("a", text_at(entered, "/token")), "/holds"), 1);
	assert_int_equal(int_at(release("a", text_at(entered, "/token")), "/holds"), 1);
	assert_int_equal(int_at(release("a", text_at(first, "/token")), "/holds"), 0);
	assert_int_equal(int_at(release("a", text_at(first, "/token")), "/holds"), 0); /* the last release, repeated */
	assert_no_token("a", text_at(entered, "/token"));
	assert_status(http(client, "POST", "/locks/a", "{\"owner\":\"second\"}"), 201);
	assert_no_token("a", text_at(entered, "/token"));
	/* The last release, repeated, does not release the next holder's lock. */
	struct answer again = release("a", text_at(first, "/token"));
	assert_status(again, 200);
	assert_true(bool_at(again, "/held"));
	assert_still_held("a", "second");
}

/* ---- Sales ---- */

/* Returns a claim of 2 on a sale of 5. */
static const char *claimed(const char *sale)
{
	char target[64];

	snprintf(target, sizeof(target), "/sales/%s", sale);
	assert_int_equal(http(client, "PUT", target, "{\"stock\":5,\"hold_ms\":60000}").status / 100, 2);
	snprintf(target, sizeof(target), "/sales/%s/claims", sale);
	struct answer a = http(client, "POST", target, "{\"user\":\"u\",\"quantity\":2}");
	assert_status(a, 201);
	return text_at(a, "/claim");
}

static struct answer on_claim(const char *method, const char *sale, const char *claim_id, const char *what)
{
	char target[256];

	snprintf(target, sizeof(target), "/sales/%s/claims/%s%s", sale, claim_id, what);
	return http(client, method, target, NULL);
}

static void assert_held(const char *sale)
{
	char target[64];

	snprintf(target, sizeof(target), "/sales/%s", sale);
	struct answer a = http(client, "GET", target, NULL);
	assert_int_equal(int_at(a, "/held"), 2);
	assert_int_equal(int_at(a, "/confirmed"), 0);
	assert_int_equal(int_at(a, "/remaining"), 3);
}

TEST(test_nonsense_claims)
{
	claimed("a");
	for (size_t i = 0; i < NONSENSE; i++) {
		/* `..` is a reserved name. */
		struct answer a = on_claim("DELETE", "a", nonsense[i], "");
		assert_problem(a, a.status == 400 ? 400 : 404, NULL, "none");
		a = on_claim("POST", "a", nonsense[i], "/confirm");
		assert_problem(a, a.status == 400 ? 400 : 404, NULL, "none");
	}
	assert_problem(on_claim("POST", "a", "1.1", "/confirm"), 410, "claim_expired",
		       "none"); /* the text has the form of an expired claim */
	assert_held("a");
}

TEST(test_claim_of_another_sale)
{
	const char *of_b = claimed("b");
	claimed("a");
	assert_problem(on_claim("POST", "a", of_b, "/confirm"), 410, "claim_expired", "none");
	assert_problem(on_claim("DELETE", "a", of_b, ""), 410, "claim_expired", "none");
	assert_held("a");
	assert_held("b");
	assert_status(on_claim("DELETE", "b", of_b, ""), 204);
}

/* ---- The same claim twice at the same time ---- */

struct twin {
	pthread_t thread;
	pthread_barrier_t *start;
	const char *method, *target, *body, *header;
	int status;
};

static void *claim(void *arg)
{
	struct twin *t = arg;
	struct client *own = client_open(patternd.port);

	http(own, "GET", "/healthz", NULL); /* opens the connection before the start */
	pthread_barrier_wait(t->start);
	t->status = http(own, t->method, t->target, t->body, t->header).status;
	client_close(own);
	return NULL;
}

/* Returns how many of two concurrent tries got `status`. */
static int both(const char *method, const char *target, const char *body, const char *header, int status)
{
	pthread_barrier_t start;
	struct twin twins[2];
	int n = 0;

	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		twins[i] = (struct twin){
			.start = &start, .method = method, .target = target, .body = body, .header = header
		};
		assert_int_equal(pthread_create(&twins[i].thread, NULL, claim, &twins[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(twins[i].thread, NULL);
		n += twins[i].status == status;
	}
	pthread_barrier_destroy(&start);
	return n;
}

/* Sends one message and receives it. Returns its receipt. */
static const char *received(const char *queue)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/messages", queue);
	assert_status(http(client, "POST", target, "{\"body\":1,\"id\":\"m\"}"), 201);
	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	struct answer a = http(client, "POST", target, NULL);
	assert_status(a, 200);
	return text_at(a, "/messages/0/receipt");
}

TEST(test_twice_at_once)
{
	char target[512];

	for (int i = 0; i < 20; i++) {
		set_up(NULL);
		assert_int_equal(both("POST", "/locks/a", "{\"owner\":\"o\"}", "X-A: 1", 201), 1);
		/*
		 * One lock has two entries: each release that is sent twice releases one of them.
		 */
		const char *token = text_at(http(client, "POST", "/locks/b", NULL), "/token");
		const char *again = text_at(with_token("/locks/b", token), "/token");
		assert_int_equal(both("DELETE", "/locks/b", NULL, lock_token(token), 200), 2);
		assert_int_equal(int_at(http(client, "GET", "/locks/b", NULL), "/holders/0/holds"), 1);
		assert_int_equal(both("DELETE", "/locks/b", NULL, lock_token(again), 200), 2);
		snprintf(target, sizeof(target), "/queues/a/deliveries/%s/reject", received("a"));
		assert_int_equal(both("POST", target, "{\"delay_ms\":0}", "X-A: 1", 200), 1);
		assert_int_equal(int_at(http(client, "GET", "/queues/a", NULL), "/ready"), 1);
		/* One message, two receivers: both get an answer, and one gets the message. */
		assert_int_equal(both("POST", "/queues/a/receive", NULL, "X-A: 1", 200), 2);
		assert_int_equal(int_at(http(client, "GET", "/queues/a", NULL), "/in_flight"), 1);
		/*
		 * A claim that is released twice returns its quantity once. A claim that is
		 * confirmed twice answers both requests the same, and is sold once.
		 */
		snprintf(target, sizeof(target), "/sales/a/claims/%s", claimed("a"));
		assert_int_equal(both("DELETE", target, NULL, "X-A: 1", 204), 2);
		assert_int_equal(int_at(http(client, "GET", "/sales/a", NULL), "/held"), 0);
		snprintf(target, sizeof(target), "/sales/a/claims/%s/confirm", claimed("a"));
		assert_int_equal(both("POST", target, NULL, "X-A: 1", 200), 2);
		assert_int_equal(int_at(http(client, "GET", "/sales/a", NULL), "/confirmed"), 2);
		/*
		 * One key, one change, two requests: it happens once, and both get the same answer.
		 */
		assert_int_equal(both("POST", "/pv/p", "{\"by\":1}", "Idempotency-Key: twin", 200), 2);
		assert_int_equal(int_at(http(client, "GET", "/pv/p", NULL), "/count"), 1);
	}
}
