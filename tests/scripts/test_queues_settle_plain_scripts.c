/*
 * queue_delivery_settle has a shorter way for acknowledgements alone. It must leave in Redis what
 * the longer way leaves, which the test reaches by adding a rejection of nothing. The test sets
 * Redis's clock.
 */
#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { COUNT = 3, MINUTE_MS = 60000, OUTCOMES_MAX = 2 * COUNT };
#define NOTHING "0000000000000001." NONCE_B

static const struct outgoing plain[COUNT], with_ids[COUNT] = { { .id = "a" }, { .id = "b", .max_receives = 3 }, { 0 } },
					   of_groups[COUNT] = { { .group = "g" }, { .group = "g", .id = "b" }, { 0 } };

/* What is sent and received, which receipts are acknowledged, and how long after the delivery. */
static const struct {
	const char *name;
	const struct outgoing *messages;
	int received;
	const char *acknowledged;
	int64_t late_ms;
	const char *result_ms, *max_messages, *order, *group_concurrency, *concurrency; /* NULL: none */
} cases[] = {
	{ "as usual", plain, 3, "012", 0, 0, 0, 0, 0, 0 },
	{ "a part", plain, 3, "1", 0, 0, 0, 0, 0, 0 },
	{ "one twice", plain, 3, "010", 0, 0, 0, 0, 0, 0 },
	{ "late", plain, 3, "01", MINUTE_MS, 0, 0, 0, 0, 0 },
	{ "with ids", with_ids, 3, "012", 0, 0, 0, 0, 0, 0 },
	{ "of a group that takes turns", of_groups, 3, "01", 0, 0, 0, 0, 0, 0 },
	{ "of a strict group", of_groups, 2, "01", 0, 0, 0, "strict", 0, 0 },
	{ "of a limited group", of_groups, 2, "10", 0, 0, 0, 0, "1", 0 },
	{ "results are kept", with_ids, 3, "012", 0, "60000", 0, 0, 0, 0 },
	{ "a full queue", plain, 3, "02", 0, 0, "3", 0, 0, 0 },
	{ "one waits for an end", plain, 2, "01", 0, 0, 0, 0, 0, "2" },
};

/* Makes the queue of a case. Where the case limits `concurrency`, a waiter joins. */
static void build(size_t i, char receipts[COUNT][64])
{
#define GIVEN(text) (cases[i].text ? cases[i].text : "-1")
	script_stage_empty(NULL);
	*script_clock_us = 1700000000LL * 1000000;
	run(&r, &queue_put_script, queue_keys("q"),
	    ARGS("-1", "-1", "0", "0", "-1", "-1", "0", GIVEN(result_ms), GIVEN(max_messages), "", "-1", GIVEN(order),
		 GIVEN(group_concurrency), GIVEN(concurrency), "-1", "-1"));
	queue_send_all(&r, "q", cases[i].messages, COUNT);
	assert_int_equal(queue_message_receive(&r, "q", COUNT, MINUTE_MS, NONCE_A), cases[i].received);
	for (int k = 0; k < cases[i].received; k++)
		snprintf(receipts[k], 64, "%s", received(&r, (size_t)k, RECEIVED_RECEIPT)->str);
	if (cases[i].concurrency)
		assert_int_equal(queue_wait(&r, "q", QUEUE_TICKET(DAEMON_A, 1, 1), MINUTE_MS, 0), 0);
	*script_clock_us += cases[i].late_ms * 1000;
}

/*
 * Returns a picture of Redis after the settle, which the caller frees. `outcomes` receives the
 * outcomes of the acknowledgements.
 */
static char *settle(size_t i, const char *reject, char outcomes[OUTCOMES_MAX])
{
	char receipts[COUNT][64];
	const char *done[OUTCOMES_MAX] = { NULL };

	build(i, receipts);
	for (size_t k = 0; cases[i].acknowledged[k]; k++)
		done[k] = receipts[cases[i].acknowledged[k] - '0'];
	char *to = outcomes;
	*to++ = (char)('0' + queue_delivery_settle(&r, "q", done, ARGS(reject), 0));
	for (size_t k = 0; cases[i].acknowledged[k]; k++)
		*to++ = (char)('0' + item_int(&r, QUEUE_DELIVERY_SETTLE_OUTCOMES + k));
	*to = '\0';
	return server_picture(&r);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close);

TEST(alone_they_are_as_beside_others)
{
	line_attend(&r, "p:queue:{q}");
	for (size_t i = 0; i < COUNT(cases); i++) {
		char outcomes[2][OUTCOMES_MAX];
		char *alone = settle(i, NULL, outcomes[0]), *beside = settle(i, NOTHING, outcomes[1]);
		if (strcmp(outcomes[0], outcomes[1]) != 0 || strcmp(alone, beside) != 0)
			fail_msg("%s: %s\n%s\nnot %s\n%s", cases[i].name, outcomes[0], alone, outcomes[1], beside);
		free(alone);
		free(beside);
	}
}
