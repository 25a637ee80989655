#include "push/push_outcome.h"

#include <stdio.h>

#include "core/backoff.h"
#include "process/log.h"

enum {
	BACKOFF_MIN_MS = 100,
	BACKOFF_MAX_MS = 10000,
	PAUSE_MIN_MS = 1000,
	PAUSE_MAX_MS = 60000,
	PAUSE_LONGEST_MS = 3600000, /* limits Retry-After, for the target and for the message */
	/* If a message was refused more often (push_refusals.h), its delivery counts. */
	FREE_REFUSALS = 100,
};

static const char counts[] = "it counts as a failure", returns[] = "it returns to the queue";

static int64_t next_backoff_ms(unsigned *failures)
{
	return backoff_ms((*failures)++, BACKOFF_MIN_MS, BACKOFF_MAX_MS, BACKOFF_MIN_MS);
}

static int64_t next_pause_ms(unsigned pauses)
{
	return backoff_ms(pauses, PAUSE_MIN_MS, PAUSE_MAX_MS, PAUSE_MIN_MS);
}

/*
 * Starts or lengthens the pause. Of several requests that were open at once, the longest pause
 * counts.
 */
static void back_off(struct push_target *t, enum push_trouble trouble, int64_t ms, const char *why)
{
	int64_t until_us = push_state_in_ms(ms);

	if (t->trouble == PUSH_NO_TROUBLE && why)
		log_event(LOG_WARN, "push_backs_off", "%s to %s: %s", t->settings->queue.at, t->settings->url.at, why);
	push_state_note_failing(t);
	t->trouble = trouble;
	t->allowed = 1;
	if (t->backs_off_until_us < until_us)
		t->backs_off_until_us = until_us;
}

void push_outcome_not_ready(struct push_target *t, const char *why)
{
	t->attempts_failed++;
	back_off(t, PUSH_NOT_READY, next_backoff_ms(&t->failures), why);
}

int64_t push_outcome_not_received(struct push_target *t, int status)
{
	int64_t ms = next_backoff_ms(&t->receive_failures);
	char why[64];

	snprintf(why, sizeof(why), "a receive from the queue was answered %d", status);
	/* Problems of Redis are logged elsewhere. */
	if (t->trouble == PUSH_NO_TROUBLE)
		back_off(t, PUSH_NOT_RECEIVED, ms, status < 500 ? why : NULL);
	return ms;
}

/* A success of a request that began before the pause does not end the pause. */
static void resume(struct push_target *t)
{
	if (push_state_backs_off(t))
		return;
	if (t->trouble != PUSH_NO_TROUBLE)
		log_event(LOG_INFO, "push_goes_on", "%s to %s: messages are sent again, after %u failed attempts",
			  t->settings->queue.at, t->settings->url.at, t->attempts_failed);
	t->trouble = PUSH_NO_TROUBLE;
	t->failures = t->pauses = t->attempts_failed = 0;
	if (t->allowed < t->settings->concurrency)
		t->allowed++;
}

/* ---- The end of a request ---- */

static void on_done(struct push_target *t, struct push_job *j)
{
	if (j->out.is_larger)
		log_event(LOG_WARN, "push_result_dropped", "%s: the answer to message '%s' has more than 64 KiB",
			  t->settings->queue.at, push_state_logged_id(j));
	t->counts[PUSH_COUNT_ACKNOWLEDGED]++;
	t->failed_in_a_row = 0;
	push_refusals_forget(&t->refusals, j->id);
	push_state_end(t, j, PUSH_ACKNOWLEDGE, true, -1);
	resume(t);
}

static void on_failed(struct push_target *t, struct push_job *j)
{
	j->is_dead = j->answer.verdict == PUSH_DEAD;
	t->counts[j->is_dead ? PUSH_COUNT_DEAD : PUSH_COUNT_FAILED]++;
	push_state_note_failing(t);
	t->failed_in_a_row++;
	push_state_end(t, j, PUSH_REJECT, true, -1);
	push_state_note_failure(t, j, j->answer.reason, j->is_dead ? "it becomes a dead letter" : counts);
}

/*
 * No request was sent. The message is due again at once: here after the pause, or at another
 * daemon.
 */
static void on_unreached(struct push_target *t, struct push_job *j)
{
	t->counts[PUSH_COUNT_UNREACHED]++;
	t->attempts_failed++;
	push_state_end(t, j, PUSH_REJECT, false, 0);
	push_state_note_failure(t, j, j->answer.reason, returns);
	t->must_check = t->settings->ready_url.at != NULL;
	if (t->trouble != PUSH_NOT_REACHED || !push_state_backs_off(t))
		back_off(t, PUSH_NOT_REACHED, next_backoff_ms(&t->failures), j->answer.reason);
}

static int64_t longer_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * The program may lengthen the pause, never shorten it: with a Retry-After of 0 the daemon would
 * call it a thousand times a second.
 */
static void on_busy(struct push_target *t, struct push_job *j)
{
	unsigned refusals = push_refusals_note(&t->refusals, j->id, t->counts[PUSH_COUNT_ACKNOWLEDGED]);
	bool is_own = refusals > FREE_REFUSALS;

	if (t->trouble != PUSH_SENT_AWAY || !push_state_backs_off(t))
		t->pauses++; /* otherwise the request was open when the pause began */
	int64_t asked_ms = j->answer.retry_after_ms < PAUSE_LONGEST_MS ? j->answer.retry_after_ms : PAUSE_LONGEST_MS;
	int64_t pause_ms = longer_of(asked_ms, next_pause_ms(t->pauses - 1));
	t->counts[PUSH_COUNT_BUSY]++;
	t->attempts_failed++;
	push_state_end(t, j, PUSH_REJECT, is_own, is_own ? -1 : longer_of(pause_ms, next_pause_ms(refusals)));
	push_state_note_failure(t, j, j->answer.reason, j->is_counted ? counts : returns);
	back_off(t, PUSH_SENT_AWAY, pause_ms, j->answer.reason);
}

void push_outcome_take(struct push_target *t, struct push_job *j)
{
	static void (*const by_verdict[])(struct push_target *, struct push_job *) = {
		[PUSH_DONE] = on_done, [PUSH_FAILED] = on_failed,       [PUSH_DEAD] = on_failed,
		[PUSH_BUSY] = on_busy, [PUSH_UNREACHED] = on_unreached,
	};

	by_verdict[j->answer.verdict](t, j);
}
