/*
 * How many Redis commands the scripts run per message that is sent, received and acknowledged:
 * alone and a hundred at a time, without a group and in one, whatever is behind it. Redis itself
 * counts the commands.
 */
#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

static char receipts[BATCH_MAX][64];

/* The commands since the last call, without the calls of scripts and the counting. */
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
		for (size_t i = 0; i < COUNT(own); i++)
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
 * The first messages load the scripts, and the receive after them trims, which happens once per
 * second. Only the later messages are counted.
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

TEST(a_message_costs_21_commands)
{
	assert_cost(1, false, "", (struct cost){ 6, 10, 5 });
}

TEST(one_for_a_waiter_costs_no_more)
{
	assert_cost(1, false, QUEUE_TICKET(DAEMON_A, 1, 1), (struct cost){ 6, 10, 5 });
}

TEST(a_queue_that_must_exist_costs_no_more)
{
	for (int i = 0; i < 2; i++) { /* the first loads the script, and finds no queue */
		queue_message_send(&r, "q", (struct outgoing){ 0 });
		commands();
		run(&r, &queue_message_send_script, queue_keys("q"), ARGS("", "1", "4", "exists"));
		assert_int_equal(outcome(&r), 1);
	}
	assert_int_equal(commands(), 6);
}

TEST(an_id_is_remembered)
{
	assert_cost(1, true, "", (struct cost){ 8, 10, 10 });
}

TEST(a_hundred_cost_what_one_costs)
{
	assert_cost(BATCH_MAX, false, "", (struct cost){ 6, 10, 5 });
	assert_cost(BATCH_MAX, true, "", (struct cost){ 8, 10, 18 });
}

/* Ending one delivery or a hundred costs one look at the waiting daemons. */
TEST(with_results_an_end_costs_one_more)
{
	struct queue_settings settings = standard_settings;

	settings.result_ms = 60000;
	queue_put(&r, "q", settings);
	assert_cost(1, false, "", (struct cost){ 6, 10, 6 });
	assert_cost(1, true, "", (struct cost){ 8, 10, 10 }); /* the id is remembered either way */
	assert_cost(BATCH_MAX, false, "", (struct cost){ 6, 10, 6 });
}

/* A worker pays this for each poll of an empty queue. */
TEST(an_empty_receive_costs_seven)
{
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	commands();
	queue_message_receive(&r, "q", 1, -1, NONCE_A);
	assert_in_range(commands(), 1, 7);
}

/* Redis's clock does not move, so receives trim only where a test wants it. */
static int open_all(void **state)
{
	script_stage_open_by_clock(state);
	line_attend(&r, "p:queue:{q}");
	return 0;
}

/* Checks the cost of a message that is sent to a queue with so many waiters, and of its receive. */
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

/* One waiter is called. With more, others look in case it does not come. */
TEST(a_crowd_costs_what_a_few_cost)
{
	assert_cost_with(1, (struct cost){ 19, 21, 0 });
	assert_cost_with(3, (struct cost){ 22, 24, 0 });
	assert_cost_with(300, (struct cost){ 22, 24, 0 });
}

static void put_rules(const char *order, const char *group_concurrency, const char *concurrency, const char *group_rate)
{
	run(&r, &queue_put_script, queue_keys("q"),
	    ARGS("-1", "-1", "0", "0", "-1", "-1", "0", "-1", "-1", "", "-1", order, group_concurrency, concurrency,
		 "-2", group_rate));
	assert_int_equal(outcome(&r), 1);
}

static void send_to(const char *group, size_t count)
{
	struct outgoing batch[BATCH_MAX] = { 0 };

	for (size_t i = 0; i < BATCH_MAX; i++)
		batch[i].group = group;
	for (size_t left = count; left;) {
		size_t some = left < BATCH_MAX ? left : BATCH_MAX;
		assert_int_equal(queue_send_all(&r, "q", batch, some), some);
		left -= some;
	}
}

/* Makes `count` groups with one ready message each, behind all messages of priority 0. */
static void fill_groups(size_t count)
{
	static char names[BATCH_MAX][16];
	struct outgoing batch[BATCH_MAX] = { 0 };

	for (size_t i = 0; i < count;) {
		size_t n = 0;
		for (; n < BATCH_MAX && i < count; n++, i++) {
			snprintf(names[n], sizeof(names[n]), "g%zu", i);
			batch[n].group = names[n];
			batch[n].priority = 9;
		}
		assert_int_equal(queue_send_all(&r, "q", batch, n), n);
	}
}

