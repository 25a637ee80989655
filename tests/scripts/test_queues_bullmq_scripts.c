/*
 * BullMQ's published cases of deduplication as facts: what runs, with which data, and how many adds
 * are duplicates. Source: taskforcesh/bullmq, tests/deduplication.test.ts at 0d07c9a6 (MIT
 * licence). The facts are taken, not the code.
 *
 * BullMQ's { id } is keep with dedupe_ms 0 here, { id, replace } is replace, { id, ttl, extend,
 * replace } with a delay is extend, and { id, keepLastIfActive } is after. Cases of stale keys, of
 * events, and of a job with an id beside its deduplication id are not taken.
 *
 * A case is a row of steps:
 *
 *	k1 r1 e1 a1	add 1 by keep, replace, extend, after; behind a comma with a delay: e1,500
 *	+250		so many ms pass
 *	>1 >-		a worker gets 1; nothing is there for one
 *	. ! !!		it is done; it failed and is tried again; it failed for good
 *	x		the job that the id names is removed
 *	p c		the queue is paused, and continues
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { LONG_MS = 3600000 };

static const struct {
	const char *name, *steps;
	int duplicates, left; /* how many were duplicates; how many messages there are at the end */
} cases[] = {
	{ "emits deduplicated event", "k1 k1", 1, 1 },
	{ "waits until job is finished before removing deduplication key", "k1 >1 +100 k1 +100 k1 +100 . k1", 2, 1 },
	{ "removes deduplication key, when removing deduplicated job", "k1 x k1 k1 +100 k1 x", 2, 0 },
	{ "extend without replace resets ttl: the first data runs", "k1,500 +250 k2,500 +250 >1 k3,500 .", 2, 0 },
	{ "removes last job if it is in delayed state", "r1,500 +150 r2,250 +250 >2 +150 r3,500 .", 2, 0 },
	{ "resets ttl and removes last job if it is in delayed state",
	  "e0,500 +25 e1,500 +25 e2,500 +25 e3,500 +25 e4,500 +25 e5,500 +25 e6,500 +25 e7,500 +25 e8,500 +25 e9,500 "
	  "+499 >- +1 >9 .",
	  9, 0 },
	{ "should store next job data and create new job when active job completes", "a1 >1 a2 . >2 .", 1, 0 },
	{ "should still deduplicate when dedup job is waiting (not active)", "a1 a2", 1, 1 },
	{ "should replace stored data with latest when multiple jobs added while active", "a1 >1 a2 a3 +500 . >3 .", 2,
	  0 },
	{ "should not allow parallel execution of jobs with same dedup id", "a1 >1 a2 >- +200 >- . >2 .", 1, 0 },
	{ "should properly clean up after both jobs complete", "a1 >1 a2 . >2 . a3 >3 .", 1, 0 },
	{ "should add next job to paused list when queue is paused and process after resume", "a1 >1 p a2 . >- c >2 .",
	  1, 0 },
	{ "should allow delay with keepLastIfActive", "a1,5000 +4999 >- +1 >1 .", 0, 0 },
	{ "should requeue next job when active job fails permanently", "a1 >1 a2 !! >2 .", 1, 1 },
	{ "should requeue next job only after retries are exhausted", "a1 >1 a2 ! >1 ! >1 !! >2 .", 1, 1 },
	{ "should prevent parallel execution even when ttl expires while job is active", "a1 >1 +300 a2 >- +200 . >2 .",
	  1, 0 },

	/*
	 * The difference: there is no ttl after which a second job with the id may exist beside the
	 * first. BullMQ's "uses a fixed time period" makes a second job at the 2100th ms, and its
	 * "removes last job ..." with ttl runs both 2 and 3.
	 */
	{ "uses a fixed time period", "k1 +1000 k1 k1 +1100 k1 k1 k1", 5, 1 },
	{ "removes last job if it is in delayed state, with ttl", "r1,500 +250 r2,500 +300 r3,500 +500 >3 .", 2, 0 },
	/* The delay counts from the add here, and from the end of the earlier job in BullMQ. */
	{ "should requeue with delay when active job completes", "a1,1000 +1000 >1 a2,1000 +500 . >- +500 >2 .", 1, 0 },
};

static char receipt[64];

static int add(const char *step)
{
	const char *comma = strchr(step, ',');
	char body[8], way[2] = { *step == 'k' ? '\0' : *step, '\0' };

	snprintf(body, sizeof(body), "%c", step[1]);
	queue_message_send(&r, "q",
			   (struct outgoing){ .id = "a",
					      .body = body,
					      .on_duplicate = *way ? way : NULL,
					      .delay_ms = comma ? atoi(comma + 1) : 0 });
	return sent(&r, 0, QUEUE_SENT_OUTCOME)->integer != 0;
}

static void work(const char *wanted, const char *name)
{
	static char nonce[24];
	static int nonces;

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	bool has = queue_message_receive(&r, "q", 1, LONG_MS, nonce) > 0;
	const char *got = has ? received(&r, 0, RECEIVED_BODY)->str : "-";
	if (strcmp(got, wanted) != 0)
		fail_msg("%s: a worker got %s, not %s", name, got, wanted);
	if (has)
		snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
}

static void pause_queue(bool paused)
{
	struct queue_settings settings = standard_settings;

	settings.dedupe_ms = 0;
	settings.paused = paused;
	queue_put(&r, "q", settings);
}

static int step(const char *text, const char *name)
{
	switch (*text) {
	case '+':
		*script_clock_us += 1000LL * atoi(text + 1);
		return 0;
	case '>':
		work(text + 1, name);
		return 0;
	case '.':
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
		return 0;
	case '!':
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "no", text[1] == '!'), 1);
		return 0;
	case 'x':
		assert_int_equal(queue_message_delete(&r, "q", "a"), 1);
		return 0;
	case 'p':
	case 'c':
		pause_queue(*text == 'p');
		return 0;
	}
	return add(text);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close);

TEST(they_run_as_published)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		int duplicates = 0;
		char *steps = strdup(cases[i].steps), *rest = NULL;
		script_stage_empty(NULL);
		pause_queue(false);
		for (char *text = strtok_r(steps, " ", &rest); text; text = strtok_r(NULL, " ", &rest))
			duplicates += step(text, cases[i].name);
		free(steps);
		if (duplicates != cases[i].duplicates)
			fail_msg("%s: %d duplicates", cases[i].name, duplicates);
		assert_int_equal(queue_contents(&r, "q"), cases[i].left);
	}
}
