/*
 * Strict groups compared with the FIFO queues of Amazon SQS. The facts are what LocalStack's tests
 * (localstack/localstack, tests/aws/services/sqs/test_sqs.py), validated against AWS, expect of
 * messages in groups. Each fact has the name of its test in LocalStack.
 *
 * One thing is different on purpose: SQS hands out several messages of a group in one batch, while
 * a strict group here has at most one in flight. Where a test receives g1-m1 and g1-m2 at once,
 * g1-m2 here follows the end of g1-m1. Between groups SQS promises no order; here the groups take
 * turns.
 */
#include "queue_stage.h"

/*
 * Steps of a fact, separated by blanks. A message is named <group>-<name>.
 *   +g1-m1     is sent
 *   4:g1-m1,g2-m1  a receive of up to 4 returns these; without names, none
 *   !g1-m1     is deleted by its receipt
 *   ~g1-m1     its visibility ends
 */
struct fact {
	const char *name, *steps;
};

static const struct fact facts[] = {
	{ "test_fifo_receive_message_group_id_ordering",
	  "+g1-m1 +g2-m1 +g1-m2 +g1-m3 9:g1-m1,g2-m1 !g1-m1 9:g1-m2 !g1-m2 9:g1-m3" },
	{ "test_fifo_messages_in_order_after_timeout",
	  "+g1-m0 +g1-m1 +g1-m2 9:g1-m0 ~g1-m0 9:g1-m0 !g1-m0 9:g1-m1 ~g1-m1 9:g1-m1 !g1-m1 9:g1-m2" },
	{ "test_fifo_receive_message_visibility_timeout_shared_in_group",
	  "+g1-m1 +g1-m2 +g1-m3 +g2-m1 +g3-m1 1:g1-m1 1:g2-m1 ~g1-m1 9:g3-m1,g1-m1 9:" },
	{ "test_fifo_message_group_visibility_after_terminate_visibility_timeout",
	  "+g1-m1 +g1-m2 +g2-m1 1:g1-m1 ~g1-m1 3:g2-m1,g1-m1 3:" },
	{ "test_fifo_message_group_visibility_after_delete",
	  "+g1-m1 +g2-m1 +g1-m2 +g2-m2 +g1-m3 +g3-m1 1:g1-m1 !g1-m1 1:g2-m1 !g2-m1 9:g3-m1,g1-m2,g2-m2 !g1-m2 9:g1-m3" },
	{ "test_fifo_message_group_visibility_after_partial_delete",
	  "+g1-m1 +g2-m1 +g1-m2 +g1-m3 +g3-m1 1:g1-m1 !g1-m1 9:g2-m1,g3-m1,g1-m2 9: !g2-m1 9:" },
	{ "test_fifo_empty_message_groups_added_back_to_queue",
	  "+g1-m1 9:g1-m1 !g1-m1 9: +g1-m2 9:g1-m2 !g1-m2 +g2-m1 +g1-m3 9:g2-m1,g1-m3" },
};

static char receipts[16][2][64]; /* id and receipt of each message in flight */

static char *receipt_of(const char *id)
{
	for (size_t i = 0; i < COUNT(receipts); i++)
		if (strcmp(receipts[i][0], id) == 0)
			return receipts[i][1];
	fail_msg("%s is not in flight", id);
	return NULL;
}

static void keep_receipt(const char *id, const char *receipt)
{
	for (size_t i = 0; i < COUNT(receipts); i++) {
		if (*receipts[i][0] && strcmp(receipts[i][0], id) != 0)
			continue;
		snprintf(receipts[i][0], sizeof(receipts[i][0]), "%s", id);
		snprintf(receipts[i][1], sizeof(receipts[i][1]), "%s", receipt);
		return;
	}
}

static void send_one(const char *id)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"id\":\"%s\",\"group\":\"%.2s\",\"body\":1}", id, id);
	assert_status(send_body(body), 201);
	next_ms();
}

static void receive_these(const char *fact, int limit, const char *ids)
{
	char body[64], got[256] = "", pointer[64];

	snprintf(body, sizeof(body), "{\"limit\":%d}", limit);
	struct answer a = receive(body);
	for (size_t i = 0, count = count_in(a); i < count; i++) {
		snprintf(pointer, sizeof(pointer), "/messages/%zu/id", i);
		const char *id = text_at(a, pointer);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? "," : "", id);
		snprintf(pointer, sizeof(pointer), "/messages/%zu/receipt", i);
		keep_receipt(id, text_at(a, pointer));
	}
	if (strcmp(got, ids) != 0)
		fail_msg("%s: a receive returned '%s', not '%s'", fact, got, ids);
}

static void end_visibility(const char *id)
{
	assert_status(extend(receipt_of(id), "{\"visibility_ms\":1}"), 200);
	next_ms();
	next_ms();
}

static void play(const struct fact *f)
{
	char steps[512], *at = steps, *step;

	snprintf(steps, sizeof(steps), "%s", f->steps);
	memset(receipts, 0, sizeof(receipts));
	while ((step = strsep(&at, " "))) {
		if (*step == '+') {
			send_one(step + 1);
		} else if (*step == '!') {
			assert_status(acknowledge(receipt_of(step + 1)), 204);
		} else if (*step == '~') {
			end_visibility(step + 1);
		} else {
			receive_these(f->name, atoi(step), strchr(step, ':') + 1);
		}
	}
}

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(strict_groups_behave_as_in_sqs)
{
	for (size_t i = 0; i < COUNT(facts); i++) {
		configure("{\"order\":\"strict\"," AT_ONCE "}");
		play(&facts[i]);
		forget_all(state);
	}
}
