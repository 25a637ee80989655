/*
 * queue_delivery_pay: which deliveries of a receive with an Idempotency-Key a policy admits is
 * decided once, for all requests with that key. The test sets Redis's clock.
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { PAYING_MS = 2000, HOLD_MS = 500 };
#define RECORD "p:idem:{1}"

static char sequences[3][17]; /* of the latest receive */

static void put_policy(const char *name)
{
	run(&r, &queue_put_script, queue_keys(name), ARGS("-1", "-1", "0", "0", "-1", "-1", "0", "-1", "-1", "p", "k"));
	for (int i = 0; i < 3; i++)
		queue_message_send(&r, name, (struct outgoing){ 0 });
}

static int make_queue(void **state)
{
	script_stage_empty(state);
	put_policy("q");
	return 0;
}

static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static char nonces[2][17]; /* of the last deliveries with NONCE_B and NONCE_A: they have the time */

static void keep_nonce(const char *nonce)
{
	const redisReply *first = r.reply->element[QUEUE_MESSAGE_RECEIVE_DELIVERIES];

	snprintf(nonces[nonce[0] == 'a'], sizeof(nonces[0]), "%s", first->element[QUEUE_DELIVERY_STORED_STATE]->str);
}

/*
 * Receives with the record, and returns the outcome. `policies` receives how many are not paid for.
 */
static int64_t receive(const char *nonce, const char *acknowledge, int *policies)
{
	run_with_record(&r, &queue_message_receive_script, queue_keys("q"),
			ARGS("10", "60000", nonce, acknowledge, "", "0", "0"), RECORD, FINGERPRINT_A);
	*policies = 0;
	if (outcome(&r) == QUEUE_MESSAGE_RECEIVE_PAYING)
		return outcome(&r);
	keep_nonce(nonce);
	size_t at = QUEUE_MESSAGE_RECEIVE_DELIVERIES, count = 0;
	for (; at < r.reply->elements; at++) {
		const char *sequence = r.reply->element[at]->element[QUEUE_DELIVERY_SEQUENCE]->str;
		if (*sequence)
			snprintf(sequences[count++], sizeof(sequences[0]), "%s", sequence);
		else
			++*policies;
	}
	return (int64_t)count;
}

static int64_t receive_plainly(void)
{
	run(&r, &queue_message_receive_script, queue_keys("q"), ARGS("10", "60000", NONCE_B, "0", "", "0", "0"));
	return outcome(&r);
}

/*
 * Pays for the deliveries of that nonce. `first` and `second` are admitted; NULL ends the list.
 * Returns how many may be handed out.
 */
static int64_t pay(const char *nonce, const char *hold_ms, const char *first, const char *second)
{
	const char *keys[QUEUE_KEYS + 2] = { NULL };

	memcpy(keys, queue_keys("q"), QUEUE_KEYS * sizeof(*keys));
	keys[QUEUE_KEYS] = RECORD;
	run(&r, &queue_delivery_pay_script, keys, ARGS("0", nonces[nonce[0] == 'a'], hold_ms, first, second));
	return (int64_t)r.reply->elements - QUEUE_DELIVERY_PAY_SEQUENCE;
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .before = make_queue);

TEST(the_first_decides_for_all)
{
	char first[17];
	int policies;

	assert_int_equal(receive(NONCE_A, "0", &policies), 3);
	assert_int_equal(policies, 1);
	snprintf(first, sizeof(first), "%s", sequences[0]);
	assert_int_equal(pay(NONCE_A, "500", first, NULL), 1);
	assert_int_equal(outcome(&r), 2);
	assert_counts(&r, "q", 2, 0, 1, 0);
	assert_int_equal(pay(NONCE_A, "", sequences[0], sequences[1]), 1);
	assert_string_equal(r.reply->element[QUEUE_DELIVERY_PAY_SEQUENCE]->str, first);
	assert_counts(&r, "q", 2, 0, 1, 0);
	assert_int_equal(receive(NONCE_B, "0", &policies), 1);
	assert_int_equal(policies, 0);
	assert_string_equal(sequences[0], first);
	assert_int_equal(receive_plainly(), 0); /* the queue is held */
	pass_ms(HOLD_MS);
	assert_int_equal(receive_plainly(), 2);
	assert_int_equal(received(&r, 0, RECEIVED_RECEIVES)->integer, 1);
}

TEST(all_is_paid)
{
	int policies;

	assert_int_equal(receive(NONCE_A, "0", &policies), 3);
	int64_t kept_ms = server_command(&r, "PTTL " RECORD)->integer;
	for (int again = 0; again < 2; again++) {
		pay(NONCE_A, "", sequences[0], sequences[1]);
		assert_int_equal(r.reply->elements - QUEUE_DELIVERY_PAY_SEQUENCE, 2);
	}
	assert_int_equal(receive(NONCE_B, "0", &policies), 2);
	assert_int_equal(policies, 0);
	assert_int_equal(server_command(&r, "PTTL " RECORD)->integer, kept_ms);
}

