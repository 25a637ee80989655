/*
 * Queues over HTTP with consumers that retry, that crash, and that compete through two daemons for
 * one Redis. (What a queue is: test_queues.c, test_queues_deliveries.c.)
 */
#include <pthread.h>
#include <time.h>

#include "queue_asked.h"
#include "stride.h"

static struct answer post_delivery(const char *receipt, const char *verb, const char *body, const char *key_header)
{
	char tail[128];

	snprintf(tail, sizeof(tail), "/deliveries/%s%s", receipt, verb);
	return post(tail, body, key_header);
}

static bool is_reused(struct answer a)
{
	return problem_flaw(a, 422, "idempotency_key_reused", "none") == NULL;
}

/* ---- Retries ---- */

static void a_retried_send_sends_once(void **state)
{
	static const char batch[] =
		"{\"messages\":[{\"body\":1},{\"body\":2,\"delay_ms\":60000},{\"body\":3,\"id\":\"a\"}]}";

	(void)state;
	struct answer first = post("/messages", batch, KEY "one"), again = post("/messages", batch, KEY "\"one\"");
	assert_status(first, 201);
	assert_status(again, 201);
	assert_string_equal(again.body, first.body); /* its id is no duplicate of itself */
	assert_counts(2, 1, 0, 0);
	assert_true(is_reused(post("/messages", "{\"body\":1}", KEY "one")));
	assert_status(post("/messages", batch, KEY "two"), 201);
	assert_status(http(client, "POST", "/queues/other/messages", "{\"body\":1}", KEY "one"),
		      201); /* the retention of one queue */
	assert_counts(3, 2, 0, 0);
	/* A batch of duplicates alone changes nothing, and gets the same answer again. */
	for (int i = 0; i < 2; i++)
		assert_true(
			bool_at(post("/messages", "{\"body\":3,\"id\":\"a\"}", KEY "three"), "/messages/0/duplicate"));
}

static void a_retried_receive_gets_the_same_delivery(void **state)
{
	static const char two[] = "{\"limit\":2,\"visibility_ms\":60000}", moment[] = "{\"visibility_ms\":30}";

	(void)state;
	configure("{" AT_ONCE "}");
	struct answer first = post("/receive", two, KEY "one");
	assert_int_equal(count_in(first), 0); /* nothing was received: not recorded */
	send_body("{\"messages\":[{\"body\":1,\"id\":\"a\"},{\"body\":2,\"id\":\"b\"},{\"body\":3,\"id\":\"c\"}]}");
	first = post("/receive", two, KEY "one");
	assert_ids(first, IDS("a", "b"));
	for (int i = 0; i < 2; i++)
		assert_string_equal(post("/receive", two, KEY "one").body, first.body);
	assert_true(is_reused(post("/receive", NULL, KEY "one")));
	assert_counts(1, 0, 2, 0);
	struct answer other = post("/receive", moment, KEY "two");
	assert_ids(other, IDS("c"));
	/* An ended delivery is not returned again. */
	struct answer again;
	wait_until((again = post("/receive", moment, KEY "two"), count_in(again) == 0), SOON_MS);
	int64_t until_ms = int_at(other, "/messages/0/visible_until_ms");
	assert_true(redis_now_ms() + again.took_us / 1000 >= until_ms); /* Redis replied during the request */
	wait_until(redis_now_ms() >= until_ms, SOON_MS);
	assert_counts(1, 0, 2, 0);
	assert_ids(post("/receive", moment, KEY "three"), IDS("c"));
	/* The receipts of the retry are those of the first. */
	assert_status(acknowledge(receipt_in(post("/receive", two, KEY "one"))), 204);
	assert_problem(message("GET", "a", NULL), 404, "not_found", "none");
}

