/*
 * Waiting for the end of a message, over two daemons: GET of a message with wait_ms, and a send
 * with wait_result_ms. (Results: test_queues_results.c.)
 */
#include "exchange.h"
#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { SOON_MS = 5000, CROWD = 10, SIDES = 2, MANY = 1000, BATCH = 100 };

#define Q "/queues/q"
#define M Q "/messages"
#define LONG_WAIT "?wait_ms=20000"
#define RESULT "{\"complete\":[{\"receipt\":\"%s\",\"result\":{\"sum\":1.10}}]}"

static struct daemon other; /* beside patternd, on the same Redis */
static struct raw *crowd[SIDES * CROWD];
static char receipt[64];

static int open_both(void **state)
{
	stage_open(state);
	daemon_start(&other, "--redis", redis.url);
	return 0;
}

static int close_both(void **state)
{
	daemon_stop(&other);
	return stage_close(state);
}

static void keep_results(void)
{
	assert_status(http(client, "PATCH", Q, "{\"result_ms\":60000,\"backoff\":{\"base_ms\":0,\"max_ms\":0}}"), 200);
}

static void send(const char *body)
{
	assert_status(post(M, body), 201);
}

static void receive(void)
{
	struct answer a = post(Q "/receive", NULL);

	assert_status(a, 200);
	snprintf(receipt, sizeof(receipt), "%s", text_at(a, "/messages/0/receipt"));
}

static struct answer complete(void)
{
	char body[160];

	snprintf(body, sizeof(body), RESULT, receipt);
	return post(Q "/settle", body);
}

static struct answer reject(const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), Q "/deliveries/%s/reject", receipt);
	return post(target, body);
}

/* ---- Clients that wait ---- */

static struct raw *asks_for(const struct daemon *d, const char *target)
{
	struct raw *r = raw_connect(d->port);
	char text[256];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
	assert_true(raw_text(r, text));
	return r;
}

static struct answer answer_of(struct raw *r, const char *target)
{
	struct answer a = raw_answer(r, SOON_MS);

	exchange_record("GET", target, a);
	return a;
}

/* Waits until both daemons have subscribed and have looked once after that. */
static void wait_until_parked(long here, long there)
{
	wait_until(all_parked(&patternd, here) && all_parked(&other, there), SOON_MS);
	nap_ms(20);
	wait_until(all_parked(&patternd, here) && all_parked(&other, there), SOON_MS);
}

/* Lets `count` clients wait for message a at each of the first `sides` daemons. */
static void gather(int count, int sides)
{
	for (int i = 0; i < sides * count; i++)
		crowd[i] = asks_for(i % sides ? &other : &patternd, M "/a" LONG_WAIT);
	wait_until(waiting_at(&patternd) >= count, SOON_MS);
	wait_until_parked(waiting_at(&patternd), sides == SIDES ? count : 0);
}

static int answered(int count)
{
	int n = 0;

	for (int i = 0; i < count; i++)
		n += waiter_is_answered(crowd[i]);
	return n;
}

static void close_all(int count)
{
	for (int i = 0; i < count; i++)
		raw_close(crowd[i]);
	wait_until(waiting_at(&patternd) == 0 && waiting_at(&other) == 0, SOON_MS);
}

/* Returns how many fields in Redis register daemons at messages. */
static long registered(void)
{
	static const char count[] = "local n = 0 for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do "
				    "n = n + (name:find('^%d+w$') and 1 or 0) end return n";

	return (long)server_command(&redis, "EVAL %s 1 p:queue:{q}", count)->integer;
}

/* ---- The result comes ---- */

SUITE(.open = open_both, .close = close_both, .after = stage_forget);

