/*
 * What time has ended counts the same, whichever script meets it first. The test is a walk of
 * random sends, receives, looks, and changes of messages, settings and schedules, while time
 * passes.
 *
 * After each step: the counters of the queue have not fallen. Each message that was ever stored is
 * in the queue, or was acknowledged, removed or dropped for its ttl. Each instant of the schedule
 * made a message, was missed or was skipped. An instant was skipped only if the message of the one
 * before was still to be done.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "random_walk.h"
#include "script_stage.h"
#include "test.h"

enum { STEPS = 3000, EVERY_MS = 100, JITTER_MS = 30, IDS = 40, RECEIPTS = 16 };

static int64_t now_ms = INT64_C(1700000000000); /* by Redis's clock */
static int64_t made_at_ms;                      /* the schedule's anchor */
static int64_t acknowledged, removed, requested;
static char ids[IDS][32], receipts[RECEIPTS][64];
static struct queue_counts last;

static const char *any_id(void)
{
	return ids[random_below(IDS)];
}

static const char *any_receipt(void)
{
	return receipts[random_below(RECEIPTS)];
}

static void remember_id(const char *id)
{
	snprintf(ids[random_below(IDS)], sizeof(ids[0]), "%s", id);
}

/* ---- Steps ---- */

static void send_one(void)
{
	int64_t ttl_ms = ONE_OF(0, 0, 40, 200);

	queue_message_send(&r, "q",
			   (struct outgoing){ .priority = ONE_OF(0, 4, 9),
					      .delay_ms = ONE_OF(0, 0, 10),
					      .ttl_ms = ttl_ms,
					      .max_receives = ONE_OF(0, 0, 1) });
	remember_id(sent(&r, 0, QUEUE_SENT_ID)->str);
}

static void receive_some(void)
{
	static int nonces;
	char nonce[24];

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	int64_t count = queue_message_receive(&r, "q", ONE_OF(1, 3), ONE_OF(5, 30, 120), nonce);
	for (size_t i = 0; i < (size_t)count; i++) {
		snprintf(receipts[random_below(RECEIPTS)], sizeof(receipts[0]), "%s",
			 received(&r, i, RECEIVED_RECEIPT)->str);
		remember_id(received(&r, i, RECEIVED_ID)->str);
	}
}

static void end_one(void)
{
	const char *receipt = any_receipt();

	if (!*receipt)
		return;
	if (random_below(2))
		acknowledged += queue_delivery_acknowledge(&r, "q", receipt) == 1;
	else if (random_below(8) == 0)
		queue_delivery_uncount(&r, "q", receipt, ONE_OF(-1, 10));
	else
		queue_delivery_reject(&r, "q", receipt, ONE_OF(-1, 0, 10), "no", false);
}

static void patch_one(void)
{
	queue_message_patch(&r, "q", any_id(), ONE_OF(-1, 0, 20, 500), -1, ONE_OF(0, 9));
}

static void delete_one(void)
{
	removed += queue_message_delete(&r, "q", any_id()) == 1;
}

static void redrive(void)
{
	const char *chosen = any_id();

	if (random_below(2))
		queue_redrive(&r, "q", -1, NULL);
	else if (*chosen)
		run(&r, &queue_message_redrive_script, queue_keys("q"),
		    ARGS(random_below(2) ? "0" : "40", chosen, any_id(), chosen));
}

static void purge(void)
{
	static const char *const states[] = { "ready", "delayed", "in_flight", "dead", "" };

	if (random_below(8) == 0)
		removed += queue_purge(&r, "q", states[random_below(5)], NULL);
}

static void change_settings(void)
{
	struct queue_settings settings = standard_settings;

	settings.max_receives = ONE_OF(1, 1, 2, 5);
	settings.backoff_base_ms = ONE_OF(0, 5);
	settings.backoff_max_ms = ONE_OF(5, 12);
	settings.paused = random_below(6) == 0;
	queue_put(&r, "q", settings);
}

/* As when a program starts again, and PUTs its schedule unchanged. */
static void put_schedule(void)
{
	run(&r, &queue_schedule_put_script, queue_keys("q"),
	    ARGS("s", "\"s\"", "0", "=100", "~", "~", "~", "~", "=4", "=skip", "~", "=1", "~", "~", "~", "~", "=30",
		 "~"));
	assert_int_equal(outcome(&r), 1);
}

/* A run makes no message while the previous message is not done. */
static void run_schedule(void)
{
	run(&r, &queue_schedule_run_script, queue_keys("q"), ARGS("s"));
	if (outcome(&r) == 1) {
		requested++;
		remember_id(item_text(&r, QUEUE_SCHEDULE_RUN_MESSAGE_ID));
	} else {
		assert_int_equal(outcome(&r), QUEUE_SCHEDULE_RUN_OVERLAP);
	}
}

