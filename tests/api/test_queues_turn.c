/*
 * A worker's turn in one request: the `settle` of a receive ends deliveries first, and exactly
 * once, however long the request waits and however it ends.
 */
#include <signal.h>

#include "queue_stage.h"
#include "waiter.h"

static char receipts[BATCH][64];

/* Keeps the receipts of the `count` messages in an answer. */
static void keep_receipts(struct answer a, int count)
{
	char pointer[64];

	assert_int_equal(count_in(a), count);
	for (int i = 0; i < count; i++) {
		snprintf(pointer, sizeof(pointer), "/messages/%d/receipt", i);
		snprintf(receipts[i], sizeof(receipts[i]), "%s", text_at(a, pointer));
	}
}

static void deliver(int count)
{
	char body[64];

	send_many(count, "");
	snprintf(body, sizeof(body), "{\"limit\":%d}", count);
	keep_receipts(receive(body), count);
}

/* In the text, $1 is replaced by the first receipt, and so on. */
static const char *with_receipts(const char *text)
{
	static char body[4096];
	size_t len = 0;

	for (; *text; text++) {
		bool is_receipt = *text == '$';
		len += (size_t)snprintf(body + len, sizeof(body) - len, "%.*s", is_receipt ? -1 : 1,
					is_receipt ? receipts[*++text - '1'] : text);
	}
	return body;
}

static struct answer turn(const char *text, const char *key_header)
{
	return post("/receive", with_receipts(text), key_header);
}

static void assert_outcomes(struct answer a, const char *wanted)
{
	char got[256] = "";
	size_t i;
	json_t *row;

	assert_status(a, 200);
	json_array_foreach(json_at(a, "/deliveries"), i, row) {
		size_t len = strlen(got);
		snprintf(got + len, sizeof(got) - len, "%s%s", i ? " " : "",
			 json_string_value(json_object_get(row, "outcome")));
	}
	assert_string_equal(got, wanted);
}

static void assert_unreceived(struct answer a, const char *outcomes, const char *code, const char *effect)
{
	assert_outcomes(a, outcomes);
	assert_int_equal(count_in(a), 0);
	assert_string_equal(text_at(a, "/unreceived/code"), code);
	assert_string_equal(text_at(a, "/unreceived/effect"), effect);
}

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(it_settles_then_receives)
{
	configure("{\"result_ms\":60000," AT_ONCE "}");
	deliver(4);
	send_body("{\"body\":5,\"priority\":9}");
	struct answer a = turn("{\"limit\":5,\"settle\":{\"reject\":[{\"receipt\":\"$1\",\"reason\":\"busy\"},"
			       "{\"receipt\":\"$2\",\"dead\":true}],\"acknowledge\":[\"$3\",\"$3\"],"
			       "\"complete\":[{\"receipt\":\"$4\",\"result\":1.10}]}}",
			       NULL);
	assert_outcomes(a, "acknowledged acknowledged acknowledged rejected rejected");
	assert_string_equal(text_at(a, "/deliveries/0/receipt"), receipts[2]);
	assert_true(bool_at(a, "/deliveries/2/result_stored"));
	assert_string_equal(text_at(a, "/deliveries/4/receipt"), receipts[1]);
	/* A rejected message is due at once, and the same request receives it. */
	assert_int_equal(count_in(a), 2);
	assert_int_equal(int_at(a, "/messages/0/body"), 1);
	assert_int_equal(int_at(a, "/messages/0/receives"), 2);
	assert_int_equal(int_at(a, "/messages/1/body"), 5);
	assert_null(json_object_get(a.json, "unreceived"));
	assert_counts(0, 0, 2, 1);
	assert_outcomes(turn("{\"settle\":{\"acknowledge\":[\"$3\"],\"reject\":[{\"receipt\":\"$4\"}]}}", NULL),
			"acknowledged not_current");
}