static void a_retried_extend_extends_once(void **state)
{
	static const char minute[] = "{\"visibility_ms\":60000}", moment[] = "{\"visibility_ms\":1}";

	(void)state;
	send_body("{\"body\":1,\"id\":\"a\"}");
	const char *receipt = receipt_in(receive(NULL));
	struct answer first = post_delivery(receipt, "/extend", minute, KEY "one");
	assert_status(first, 200);
	struct answer longer = post_delivery(receipt, "/extend", "{\"visibility_ms\":90000}", KEY "two");
	assert_string_equal(post_delivery(receipt, "/extend", minute, KEY "one").body, longer.body); /* as it is now */
	assert_int_equal(int_at(message("GET", "a", NULL), "/visible_until_ms"), int_at(longer, "/visible_until_ms"));
	assert_true(is_reused(post_delivery(receipt, "/extend", NULL, KEY "one")));
	assert_status(post_delivery(receipt, "/extend", moment, KEY "three"), 200);
	wait_until(count_of("/ready") == 1, SOON_MS);
	assert_problem(post_delivery(receipt, "/extend", moment, KEY "three"), 410, "receipt_expired", "applied");
	assert_problem(post_delivery(receipt, "/extend", moment, KEY "four"), 410, "receipt_expired", "none");
}

static void a_retried_reject_rejects_once(void **state)
{
	(void)state;
	configure("{" AT_ONCE "}");
	send_body("{\"body\":1,\"id\":\"a\"}");
	const char *receipt = receipt_in(receive(NULL));
	struct answer first = post_delivery(receipt, "/reject", NULL, KEY "one");
	assert_status(first, 200);
	assert_int_equal(int_at(receive(NULL), "/messages/0/receives"), 2);
	assert_string_equal(post_delivery(receipt, "/reject", NULL, KEY "one").body, first.body);
	assert_counts(0, 0, 1, 0);
	assert_problem(post_delivery(receipt, "/reject", NULL, KEY "two"), 410, "receipt_expired", "none");
	assert_true(is_reused(post_delivery(receipt, "/reject", "{}", KEY "one")));
}

static void a_retried_change_changes_once(void **state)
{
	static const char target[] = "/queues/q/messages/a", low[] = "{\"priority\":9}";

	(void)state;
	send_body("{\"body\":1,\"id\":\"a\"}");
	struct answer first = http(client, "PATCH", target, low, KEY "one");
	assert_status(first, 200);
	assert_status(message("PATCH", "a", "{\"priority\":0}"), 200);
	assert_string_equal(http(client, "PATCH", target, low, KEY "one").body, first.body);
	assert_int_equal(int_at(message("GET", "a", NULL), "/priority"), 0);
	assert_true(is_reused(http(client, "PATCH", target, "{\"priority\":8}", KEY "one")));
}

/*
 * Over several steps, too: the total is that of the first time, and messages that came meanwhile
 * stay.
 */
static void a_retried_purge_or_redrive_is_done_once(void **state)
{
	(void)state;
	assert_int_equal(int_at(post("/purge", NULL, KEY "one"), "/purged"), 0); /* nothing was done: not recorded */
	send_many(1200, "");
	assert_int_equal(int_at(post("/purge", NULL, KEY "one"), "/purged"), 1200);
	send_body("{\"body\":1,\"id\":\"a\"}");
	assert_int_equal(int_at(post("/purge", NULL, KEY "one"), "/purged"), 1200);
	assert_counts(1, 0, 0, 0);
	assert_true(is_reused(post("/purge", "{\"state\":\"ready\"}", KEY "one")));

	assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
	assert_int_equal(int_at(post("/redrive", NULL, KEY "one"), "/redriven"), 1);
	assert_status(reject(receipt_in(receive(NULL)), "{\"dead\":true}"), 200);
	assert_int_equal(int_at(post("/redrive", NULL, KEY "one"), "/redriven"), 1);
	assert_counts(0, 0, 0, 1);
	assert_true(is_reused(post("/redrive", "{}", KEY "one")));
}

/* ---- Crashes ---- */

/*
 * All state of a delivery is in Redis: a killed daemon loses nothing, and any other may end the
 * delivery.
 */
