/*
 * How many Redis commands a message costs inside its scripts: sent, received and acknowledged,
 * alone and a hundred at a time. Redis itself counts the commands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "queue_calls.h"
#include "script_stage.h"

static char receipts[BATCH_MAX][64];

/* Commands since the last call, apart from the scripts themselves and the counting. */
static int64_t commands(void)
{
	static const char *const own[] = { "evalsha",          "eval",     "script|load", "info", "config|set",
					   "config|resetstat", "flushall", "ping" };
	int64_t count = 0;
	char *stats = strdup(server_command(&r, "INFO commandstats")->str);

	for (char *line = strtok(stats, "\r\n"); line; line = strtok(NULL, "\r\n")) {
		char *name = strstr(line, "cmdstat_"), *calls = strstr(line, ":calls=");
		if (!name || !calls)
			continue;
		*calls = '\0';
		bool is_own = false;
		for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
			is_own |= strcmp(name + strlen("cmdstat_"), own[i]) == 0;
		if (!is_own)
			count += strtoll(calls + strlen(":calls="), NULL, 10);
	}
	free(stats);
	server_command(&r, "CONFIG RESETSTAT");
	return count;
}

struct cost {
	int64_t send, receive, acknowledge;
};

static struct cost cost_of(size_t count, bool has_ids, const char *returns_left)
{
	static char ids[BATCH_MAX][8];
	struct outgoing batch[BATCH_MAX] = { 0 };
	const char *done[BATCH_MAX + 1] = { NULL };
	struct cost cost;
	char most[8];

	for (size_t i = 0; i < count && has_ids; i++) {
		snprintf(ids[i], sizeof(ids[i]), "id%zu", i);
		batch[i].id = ids[i];
	}
	commands();
	queue_send_all(&r, "q", batch, count);
	cost.send = commands();
	snprintf(most, sizeof(most), "%zu", count);
	run(&r, &queue_message_receive_script, queue_keys("q"), ARGS(most, "-1", NONCE_A, "0", returns_left));
	assert_int_equal(item_int(&r, 0), count);
	for (size_t i = 0; i < count; i++) {
		snprintf(receipts[i], sizeof(receipts[i]), "%s", received(&r, i, RECEIVED_RECEIPT)->str);
		done[i] = receipts[i];
	}
	cost.receive = commands();
	if (count == 1)
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 1);
	else
		assert_int_equal(queue_delivery_settle(&r, "q", done, ARGS(), 0), count);
	cost.acknowledge = commands();
	return cost;
}

/*
 * The first messages load the scripts, and the receive behind them trims, which happens once a
 * second: the later ones are counted.
 */
static void assert_cost(size_t count, bool has_ids, const char *returns_left, struct cost most)
{
	cost_of(count, false, returns_left);
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	struct cost cost = cost_of(count, has_ids, returns_left);

	if (cost.send > most.send || cost.receive > most.receive || cost.acknowledge > most.acknowledge)
		fail_msg("%zu cost %d, %d and %d commands", count, (int)cost.send, (int)cost.receive,
			 (int)cost.acknowledge);
}

static void a_message_costs_twenty_commands(void **state)
{
	(void)state;
	assert_cost(1, false, "0", (struct cost){ 6, 9, 5 });
}

static void one_for_a_waiter_costs_three_more(void **state)
{
	(void)state;
	assert_cost(1, false, "1", (struct cost){ 6, 12, 5 });
}

static void an_id_is_remembered(void **state)
{
	(void)state;
	assert_cost(1, true, "0", (struct cost){ 7, 9, 10 });
}

static void a_hundred_cost_what_one_costs(void **state)
{
	(void)state;
	assert_cost(BATCH_MAX, false, "0", (struct cost){ 6, 9, 5 });
	assert_cost(BATCH_MAX, true, "0", (struct cost){ 7, 9, 17 });
}

/* The cost of an empty queue for a worker that polls it. */
static void an_empty_receive_costs_six(void **state)
{
	(void)state;
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	commands();
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	assert_in_range(commands(), 1, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_message_costs_twenty_commands, script_stage_empty),
		cmocka_unit_test_setup(one_for_a_waiter_costs_three_more, script_stage_empty),
		cmocka_unit_test_setup(an_id_is_remembered, script_stage_empty),
		cmocka_unit_test_setup(a_hundred_cost_what_one_costs, script_stage_empty),
		cmocka_unit_test_setup(an_empty_receive_costs_six, script_stage_empty),
	};

	return cmocka_run_group_tests(tests, script_stage_open, script_stage_close);
}
