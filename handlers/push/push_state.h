/*
 * push_state: the state of one target of --push, and its list of jobs. push_target.h describes what
 * a target does.
 *
 *	stopping     `is_stopping`: receives no more; push.c frees it once it is idle
 *	backing_off  `backs_off_until_us` is in the future, because of `trouble`: calls nothing
 *	checking     `must_check`: only the ready_path is asked
 *	on           none of these: receives up to `allowed` messages, and sends them
 *
 * All jobs are in one list, ordered by their leases, the oldest first. `count` is the number of
 * jobs in each state (push_job.h).
 */
#ifndef PATTERND_PUSH_STATE_H
#define PATTERND_PUSH_STATE_H

#include "contract/self_call.h"
#include "push/push_job.h"
#include "push/push_refusals.h"

enum { PUSH_LEASE_MS = 15000 };

/* Why the target backs off, or did so last. */
enum push_trouble {
	PUSH_NO_TROUBLE,
	PUSH_NOT_READY,   /* ready_path did not answer 2xx */
	PUSH_NOT_REACHED, /* no connection to the program */
	PUSH_SENT_AWAY,   /* the program answered 429 or 503 */
	PUSH_NOT_RECEIVED /* the queue could not be asked */
};

/* How requests ended, since the start or since the target was read from the file. */
enum push_count {
	PUSH_COUNT_ACKNOWLEDGED,
	PUSH_COUNT_FAILED,
	PUSH_COUNT_DEAD,
	PUSH_COUNT_BUSY,
	PUSH_COUNT_UNREACHED,
	PUSH_COUNT_LOST, /* the delivery ended first: the request was closed, or the settling came too late */
	PUSH_COUNTS
};

struct push_target {
	struct push_settings *settings; /* owned */
	struct push_target *next;
	struct push_job *jobs;
	unsigned count[PUSH_SETTLING + 1]; /* jobs in each state */
	size_t bytes;                      /* of the messages of all jobs */
	unsigned allowed;                  /* requests that may be open */
	struct loop_timer timer;
	struct self_call receive, settle, extend;
	struct outbound check; /* the request to ready_path */
	struct arena check_arena;
	bool is_checking, must_check, is_stopping;
	enum push_trouble trouble;
	unsigned failures; /* in a row, to reach the program */
	unsigned pauses;   /* in a row, that the program asked for */
	struct push_refusals refusals;
	unsigned receive_failures;
	unsigned failed_in_a_row; /* requests that the program failed since it acknowledged one */
	unsigned attempts_failed; /* to send a message or to reach ready_path, since the trouble began */
	int64_t failing_since_ms; /* used while it has a trouble or failed_in_a_row */
	int64_t backs_off_until_us, raise_at_us, receive_at_us, settle_at_us, extend_at_us;
	uint64_t counts[PUSH_COUNTS];
	char last_failure[PUSH_REASON_BYTES];
	int64_t last_failure_at_ms; /* 0: none */
	int64_t last_failure_us;    /* the same by the loop's clock */
};

/* True while the target pauses: it receives and sends nothing, and continues without a call. */
bool push_state_backs_off(const struct push_target *t);
/* Returns an instant on the loop's clock. */
int64_t push_state_in_ms(int64_t ms);
/*
 * Returns false while the messages of all targets take a quarter of --max-request-memory, unless
 * this target has none. So programs that hang leave room for large requests of clients.
 */
bool push_state_has_room(const struct push_target *t);
/* Call it before a trouble, or a failure of the program, is set. */
void push_state_note_failing(struct push_target *t);
/* Has the target act in the next iteration of the loop. */
void push_state_act_soon(struct push_target *t);

/* ---- The jobs of a target ---- */

/* push_state_add appends a READY job, so the list stays ordered by leases. */
void push_state_add(struct push_target *t, struct push_job *j);
void push_state_move(struct push_target *t, struct push_job *j, enum push_job_state to);
/* Removes the job from the list, and frees it. */
void push_state_drop(struct push_target *t, struct push_job **at);
/* Makes the job ENDED, so that its delivery will be settled. delay_ms -1: the queue's backoff. */
void push_state_end(struct push_target *t, struct push_job *j, enum push_end end, bool is_counted, int64_t delay_ms);
/* Returns the message's id for the log, or "-" with --log-names off. */
const char *push_state_logged_id(const struct push_job *j);
/*
 * Logs why a delivery failed and what happens to the message (`so`), and stores `why` as
 * last_failure. While the target is in trouble, only failures that count are logged.
 */
void push_state_note_failure(struct push_target *t, const struct push_job *j, const char *why, const char *so);

#endif