static void a_killed_daemon_loses_no_message(void **state)
{
	static const char receive_both[] = "{\"limit\":2,\"visibility_ms\":1500}";
	struct daemon doomed = { 0 };
	struct answer again;

	(void)state;
	daemon_start(&doomed, "--redis", redis.url);
	struct client *consumer = client_open(doomed.port);
	send_body("{\"messages\":[{\"body\":\"a\",\"id\":\"a\"},{\"body\":\"b\",\"id\":\"b\"}]}");
	struct answer taken = http(consumer, "POST", "/queues/q/receive", receive_both, KEY "one");
	assert_ids(taken, IDS("a", "b"));
	daemon_kill(&doomed);
	assert_int_equal(http(consumer, "DELETE", "/queues/q", NULL).status, 0);
	assert_string_equal(post("/receive", receive_both, KEY "one").body, taken.body);
	assert_int_equal(count_in(receive("{\"limit\":10}")), 0);
	assert_status(acknowledge(receipt_in(taken)), 204); /* the first was acknowledged, the second never */
	wait_until((again = receive("{\"limit\":10}"), count_in(again) > 0), SOON_MS);
	assert_ids(again, IDS("b"));
	assert_string_equal(text_at(again, "/messages/0/body"), "b");
	assert_int_equal(int_at(again, "/messages/0/receives"), 2);
	assert_true(int_at(again, "/messages/0/visible_until_ms") - VISIBILITY_MS >=
		    int_at(taken, "/messages/1/visible_until_ms"));
	assert_problem(acknowledge(text_at(taken, "/messages/1/receipt")), 410, "receipt_expired", "none");
	assert_status(acknowledge(receipt_in(again)), 204);
	assert_counts(0, 0, 0, 0);
	client_close(consumer);
}

/* ---- Competing consumers ---- */

/*
 * Each delivery is recorded with the time during which its consumer could rely on it, by the clock
 * of this machine, which is also Redis's. The record is checked at the end: no two such times of
 * one message may overlap.
 */
enum { RIVALS = 4, MESSAGES = 500, ENTRIES_MAX = 4000, RIVALRY_MS = 40000, MOMENT_MS = 20 };

struct entry {
	int message, receives;
	bool done; /* acknowledged: 204 */
	int64_t from_ms, until_ms;
};

struct rival {
	struct client *client;
	struct entry book[ENTRIES_MAX];
	int count, faults;
	bool drained;
};

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Every third message is rejected at its first delivery; a short delivery is left to expire; the
 * rest is acknowledged. No assertion here: they end the test, and only the main thread may.
 */
static void work_on(struct rival *r, const json_t *m, int visibility_ms, bool is_left)
{
	char target[128];
	int64_t until_ms = json_integer_value(json_object_get(m, "visible_until_ms"));

	if (r->count == ENTRIES_MAX) {
		r->faults++;
		return;
	}
	struct entry *e = &r->book[r->count++];
	*e = (struct entry){ .message = (int)json_integer_value(json_object_get(m, "body")),
			     .receives = (int)json_integer_value(json_object_get(m, "receives")),
			     .from_ms = until_ms - visibility_ms,
			     .until_ms = until_ms };
	if (is_left)
		return;
	bool is_rejected = e->receives == 1 && e->message % 3 == 0;
	snprintf(target, sizeof(target), "/queues/q/deliveries/%s%s", json_string_value(json_object_get(m, "receipt")),
		 is_rejected ? "/reject" : "");
	e->until_ms = clock_ms(); /* from here on, another consumer may have it */
	e->done = !is_rejected;
	if (http(r->client, is_rejected ? "POST" : "DELETE", target, NULL).status != (is_rejected ? 200 : 204))
		r->faults++;
}