/* However many clients wait, an end costs the settle and one script per daemon. */
TEST(an_end_costs_a_script_a_daemon)
{
	static const int counts[] = { 1, CROWD };

	if (redis.cluster)
		skip(); /* scripts are counted at one server */
	for (int sides = 1; sides <= SIDES; sides++)
		for (size_t i = 0; i < COUNT(counts); i++) {
			int total = sides * counts[i];
			keep_results();
			send("{\"id\":\"a\",\"body\":1}");
			receive();
			gather(counts[i], sides);
			assert_int_equal(registered(), 1);
			long long scripts = server_scripts_run(&redis), commands = server_commands_run(&redis);
			nap_ms(50); /* the daemons must send nothing in this time */
			assert_int_equal(server_commands_run(&redis), commands);
			assert_status(complete(), 200);
			wait_until(answered(total) == total, SOON_MS);
			assert_int_equal(server_scripts_run(&redis) - scripts, 1 + sides);
			for (int k = 0; k < total; k++) {
				struct answer a = answer_of(crowd[k], M "/a" LONG_WAIT);
				assert_status(a, 200);
				assert_non_null(strstr(a.body, "\"result\":{\"sum\":1.10}"));
				assert_string_equal(text_at(a, "/state"), "done");
			}
			close_all(total);
			assert_int_equal(registered(), 0);
			stage_forget(NULL);
		}
}

/* Each of a thousand waiters gets the result of its own message, though a hundred end at once. */
TEST(each_gets_its_own)
{
	static struct raw *many[MANY];
	char *body = malloc(BATCH * 128), target[64];

	assert_non_null(body);
	keep_results();
	for (int i = 0; i < MANY; i += BATCH) {
		char *at = body + sprintf(body, "{\"messages\":[");
		for (int k = i; k < i + BATCH; k++)
			at += sprintf(at, "%s{\"id\":\"m%d\",\"body\":%d}", k > i ? "," : "", k, k);
		strcpy(at, "]}");
		send(body);
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(target, sizeof(target), M "/m%d" LONG_WAIT, i);
		many[i] = asks_for(&patternd, target);
	}
	wait_until_parked(MANY, 0);
	for (int i = 0; i < MANY; i += BATCH) {
		struct answer a = post(Q "/receive", "{\"limit\":100}");
		char *at = body + sprintf(body, "{\"complete\":[");
		size_t k;
		json_t *m;
		json_array_foreach(json_at(a, "/messages"), k, m) {
			at += sprintf(at, "%s{\"receipt\":\"%s\",\"result\":%d}", k ? "," : "",
				      json_string_value(json_object_get(m, "receipt")),
				      (int)json_integer_value(json_object_get(m, "body")));
		}
		strcpy(at, "]}");
		assert_status(post(Q "/settle", body), 200);
	}
	for (int i = 0; i < MANY; i++) {
		struct answer a = answer_of(many[i], M "/m1" LONG_WAIT);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/result"), i);
		raw_close(many[i]);
	}
	assert_int_equal(registered(), 0);
	free(body);
}

/* ---- Other ends ---- */

static void it_dies(void)
{
	receive();
	assert_status(reject("{\"dead\":true,\"reason\":\"broken\"}"), 200);
}

static void it_is_cancelled(void)
{
	assert_status(http(client, "DELETE", M "/a", NULL), 204);
}

static void it_is_purged(void)
{
	assert_status(post(Q "/purge", "{\"state\":\"ready\"}"), 200);
}

static void the_queue_is_deleted(void)
{
	assert_status(http(client, "DELETE", Q, NULL), 204);
}

static void it_is_acknowledged(void)
{
	char target[128];

	receive();
	snprintf(target, sizeof(target), Q "/deliveries/%s", receipt);
	assert_status(http(client, "DELETE", target, NULL), 204);
}

static void it_is_taken(void)
{
	assert_status(post(Q "/receive", "{\"acknowledge\":true}"), 200);
}