static void look(void)
{
	switch (random_below(4)) {
	case 0:
		run(&r, &queue_settle_script, queue_keys("q"), ARGS());
		break;
	case 1:
		queue_message_get(&r, "q", any_id());
		break;
	case 2:
		run(&r, &queue_message_list_script, queue_keys("q"), ARGS("dead", "10", "-1", "-1", "", "1"));
		break;
	default:
		queue_get(&r, "q");
	}
}

/* ---- What must hold ---- */

struct schedule {
	int64_t next, sent, missed, skipped;
};

static struct schedule schedule_now(void)
{
	run(&r, &queue_schedule_get_script, queue_keys("q"), ARGS("s", "1"));
	assert_int_equal(outcome(&r), 0);
	redisReply **s = r.reply->element[QUEUE_SCHEDULE_GET_SCHEDULE]->element;
	return (struct schedule){ s[QUEUE_SCHEDULE_NEXT_AT_MS]->integer, s[QUEUE_SCHEDULE_SENT]->integer,
				  s[QUEUE_SCHEDULE_MISSED]->integer, s[QUEUE_SCHEDULE_SKIPPED]->integer };
}

/* Returns whether a message of the schedule is ready, delayed or in flight. */
static bool is_to_be_done(void)
{
	static const char *const states[] = { "ready", "delayed", "in_flight" };

	for (size_t i = 0; i < 3; i++) {
		run(&r, &queue_message_list_script, queue_keys("q"), ARGS(states[i], "1000", "-1", "-1", "", "1"));
		for (size_t k = QUEUE_MESSAGE_LIST_MESSAGES; k < r.reply->elements; k++)
			if (strstr(r.reply->element[k]->element[QUEUE_MESSAGE_CONTENT]->str, "\ts{\"id\""))
				return true;
	}
	return false;
}

static void assert_counters_rise(void)
{
	struct queue_counts c = queue_get(&r, "q");

	assert_true(c.sent >= last.sent);
	assert_true(c.expired >= last.expired);
	assert_true(c.died >= last.died);
	/* A message past its ttl counts until a receive meets it. */
	assert_int_equal(c.sent, c.ready + c.delayed + c.in_flight + c.dead + c.expired + acknowledged + removed);
	last = c;
}

static void assert_every_instant_counts(struct schedule before, bool was_to_be_done)
{
	struct schedule s = schedule_now();

	assert_true(s.skipped == before.skipped || was_to_be_done);
	int64_t instants = s.sent - requested + s.missed + s.skipped;
	assert_in_range(s.next - made_at_ms - (instants + 1) * EVERY_MS, 0, JITTER_MS);
	assert_true(s.next >= before.next);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);

TEST(whatever_meets_it_first)
{
	static void (*const steps[])(void) = { send_one,     send_one, receive_some, receive_some,
					       end_one,      end_one,  patch_one,    delete_one,
					       redrive,      purge,    look,         change_settings,
					       put_schedule, look,     put_schedule, run_schedule };
	random_begin(12);
	made_at_ms = now_ms;
	put_schedule();
	for (int i = 0; i < STEPS; i++) {
		now_ms += ONE_OF(0, 0, 1, 7, 40, 130);
		*script_clock_us = now_ms * 1000;
		bool was_to_be_done = is_to_be_done();
		struct schedule before = schedule_now();
		steps[random_below(COUNT(steps))]();
		assert_every_instant_counts(before, was_to_be_done);
		assert_counters_rise();
	}
	/* The walk has done enough of each. */
	struct schedule s = schedule_now();
	assert_true(s.sent - requested > 50 && requested > 5 && s.skipped > 50 && last.died > 50 && last.expired > 50);
}

/* Redis's clock leaps ahead while a receive runs, and is set back. */
TEST(a_clock_that_was_ahead_is_healed)
{
	static const int64_t hour_ms = 3600000;

	put_schedule();
	int64_t next = schedule_now().next;
	*script_clock_us = (now_ms + hour_ms) * 1000;
	receive_some();
	assert_true(schedule_now().next > now_ms + hour_ms);
	*script_clock_us = now_ms * 1000;
	put_schedule();
	assert_int_equal(schedule_now().next, next);
}

/* A schedule whose last instant has come makes its message, and is deleted nevertheless. */
TEST(a_schedule_that_is_due_is_deleted)
{
	char until[32];

	snprintf(until, sizeof(until), "=%" PRId64, now_ms + EVERY_MS);
	run(&r, &queue_schedule_put_script, queue_keys("q"),
	    ARGS("s", "\"s\"", "0", "=100", "~", "~", "~", until, "=4", "=skip", "~", "=1", IN_UTC));
	*script_clock_us = (now_ms + EVERY_MS) * 1000;
	run(&r, &queue_schedule_delete_script, queue_keys("q"), ARGS("s"));
	assert_int_equal(outcome(&r), 1);
	assert_counts(&r, "q", 1, 0, 0, 0);
	run(&r, &queue_schedule_delete_script, queue_keys("q"), ARGS("s"));
	assert_int_equal(outcome(&r), 0);
}