TEST(a_first_turn_settles_nothing)
{
	static const char *const nothing[] = { "{\"settle\":{}}", "{\"settle\":{\"acknowledge\":[]}}",
					       "{\"settle\":{\"acknowledge\":[],\"complete\":[],\"reject\":[]}}" };

	for (size_t i = 0; i < COUNT(nothing); i++) {
		send_many(1, "");
		struct answer a = turn(nothing[i], NULL);
		assert_outcomes(a, "");
		assert_int_equal(count_in(a), 1);
	}
	assert_null(json_object_get(turn("{}", NULL).json, "deliveries"));
}

/* One invalid entry stops the whole request: nothing is settled, and nothing is received. */
TEST(one_that_is_wrong_stops_all)
{
	static const struct {
		const char *body, *code, *pointer;
	} rows[] = {
		{ "{\"acknowledge\":[\"$1\",\"$3\"]}", "invalid_receipt", "/settle/acknowledge/1" },
		{ "{\"acknowledge\":[\"$1\"],\"complete\":[{\"receipt\":\"$2\",\"result\":1},{\"receipt\":\"$3\","
		  "\"result\":1}]}",
		  "invalid_receipt", "/settle/complete/1/receipt" },
		{ "{\"acknowledge\":[\"$1\"],\"reject\":[{\"receipt\":\"$2\"},{\"receipt\":\"$3\"}]}",
		  "invalid_receipt", "/settle/reject/1/receipt" },
		{ "{\"acknowledge\":[\"$1\"],\"reject\":[{\"receipt\":\"$2\",\"dead\":true,\"delay_ms\":1}]}",
		  "invalid_value", "/settle/reject/0/delay_ms" },
	};
	char body[256];

	assert_status(http(client, "POST", "/queues/other/messages", "{\"body\":1}"), 201);
	deliver(2);
	send_many(1, "");
	snprintf(receipts[2], sizeof(receipts[2]), "%s",
		 receipt_in(http(client, "POST", "/queues/other/receive", NULL)));
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"wait_ms\":20000,\"settle\":%s}", rows[i].body);
		struct answer a = turn(body, NULL);
		assert_problem(a, 400, rows[i].code, "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), rows[i].pointer);
		assert_counts(1, 0, 2, 0);
	}
	assert_problem(turn("{\"acknowledge\":true,\"visibility_ms\":1,\"settle\":{\"acknowledge\":[\"$1\"]}}", NULL),
		       400, "invalid_value", "none");
	assert_counts(1, 0, 2, 0);
}

/* ---- Waiting ---- */

#define REJECTS "\"settle\":{\"reject\":[{\"receipt\":\"$1\",\"delay_ms\":60000}],\"acknowledge\":[\"$2\"]}"
#define WAITS "{\"wait_ms\":20000,\"limit\":9," REJECTS "}"

static struct raw *parked_turn(const char *headers)
{
	return waiter_parked_with(&patternd, &redis, "q", with_receipts(WAITS), headers);
}

/* An attempt that settled again would find a delivery that has ended. */
TEST(later_attempts_do_not_settle)
{
	deliver(2);
	struct raw *w = parked_turn("");
	assert_counts(0, 1, 0, 0);
	for (int i = 0; i < 3; i++) {
		wake_waiters(&redis, "p:queue:{q}");
		wait_until(all_parked(&patternd, 1), SOON_MS);
	}
	long settled = metric_of(&patternd, "queue_events_total{queue=\"q\",event=\"acknowledged\"}");
	send_many(1, "");
	struct answer a = waiter_answer(w, "/queues/q/receive", SOON_MS);
	assert_outcomes(a, "acknowledged rejected");
	assert_int_equal(count_in(a), 1);
	assert_int_equal(metric_of(&patternd, "queue_events_total{queue=\"q\",event=\"acknowledged\"}"), settled);
	raw_close(w);
}

TEST(a_client_that_leaves_has_settled)
{
	deliver(2);
	struct raw *w = parked_turn("");
	raw_reset(w);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
	assert_counts(0, 1, 0, 0);
	assert_status(acknowledge(receipts[1]), 204);
	send_many(1, "");
	assert_counts(1, 1, 0, 0);
	assert_int_equal(count_in(receive(NULL)), 1);
}