TEST(of_what_all_went_back_there_is_no_record)
{
	int policies;

	assert_int_equal(receive(NONCE_A, "0", &policies), 3);
	assert_int_equal(pay(NONCE_A, "500", NULL, NULL), 0);
	assert_counts(&r, "q", 3, 0, 0, 0);
	assert_int_equal(server_command(&r, "EXISTS " RECORD)->integer, 0);
	assert_int_equal(pay(NONCE_A, "", sequences[0], sequences[1]), 0);
	pass_ms(HOLD_MS);
	assert_int_equal(receive(NONCE_B, "0", &policies), 3); /* a repeated request */
	assert_int_equal(pay(NONCE_A, "", sequences[0], sequences[1]), 0);
	assert_counts(&r, "q", 0, 0, 3, 0);
	assert_int_equal(pay(NONCE_B, "", sequences[0], sequences[1]), 2);
}

TEST(without_a_policy_nothing_is_held)
{
	int policies;

	assert_int_equal(receive(NONCE_A, "0", &policies), 3);
	run(&r, &queue_put_script, queue_keys("q"), ARGS("-1", "-1", "0", "0", "-1", "-1", "0", "-1", "-1", "", "-2"));
	assert_int_equal(pay(NONCE_A, "500", NULL, NULL), 0);
	assert_string_equal(server_command(&r, "HGET %s held_until", queue_key("q", ""))->str, "0");
	assert_int_equal(receive_plainly(), 3);
}

TEST(what_is_done_comes_back_whole)
{
	int policies;

	assert_int_equal(receive(NONCE_A, "1", &policies), 3);
	assert_counts(&r, "q", 0, 0, 0, 0);
	assert_int_equal(pay(NONCE_A, "0", sequences[2], NULL), 1);
	assert_counts(&r, "q", 2, 0, 0, 0);
	assert_int_equal(receive(NONCE_B, "1", &policies), 1);
	assert_int_equal(policies, 0);
	pass_ms(1);
	assert_int_equal(receive_plainly(), 2);
}

/* No other request pays while the first one may still do so. */
TEST(a_replay_awaits_the_payment)
{
	static const char *const acknowledges[] = { "0", "1" };
	int policies;

	for (size_t i = 0; i < 2; i++) {
		make_queue(state);
		assert_int_equal(receive(NONCE_A, acknowledges[i], &policies), 3);
		pass_ms(PAYING_MS - 1);
		assert_int_equal(receive(NONCE_B, acknowledges[i], &policies), QUEUE_MESSAGE_RECEIVE_PAYING);
		pass_ms(1);
		assert_int_equal(receive(NONCE_B, acknowledges[i], &policies), 3);
		assert_int_equal(policies, 1);
	}
}

TEST(a_foreign_key_changes_nothing)
{
	const char *keys[QUEUE_KEYS + 2] = { NULL };
	int policies;

	assert_int_equal(receive(NONCE_A, "0", &policies), 3);
	server_command(&r, "DEL %s", queue_key("q", ":delayed"));
	server_command(&r, "SET %s x", queue_key("q", ":delayed"));
	memcpy(keys, queue_keys("q"), QUEUE_KEYS * sizeof(*keys));
	keys[QUEUE_KEYS] = RECORD;
	unchanged(&r, run_fails(&r, &queue_delivery_pay_script, keys, ARGS("0", nonces[1], "1"), "WRONGTYPE"));
	server_command(&r, "DEL %s", queue_key("q", ":delayed"));
	server_command(&r, "DEL " RECORD);
	server_command(&r, "LPUSH " RECORD " x");
	unchanged(&r, run_fails(&r, &queue_delivery_pay_script, keys, ARGS("0", nonces[1], "1"), "WRONGTYPE"));
}

/* Each of two queues has its own decision. */
TEST(two_queues_pay_apart)
{
	const char *both[2 * QUEUE_KEYS + 1] = { NULL }, *own[QUEUE_KEYS + 2] = { NULL };

	put_policy("z");
	memcpy(both, queue_keys("q"), QUEUE_KEYS * sizeof(*both));
	for (size_t i = 0; i < QUEUE_KEYS; i++)
		both[i] = strdup(both[i]);
	memcpy(own, queue_keys("z"), QUEUE_KEYS * sizeof(*own));
	for (size_t i = 0; i < QUEUE_KEYS; i++)
		both[QUEUE_KEYS + i] = own[i] = strdup(own[i]);
	own[QUEUE_KEYS] = RECORD;
	const char *const *args = ARGS("10", "60000", NONCE_A, "0", "", "0", "0");
	run_with_record(&r, &queue_message_receive_script, both, args, RECORD, FINGERPRINT_A);
	assert_int_equal(outcome(&r), 6);
	keep_nonce(NONCE_A);
	assert_int_equal(pay(NONCE_A, "1", NULL, NULL), 0);
	assert_counts(&r, "q", 3, 0, 0, 0);
	assert_counts(&r, "z", 0, 0, 3, 0);
	pass_ms(PAYING_MS);
	run_with_record(&r, &queue_message_receive_script, both, args, RECORD, FINGERPRINT_A);
	assert_int_equal(outcome(&r), 3);
	assert_int_equal(r.reply->elements - QUEUE_MESSAGE_RECEIVE_DELIVERIES, 4);
	run(&r, &queue_delivery_pay_script, own, ARGS("1", nonces[1], "1"));
	assert_int_equal(outcome(&r), 3);
	assert_int_equal(server_command(&r, "EXISTS " RECORD)->integer, 0);
	for (size_t i = 0; i < 2 * QUEUE_KEYS; i++)
		free((char *)(uintptr_t)both[i]);
}
