/* Tests of push_outcome: what 429 and 503 mean for the message and for its target. */
#include "process/config.h"
#include "push/push_outcome.h"
#include "test.h"

enum { FREE = 100, HOUR_MS = 3600000 };

static struct push_settings settings;
static struct push_target target;
static struct push_job job;

static int open_options(void **state)
{
	char *argv[] = { "patternd", NULL }, *environment[] = { NULL };

	settings.queue = settings.url = TEXT("x");
	return config_load(1, argv, environment) == CONFIG_RUN ? 0 : -1;
}

static int close_options(void **state)
{
	config_free();
	return 0;
}

static int clear(void **state)
{
	target = (struct push_target){ .settings = &settings };
	return 0;
}

SUITE(.open = open_options, .close = close_options, .before = clear);

/* The program answers 503 to the message, after the pause. */
static void refuse(const char *id, int64_t retry_after_ms)
{
	target.backs_off_until_us = 0;
	target.count[PUSH_SENT] = 1;
	job = (struct push_job){ .state = PUSH_SENT, .id = text_of(id), .receives = 1 };
	job.answer.verdict = PUSH_BUSY;
	job.answer.retry_after_ms = retry_after_ms;
	push_outcome_take(&target, &job);
}

static int64_t pause_ms(void)
{
	return (target.backs_off_until_us - loop_now_us()) / 1000;
}

TEST(a_pause_grows_and_a_program_can_only_lengthen_it)
{
	static const struct {
		int64_t asked_ms, low, high;
	} rows[] = {
		{ -1, 999, 1500 },
		{ 0, 999, 2000 },
		{ 0, 1999, 4000 },
		{ 10000, 9999, 10000 },
		{ 1000, 7999, 16000 },
		{ 0, 15999, 32000 },
		{ 0, 29999, 60000 },
		{ 1000, 29999, 60000 },
		{ 100000, 99999, 100000 },
		{ -1, 29999, 60000 },
		{ INT64_MAX, HOUR_MS - 1, HOUR_MS },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		refuse("m", rows[i].asked_ms);
		assert_in_range(pause_ms(), rows[i].low, rows[i].high);
		assert_in_range(job.delay_ms, rows[i].low, rows[i].high);
		assert_false(job.is_counted);
	}
}

TEST(no_message_pays_for_a_busy_program)
{
	for (int i = 0; i < 10 * FREE; i++) {
		refuse("m", 0);
		assert_false(job.is_counted);
	}
}

TEST(a_message_pays_if_the_program_takes_others)
{
	for (int i = 0; i <= FREE; i++) {
		refuse("m", 0);
		assert_false(job.is_counted);
		target.counts[PUSH_COUNT_ACKNOWLEDGED]++;
	}
	refuse("other", 0);
	assert_false(job.is_counted);
	refuse("m", 0);
	assert_true(job.is_counted);
	assert_int_equal(job.delay_ms, -1); /* the queue's backoff */
	assert_in_range(pause_ms(), 999, 60000);
}