TEST(the_end_of_the_wait_has_the_outcomes)
{
	deliver(2);
	struct answer a = turn("{\"wait_ms\":30," REJECTS "}", NULL);
	assert_outcomes(a, "acknowledged rejected");
	assert_int_equal(count_in(a), 0);
	assert_null(json_object_get(a.json, "unreceived"));
}

/* ---- An Idempotency-Key ---- */

TEST(both_parts_are_replayed)
{
	static const char body[] = "{\"limit\":2,\"settle\":{\"reject\":[{\"receipt\":\"$1\",\"delay_ms\":60000}]}}";

	deliver(1);
	send_many(2, "");
	struct answer first = turn(body, KEY "one");
	assert_outcomes(first, "rejected");
	assert_int_equal(count_in(first), 2);
	send_many(2, "");
	assert_string_equal(turn(body, KEY "one").body, first.body);
	assert_counts(2, 1, 2, 0);
	assert_problem(turn("{\"settle\":{\"reject\":[{\"receipt\":\"$1\"}]}}", KEY "one"), 422,
		       "idempotency_key_reused", "none");
	assert_counts(2, 1, 2, 0);
	assert_outcomes(turn(body, KEY "two"), "not_current");
}

/* The first request settled, but never received a message. */
TEST(a_retry_while_it_waits_and_after_it_left)
{
	deliver(2);
	struct raw *w = parked_turn("Idempotency-Key: one\r\n");
	assert_problem(turn(WAITS, KEY "one"), 409, "request_in_progress", "none");
	raw_reset(w);
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
	send_many(1, "");
	struct answer a = turn(WAITS, KEY "one");
	assert_outcomes(a, "acknowledged rejected");
	assert_int_equal(count_in(a), 1);
	assert_string_equal(turn(WAITS, KEY "one").body, a.body);
	assert_counts(0, 1, 1, 0);
}

/* ---- A receive that fails ---- */

TEST(a_foreign_key_fails_the_receive_alone)
{
	deliver(2);
	server_command(&redis, "SET p:queue:{q}:ready foreign");
	assert_unreceived(turn("{\"settle\":{\"acknowledge\":[\"$1\"]}}", NULL), "acknowledged", "foreign_key", "none");
	assert_problem(turn("{}", NULL), 500, "foreign_key", "none");
	server_command(&redis, "DEL p:queue:{q}:ready");
	assert_status(acknowledge(receipts[0]), 204);
	assert_counts(0, 0, 1, 0);
}

TEST(a_missing_queue_is_unreceived)
{
	deliver(1);
	assert_status(queue("DELETE", NULL), 204);
	assert_unreceived(turn("{\"must_exist\":true,\"settle\":{\"acknowledge\":[\"$1\"]}}", NULL), "not_current",
			  "not_found", "none");
}

/* Redis stops while the request waits: the last attempt is sent, and gets no reply. */
TEST(a_redis_that_is_lost_after_the_settle)
{
	if (redis.cluster)
		skip();
	deliver(2);
	struct raw *w = waiter_parked(&patternd, &redis, "q", with_receipts("{\"wait_ms\":1000," REJECTS "}"));
	proc_signal(&redis.proc, SIGSTOP);
	struct answer a = waiter_answer(w, "/queues/q/receive", 4 * SOON_MS);
	proc_signal(&redis.proc, SIGCONT);
	assert_unreceived(a, "acknowledged rejected", "no_answer", "unknown");
	raw_close(w);
	wait_until(queue("GET", NULL).status == 200, SOON_MS);
	assert_counts(0, 1, 0, 0);
}

/* Nothing was settled, so the answer is a problem. */
TEST(a_redis_that_is_lost_before)
{
	if (redis.cluster)
		skip();
	deliver(1);
	proc_signal(&redis.proc, SIGSTOP);
	struct answer a = turn("{\"settle\":{\"acknowledge\":[\"$1\"]}}", NULL);
	proc_signal(&redis.proc, SIGCONT);
	assert_problem(a, 504, "no_answer", "unknown");
	wait_until(queue("GET", NULL).status == 200, SOON_MS);
}