TEST(every_end_wakes_both_daemons)
{
	static const struct {
		void (*end)(void);
		int status;
		const char *state;
	} rows[] = {
		{ it_dies, 200, "dead" },
		{ it_is_cancelled, 404, NULL },
		{ it_is_purged, 404, NULL },
		{ the_queue_is_deleted, 404, NULL },
		{ it_is_acknowledged, 200, "done" },
		{ it_is_taken, 200, "done" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		keep_results();
		send("{\"id\":\"a\",\"body\":1}");
		gather(2, SIDES);
		assert_int_equal(answered(4), 0);
		rows[i].end();
		for (int k = 0; k < 4; k++) {
			struct answer a = answer_of(crowd[k], M "/a" LONG_WAIT);
			assert_status(a, rows[i].status);
			if (rows[i].state)
				assert_string_equal(text_at(a, "/state"), rows[i].state);
		}
		close_all(4);
		stage_forget(NULL);
	}
}

/*
 * When time alone ends a message, no script runs that could report it. The daemon looks when the
 * last visibility or the ttl_ms ends.
 */
TEST(time_alone_ends_it)
{
	keep_results();
	send("{\"id\":\"a\",\"body\":1,\"max_receives\":1}");
	assert_status(post(Q "/receive", "{\"visibility_ms\":800}"), 200);
	gather(1, 1);
	struct answer a = answer_of(crowd[0], M "/a" LONG_WAIT);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/state"), "dead");
	close_all(1);
	stage_forget(NULL);
	keep_results();
	send("{\"id\":\"a\",\"body\":1,\"ttl_ms\":800}");
	gather(1, 1);
	assert_status(answer_of(crowd[0], M "/a" LONG_WAIT), 404);
	close_all(1);
}

TEST(when_its_time_has_passed_it_is_as_it_is)
{
	keep_results();
	send("{\"id\":\"a\",\"body\":{\"n\":1}}");
	struct answer a = get(M "/a?wait_ms=50");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/state"), "ready");
	assert_int_equal(int_at(a, "/body/n"), 1);
	assert_status(get(M "/b?wait_ms=20000"), 404); /* at once */
	receive();
	assert_status(reject("{\"dead\":true}"), 200);
	assert_string_equal(text_at(get(M "/a?wait_ms=20000"), "/state"), "dead"); /* message a has ended */
	assert_problem(get(M "/a?wait_ms=60001"), 400, "out_of_range", "none");
}

TEST(only_where_results_are_kept)
{
	send("{\"id\":\"a\",\"body\":1}");
	struct answer a = get(M "/a?wait_ms=1000");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "?wait_ms");
	assert_non_null(strstr(text_at(a, "/detail"), "result_ms"));
	assert_status(get(M "/a?wait_ms=0"), 200);
	a = post(M, "{\"id\":\"b\",\"body\":1,\"wait_result_ms\":1000}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/wait_result_ms");
	assert_non_null(strstr(text_at(a, "/detail"), "result_ms"));
	assert_status(get(M "/b"), 404);
	assert_int_equal(waiting_at(&patternd), 0);
}

/* After it has subscribed again, the daemon finds the messages that ended before that. */
TEST(a_lost_subscription_loses_no_end)
{
	if (redis.cluster)
		skip(); /* connections are killed at one server */
	keep_results();
	send("{\"id\":\"a\",\"body\":1}");
	receive();
	gather(2, SIDES);
	server_command(&redis, "CLIENT KILL TYPE pubsub");
	assert_status(complete(), 200);
	for (int k = 0; k < 4; k++)
		assert_status(answer_of(crowd[k], M "/a" LONG_WAIT), 200);
	close_all(4);
}

/*
 * A later waiter looks once more although its daemon is subscribed, and the daemon stays registered
 * for as long as this waiter may wait.
 */
TEST(a_later_waiter_may_wait_longer)
{
	keep_results();
	send("{\"id\":\"a\",\"body\":1}");
	receive();
	struct raw *first = asks_for(&patternd, M "/a?wait_ms=500");
	wait_until_parked(1, 0);
	gather(1, 1);
	assert_string_equal(text_at(answer_of(first, M "/a?wait_ms=500"), "/state"), "in_flight");
	raw_close(first);
	assert_status(complete(), 200);
	assert_status(answer_of(crowd[0], M "/a" LONG_WAIT), 200);
	close_all(1);
}

TEST(a_client_that_leaves_leaves_nothing)
{
	keep_results();
	send("{\"id\":\"a\",\"body\":1}");
	receive();
	gather(2, SIDES);
	for (int i = 0; i < 4; i += 2) /* at the first daemon */
		raw_reset(crowd[i]);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
	assert_status(complete(), 200);
	for (int i = 1; i < 4; i += 2) {
		assert_status(answer_of(crowd[i], M "/a" LONG_WAIT), 200);
		raw_close(crowd[i]);
	}
	assert_int_equal(registered(), 0);
}

