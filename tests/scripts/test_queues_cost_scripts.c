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

#include "line_look.h"
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

static struct cost cost_of(size_t count, bool has_ids, const char *ticket)
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
	run(&r, &queue_message_receive_script, queue_keys("q"), ARGS(most, "-1", NONCE_A, "0", ticket, "5000", "0"));
	assert_int_equal(outcome(&r), count);
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
static void assert_cost(size_t count, bool has_ids, const char *ticket, struct cost most)
{
	cost_of(count, false, ticket);
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	struct cost cost = cost_of(count, has_ids, ticket);

	if (cost.send > most.send || cost.receive > most.receive || cost.acknowledge > most.acknowledge)
		fail_msg("%zu cost %d, %d and %d commands", count, (int)cost.send, (int)cost.receive,
			 (int)cost.acknowledge);
}

static void a_message_costs_21_commands(void **state)
{
	(void)state;
	assert_cost(1, false, "", (struct cost){ 6, 10, 5 });
}

static void one_for_a_waiter_costs_no_more(void **state)
{
	(void)state;
	assert_cost(1, false, QUEUE_TICKET(DAEMON_A, 1, 1), (struct cost){ 6, 10, 5 });
}

static void an_id_is_remembered(void **state)
{
	(void)state;
	assert_cost(1, true, "", (struct cost){ 8, 10, 10 });
}

static void a_hundred_cost_what_one_costs(void **state)
{
	(void)state;
	assert_cost(BATCH_MAX, false, "", (struct cost){ 6, 10, 5 });
	assert_cost(BATCH_MAX, true, "", (struct cost){ 8, 10, 18 });
}

/* The end of one, or of a hundred: one look at what waits for them. */
static void with_results_an_end_costs_one_more(void **state)
{
	struct queue_settings settings = standard_settings;

	(void)state;
	settings.result_ms = 60000;
	queue_put(&r, "q", settings);
	assert_cost(1, false, "", (struct cost){ 6, 10, 6 });
	assert_cost(1, true, "", (struct cost){ 8, 10, 10 }); /* the id is not forgotten */
	assert_cost(BATCH_MAX, false, "", (struct cost){ 6, 10, 6 });
}

/* The cost of an empty queue for a worker that polls it. */
static void an_empty_receive_costs_seven(void **state)
{
	(void)state;
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	commands();
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	assert_in_range(commands(), 1, 7);
}

static int open_all(void **state)
{
	script_stage_open(state);
	line_attend(&r, "p:queue:{q}");
	return 0;
}

/* What a message costs that a waiter is called for, and its receive, while so many wait. */
static void assert_cost_with(int waiters, struct cost most)
{
	static const char *const daemons[] = { DAEMON_A, DAEMON_B, DAEMON_C };
	char ticket[64];

	script_stage_empty(NULL);
	cost_of(1, false, "");
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	for (int i = 0; i < waiters; i++) {
		snprintf(ticket, sizeof(ticket), "%s.%016d.1", daemons[i % 3], i);
		assert_int_equal(queue_wait(&r, "q", ticket, 5000, 0), 0);
	}
	commands();
	queue_message_send(&r, "q", (struct outgoing){ 0 });
	int64_t send = commands();
	assert_int_equal(queue_wait(&r, "q", DAEMON_A ".0000000000000000.1", 5000, 0), 1);
	int64_t receive = commands();
	if (send > most.send || receive > most.receive)
		fail_msg("with %d waiters it cost %d and %d commands", waiters, (int)send, (int)receive);
}

/* One is called; of a crowd, others look in case that it does not come. */
static void a_crowd_costs_what_a_few_cost(void **state)
{
	(void)state;
	assert_cost_with(1, (struct cost){ 19, 21, 0 });
	assert_cost_with(3, (struct cost){ 22, 24, 0 });
	assert_cost_with(300, (struct cost){ 22, 24, 0 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_message_costs_21_commands, script_stage_empty),
		cmocka_unit_test_setup(one_for_a_waiter_costs_no_more, script_stage_empty),
		cmocka_unit_test_setup(an_id_is_remembered, script_stage_empty),
		cmocka_unit_test_setup(a_hundred_cost_what_one_costs, script_stage_empty),
		cmocka_unit_test_setup(with_results_an_end_costs_one_more, script_stage_empty),
		cmocka_unit_test_setup(an_empty_receive_costs_seven, script_stage_empty),
		cmocka_unit_test_setup(a_crowd_costs_what_a_few_cost, script_stage_empty),
	};

	return cmocka_run_group_tests(tests, open_all, script_stage_close);
}
