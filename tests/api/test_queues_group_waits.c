/*
 * A queue may hand out nothing for a time, for example while a group is paused. A request that
 * waits at it tries again at the instant at which this time ends, and runs no script until then.
 */
#include "queue_stage.h"
#include "waiter.h"

#define RECEIVE "/queues/q/receive"

static long scripts_run(void)
{
	static const char wanted[] = "cmdstat_evalsha:calls=";
	const char *at = strstr(server_command(&redis, "INFO commandstats")->str, wanted);

	return at ? atol(at + strlen(wanted)) : 0;
}

/* The waiting request gets its message by one script. */
static void wakes_once(void)
{
	struct raw *w = waiter_parked(&patternd, &redis, "q", "{\"wait_ms\":20000}");
	server_command(&redis, "CONFIG RESETSTAT");
	struct answer a = waiter_answer(w, RECEIVE, SOON_MS);

	assert_int_equal(count_in(a), 1);
	assert_int_equal(scripts_run(), 1);
	raw_close(w);
}

static void send_two(const char *group)
{
	char body[160];

	snprintf(body, sizeof(body), "{\"messages\":[{\"body\":1%s},{\"body\":2%s}]}", group, group);
	assert_status(send_body(body), 201);
}

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(a_group_that_spent_its_rate)
{
	configure("{\"group_rate\":{\"limit\":1,\"window_ms\":800,\"burst\":1}}");
	send_two(",\"group\":\"g\"");
	assert_int_equal(count_in(receive("{\"limit\":10}")), 1);
	wakes_once();
}

TEST(a_group_that_is_paused)
{
	configure("{}");
	send_two(",\"group\":\"g\"");
	assert_status(http(client, "POST", "/queues/q/groups/g/pause", "{\"for_ms\":800}"), 200);
	wakes_once();
}

TEST(a_queue_that_is_paused)
{
	configure("{}");
	send_two("");
	assert_status(http(client, "POST", "/queues/q/pause", "{\"for_ms\":800}"), 200);
	wakes_once();
	assert_false(bool_at(http(client, "GET", "/queues/q", NULL), "/settings/paused"));
}

TEST(a_queue_that_spent_its_rate)
{
	configure("{\"rate\":{\"limit\":1,\"window_ms\":800,\"burst\":1}}");
	send_two("");
	assert_int_equal(count_in(receive("{\"limit\":10}")), 1);
	wakes_once();
}

/* The send, the acknowledgement and the waiting receive run one script each. */
TEST(a_queue_that_has_its_concurrency)
{
	configure("{\"concurrency\":1}");
	send_two("");
	char *receipt = strdup(text_at(receive("{\"limit\":10}"), "/messages/0/receipt"));
	struct raw *w = waiter_parked(&patternd, &redis, "q", "{\"wait_ms\":20000}");

	server_command(&redis, "CONFIG RESETSTAT");
	assert_status(send_body("{\"body\":3}"), 201);
	assert_false(waiter_is_answered(w));
	assert_status(acknowledge(receipt), 204);
	assert_int_equal(count_in(waiter_answer(w, RECEIVE, SOON_MS)), 1);
	assert_int_equal(scripts_run(), 3);
	raw_close(w);
	free(receipt);
}