/* Sends a message to a group, and receives and acknowledges one. */
static struct cost cost_of_turn(const char *group)
{
	struct cost cost;

	commands();
	queue_message_send(&r, "q", (struct outgoing){ .group = group });
	cost.send = commands();
	assert_int_equal(queue_message_receive(&r, "q", 1, -1, NONCE_A), 1);
	snprintf(receipts[0], sizeof(receipts[0]), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	cost.receive = commands();
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 1);
	cost.acknowledge = commands();
	return cost;
}

static void assert_turn(const char *what, size_t behind, const char *group, struct cost wanted)
{
	cost_of_turn(group); /* loads the scripts */
	cost_of_turn(group); /* trims */
	struct cost cost = cost_of_turn(group);

	if (cost.send != wanted.send || cost.receive != wanted.receive || cost.acknowledge != wanted.acknowledge)
		fail_msg("%s, %zu: %d, %d and %d commands", what, behind, (int)cost.send, (int)cost.receive,
			 (int)cost.acknowledge);
}

/* The cost of a message alone in its group among many groups, and of one with many behind it. */
static const struct group_row {
	const char *what, *order, *group_concurrency, *group_rate;
	struct cost lone, backlog;
} group_rows[] = {
	{ "fair", "fair", "-2", "-2", { 8, 13, 7 }, { 7, 15, 7 } },
	{ "strict", "strict", "-2", "-2", { 8, 11, 9 }, { 7, 11, 14 } },
	{ "group_concurrency", "fair", "2", "-2", { 8, 15, 9 }, { 7, 17, 9 } },
	{ "group_rate", "fair", "-2", "1000 1000 1000", { 25, 16, 7 }, { 7, 18, 7 } },
};

static void assert_group_costs(size_t behind)
{
	for (size_t i = 0; i < COUNT(group_rows); i++) {
		const struct group_row *row = &group_rows[i];
		script_stage_empty(NULL);
		put_rules(row->order, row->group_concurrency, "-2", row->group_rate);
		send_to("crowd", behind + 1);
		assert_turn(row->what, behind, "crowd", row->backlog);
		script_stage_empty(NULL);
		put_rules(row->order, row->group_concurrency, "-2", row->group_rate);
		fill_groups(behind);
		assert_turn(row->what, behind, "lone", row->lone);
	}
}

TEST(a_lone_message_of_a_group)
{
	assert_group_costs(0);
}

TEST(nothing_grows_with_what_is_behind)
{
	assert_group_costs(1);
	assert_group_costs(10000);
	if (getenv("PATTERND_FULL"))
		assert_group_costs(1000000);
}

/* Reasons to hand out no message, however many there are. */
static const struct refusal_row {
	const char *what, *order, *concurrency, *group_rate;
	int64_t wanted;
} refusal_rows[] = {
	{ "concurrency", "fair", "1", "-2", 7 },
	{ "strict", "strict", "-2", "-2", 7 },
	{ "group_rate", "fair", "-2", "1 1000 1", 7 },
};

static void assert_refusals(size_t behind)
{
	for (size_t i = 0; i < COUNT(refusal_rows); i++) {
		const struct refusal_row *row = &refusal_rows[i];
		script_stage_empty(NULL);
		put_rules(row->order, "-2", row->concurrency, row->group_rate);
		send_to("crowd", behind + 1);
		assert_int_equal(queue_message_receive(&r, "q", 1, -1, NONCE_A), 1);
		for (int refused = 0; refused < 2; refused++) { /* the first receive trims */
			commands();
			assert_int_equal(queue_message_receive(&r, "q", 1, -1, NONCE_A), 0);
		}
		int64_t count = commands();
		if (count != row->wanted)
			fail_msg("%s, %zu: a refusal costs %d commands", row->what, behind, (int)count);
	}
}

TEST(a_refusal_looks_at_no_message)
{
	assert_refusals(1);
	assert_refusals(10000);
	if (getenv("PATTERND_FULL"))
		assert_refusals(1000000);
}

SUITE(.open = open_all, .close = script_stage_close, .before = script_stage_empty);