static void *consume(void *arg)
{
	struct rival *r = arg;
	int64_t stop_ms = monotonic_ms() + patience_ms(RIVALRY_MS);

	for (int turn = 0; !r->drained && monotonic_ms() < stop_ms; turn++) {
		bool is_left = turn % 5 == 4;
		int visibility_ms = is_left ? MOMENT_MS : VISIBILITY_MS;
		char body[64];
		snprintf(body, sizeof(body), "{\"limit\":%d,\"visibility_ms\":%d}", 1 + turn % 7, visibility_ms);
		struct answer a = http(r->client, "POST", "/queues/q/receive", body);
		const json_t *list = json_at(a, "/messages");
		r->faults += a.status != 200;
		for (size_t i = 0; i < json_array_size(list); i++)
			work_on(r, json_array_get(list, i), visibility_ms, is_left);
		if (json_array_size(list) > 0)
			continue;
		a = http(r->client, "GET", "/queues/q", NULL);
		r->drained =
			json_integer_value(json_at(a, "/ready")) + json_integer_value(json_at(a, "/in_flight")) == 0;
	}
	return NULL;
}

static int by_message_and_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->message != y->message)
		return x->message - y->message;
	return x->receives - y->receives;
}

static void assert_book(struct entry *book, size_t count, int messages)
{
	size_t at = 0;

	qsort(book, count, sizeof(*book), by_message_and_time);
	for (int message_no = 1; message_no <= messages; message_no++) {
		int receives = 0, done = 0;
		int64_t free_ms = 0;
		for (; at < count && book[at].message == message_no; at++) {
			assert_int_equal(book[at].receives, ++receives);
			assert_true(book[at].from_ms >= free_ms);
			free_ms = book[at].until_ms;
			done += book[at].done;
		}
		assert_int_equal(done, 1);
		assert_true(book[at - 1].done); /* and nothing came after it */
	}
	assert_int_equal(at, count);
}

static void rivals_never_share_a_delivery(void **state)
{
	struct daemon other = { 0 };
	struct rival *rivals = calloc(RIVALS, sizeof(*rivals));
	struct entry *book = calloc(RIVALS, sizeof(rivals->book));
	pthread_t threads[RIVALS];
	const int messages = MESSAGES / stride();
	size_t count = 0;

	(void)state;
	assert_non_null(rivals);
	assert_non_null(book);
	daemon_start(&other, "--redis", redis.url);
	configure("{\"max_receives\":1000," AT_ONCE "}");
	send_many(messages, "");
	for (int i = 0; i < RIVALS; i++) {
		rivals[i].client = client_open(i % 2 ? other.port : patternd.port);
		assert_int_equal(pthread_create(&threads[i], NULL, consume, &rivals[i]), 0);
	}
	for (int i = 0; i < RIVALS; i++) {
		pthread_join(threads[i], NULL);
		client_close(rivals[i].client);
		memcpy(book + count, rivals[i].book, (size_t)rivals[i].count * sizeof(*book));
		count += (size_t)rivals[i].count;
	}
	for (int i = 0; i < RIVALS; i++) {
		assert_int_equal(rivals[i].faults, 0);
		assert_true(rivals[i].drained);
	}
	assert_true(count >= (size_t)(messages + messages / 3));
	assert_book(book, count, messages);
	assert_counts(0, 0, 0, 0);
	free(rivals);
	free(book);
	daemon_stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_retried_send_sends_once, forget_all),
		cmocka_unit_test_teardown(a_retried_receive_gets_the_same_delivery, forget_all),
		cmocka_unit_test_teardown(a_retried_extend_extends_once, forget_all),
		cmocka_unit_test_teardown(a_retried_reject_rejects_once, forget_all),
		cmocka_unit_test_teardown(a_retried_change_changes_once, forget_all),
		cmocka_unit_test_teardown(a_retried_purge_or_redrive_is_done_once, forget_all),
		cmocka_unit_test_teardown(a_killed_daemon_loses_no_message, forget_all),
		cmocka_unit_test_teardown(rivals_never_share_a_delivery, forget_all),
	};

	return cmocka_run_group_tests_name("queue consumers", tests, start, stop);
}