/* ---- Request and reply ---- */

static struct raw *ask(const char *body, const char *headers)
{
	return waiter_at(&patternd, M, body, headers);
}

#define REQUEST "{\"body\":{\"n\":2},\"wait_result_ms\":20000}"

TEST(a_request_gets_its_reply)
{
	keep_results();
	for (int with_id = 0; with_id < 2; with_id++) {
		struct raw *r = ask(with_id ? "{\"id\":\"a\",\"body\":1,\"wait_result_ms\":20000}" : REQUEST, "");
		wait_until(all_parked(&patternd, 1), SOON_MS);
		receive();
		assert_status(complete(), 200);
		struct answer a = waiter_answer(r, M, SOON_MS);
		assert_status(a, 201);
		assert_non_null(header_of(a, "Location"));
		assert_string_equal(text_at(a, "/messages/0/state"), "done");
		assert_non_null(strstr(a.body, "\"result\":{\"sum\":1.10}"));
		assert_true(json_is_false(json_at(a, "/messages/0/duplicate")));
		raw_close(r);
	}
	/* A send with the same id gets the stored result at once. */
	struct answer a = post(M, "{\"id\":\"a\",\"body\":3,\"wait_result_ms\":20000}");
	assert_status(a, 200);
	assert_true(json_is_true(json_at(a, "/messages/0/duplicate")));
	assert_non_null(strstr(a.body, "\"result\":{\"sum\":1.10}"));
	assert_null(json_at(post(M, "{\"id\":\"a\",\"body\":3}"), "/messages/0/state"));
}

TEST(a_request_without_a_reply_gets_the_state)
{
	static const struct {
		void (*end)(void);
		const char *state;
	} rows[] = { { receive, "in_flight" }, { it_dies, "dead" }, { it_is_cancelled, NULL } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		keep_results();
		struct raw *r = ask("{\"id\":\"a\",\"body\":1,\"wait_result_ms\":500}", "");
		wait_until(get(M "/a").status == 200, SOON_MS);
		rows[i].end();
		struct answer a = waiter_answer(r, M, SOON_MS);
		assert_status(a, 201);
		assert_null(json_at(a, "/messages/0/result"));
		if (rows[i].state)
			assert_string_equal(text_at(a, "/messages/0/state"), rows[i].state);
		else
			assert_true(json_is_null(json_at(a, "/messages/0/state")));
		if (i == 1)
			assert_string_equal(text_at(a, "/messages/0/reason"), "broken");
		raw_close(r);
		stage_forget(NULL);
	}
}

TEST(a_request_of_several_cannot_wait)
{
	keep_results();
	assert_problem(post(M, "{\"messages\":[{\"body\":1}],\"wait_result_ms\":1000}"), 400, "invalid_value", "none");
	assert_problem(post(M, "{\"body\":1,\"wait_result_ms\":60001}"), 400, "out_of_range", "none");
}

/* A replay returns the same message, and waits for its end like the first request. */
TEST(a_replay_waits_again)
{
	static const char key[] = "Idempotency-Key: one\r\n";

	keep_results();
	struct raw *first = ask(REQUEST, key);
	wait_until(all_parked(&patternd, 1), SOON_MS);
	struct answer a = http(client, "POST", M, REQUEST, "Idempotency-Key: one");
	assert_problem(a, 409, "request_in_progress", "none");
	raw_reset(first);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
	struct raw *again = ask(REQUEST, key);
	wait_until(all_parked(&patternd, 1), SOON_MS);
	receive();
	assert_status(complete(), 200);
	a = waiter_answer(again, M, SOON_MS);
	assert_status(a, 201);
	assert_string_equal(header_of(a, "Idempotent-Replayed"), "true");
	assert_non_null(strstr(a.body, "\"result\":{\"sum\":1.10}"));
	assert_int_equal(int_at(get(Q), "/sent"), 1);
	raw_close(again);
}
