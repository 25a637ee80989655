/*
 * If a queue or its groups may not hand out their messages now, a waiter looks again when they may.
 * It does not look before, unless the reason ends sooner. The test sets Redis's clock.
 */
#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { MINUTE_MS = 60000 };

#define TICKET_1 QUEUE_TICKET(DAEMON_A, 1, 1)
#define TICKET_2 QUEUE_TICKET(DAEMON_B, 2, 1)

static char receipts[4][64];

static void put_rules(const char *order, const char *group_concurrency, const char *concurrency, const char *rate,
		      const char *group_rate)
{
	run(&r, &queue_put_script, queue_keys("q"),
	    ARGS("-1", "-1", "0", "0", "-1", "-1", "0", "-1", "-1", "", "-1", order, group_concurrency, concurrency,
		 rate, group_rate));
	assert_int_equal(outcome(&r), 1);
	line_attend(&r, "p:queue:{q}");
}

static int64_t now_ms(void)
{
	return *script_clock_us / 1000;
}

static void pass_ms(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

static void send_to(const char *group, int count)
{
	for (int i = 0; i < count; i++)
		queue_message_send(&r, "q", (struct outgoing){ .group = group });
}

/* Receives `count` messages, for a minute each. */
static void take(int count)
{
	static int nonces;
	char nonce[24];

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	assert_int_equal(queue_message_receive(&r, "q", count, MINUTE_MS, nonce), count);
	for (int i = 0; i < count; i++)
		snprintf(receipts[i], sizeof(receipts[0]), "%s", received(&r, (size_t)i, RECEIVED_RECEIPT)->str);
}

/* A waiter gets nothing, and must look again in `look_in_ms`. */
static void waits_for(const char *ticket, int64_t waited_ms, int64_t look_in_ms)
{
	assert_int_equal(queue_wait(&r, "q", ticket, 50000, waited_ms * 1000), 0);
	assert_int_equal(item_int(&r, QUEUE_MESSAGE_RECEIVE_LOOK_AT_MS) - now_ms(), look_in_ms);
	assert_string_equal(line_published(&r), "");
}

/* No waiter is called for `ms`. Then the waiter gets a message. */
static void gets_one_in(const char *ticket, int64_t ms)
{
	pass_ms(ms);
	assert_string_equal(line_published(&r), "");
	assert_int_equal(queue_wait(&r, "q", ticket, 50000 - ms, ms * 1000), 1);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .before = script_stage_empty);

TEST(a_group_spent_its_rate)
{
	put_rules("fair", "-2", "-2", "-2", "1 1000 1");
	line_subscribe(&r, "p:queue:{q}");
	send_to("g", 2);
	take(1);
	pass_ms(300);
	waits_for(TICKET_1, 0, 700);
	send_to("g", 1); /* this message is blocked */
	assert_string_equal(line_published(&r), "");
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 1);
	gets_one_in(TICKET_1, 700);
}

TEST(a_group_is_paused)
{
	put_rules("fair", "-2", "-2", "-2", "-2");
	line_subscribe(&r, "p:queue:{q}");
	send_to("g", 2);
	run(&r, &queue_group_pause_script, queue_keys("q"), ARGS("g", "5000"));
	waits_for(TICKET_1, 0, 5000);
	send_to("g", 1);
	assert_string_equal(line_published(&r), "");
	gets_one_in(TICKET_1, 5000);
}

TEST(the_queue_spent_its_rate)
{
	put_rules("fair", "-2", "-2", "1 1000 1", "-2");
	line_subscribe(&r, "p:queue:{q}");
	send_to(NULL, 2);
	take(1);
	pass_ms(300);
	waits_for(TICKET_1, 0, 700);
	send_to(NULL, 1);
	assert_string_equal(line_published(&r), "");
	gets_one_in(TICKET_1, 700);
}

/* The end of a delivery wakes one waiter for each message for which it makes room. */
TEST(the_queue_has_its_concurrency)
{
	put_rules("fair", "-2", "2", "-2", "-2");
	line_subscribe(&r, "p:queue:{q}");
	send_to("g", 4);
	take(2);
	waits_for(TICKET_1, 0, MINUTE_MS);
	waits_for(TICKET_2, 0, MINUTE_MS + 1000); /* in case the first waiter's daemon has died */
	send_to("h", 1);
	assert_string_equal(line_published(&r), "");
	assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 1);
	assert_string_equal(line_published(&r), "A1 0, B2 1000");
	gets_one_in(TICKET_1, 0);
	assert_int_equal(queue_delivery_reject(&r, "q", receipts[1], 0, "", false), 1);
	assert_string_equal(line_published(&r), "B2 0");
	gets_one_in(TICKET_2, 0);
}

/*
 * Another message of a strict group in flight, or of a group at its group_concurrency, wakes no
 * waiter.
 */
TEST(a_group_is_busy)
{
	for (int strict = 0; strict < 2; strict++) {
		script_stage_empty(state);
		put_rules(strict ? "strict" : "fair", strict ? "-2" : "1", "-2", "-2", "-2");
		line_subscribe(&r, "p:queue:{q}");
		send_to("g", 2);
		take(1);
		waits_for(TICKET_1, 0, MINUTE_MS);
		send_to("g", 1);
		assert_string_equal(line_published(&r), "");
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipts[0]), 1);
		assert_string_equal(line_published(&r), "A1 0");
		gets_one_in(TICKET_1, 0);
	}
}
