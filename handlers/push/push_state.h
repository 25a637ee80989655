/*
 * push_state: what a target of --push has, and its jobs; see push_target.h for what it does.
 *
 * The jobs are one list, oldest lease first; `count` has how many are in each state.
 */
#ifndef PATTERND_PUSH_STATE_H
#define PATTERND_PUSH_STATE_H

#include "contract/inner.h"
#include "push/push_job.h"

enum { PUSH_LEASE_MS = 15000 };

/* Why a target backs off, or last did. */
enum push_trouble {
	PUSH_NO_TROUBLE,
	PUSH_NOT_READY,   /* the ready_path did not answer 2xx */
	PUSH_NOT_REACHED, /* no connection */
	PUSH_SENT_AWAY,   /* 429 or 503 */
	PUSH_NOT_RECEIVED /* the queue could not be asked */
};

/* How requests ended, since the daemon started or read the file. */
enum push_count {
	PUSH_COUNT_ACKNOWLEDGED,
	PUSH_COUNT_FAILED,
	PUSH_COUNT_DEAD,
	PUSH_COUNT_BUSY,
	PUSH_COUNT_UNREACHED,
	PUSH_COUNT_LOST, /* its delivery ended first: its request was closed, or its end came too late */
	PUSH_COUNTS
};

struct push_target {
	struct push_settings *settings; /* owned */
	struct push_target *next;
	struct push_job *jobs;
	unsigned count[PUSH_SETTLING + 1]; /* of jobs, in each state */
	unsigned allowed;                  /* requests at once */
	struct loop_timer timer;
	struct inner receive, settle, extend;
	struct outbound check; /* asks the ready_path */
	struct arena check_arena;
	bool is_checking, must_check, is_stopping;
	enum push_trouble trouble;
	unsigned failures; /* in a row, of reaching it */
	unsigned pauses;   /* in a row, that it asked for */
	unsigned receive_failures;
	int64_t backs_off_until_us, raise_at_us, receive_at_us, settle_at_us, extend_at_us;
	uint64_t counts[PUSH_COUNTS];
	char last_failure[PUSH_REASON_BYTES];
	int64_t last_failure_at_ms; /* 0: none */
};

/* Calls nothing now, and goes on by itself. */
bool push_state_backs_off(const struct push_target *t);
/* An instant on the loop's clock. */
int64_t push_state_in_ms(int64_t ms);
/* The target acts as soon as the loop comes to it. */
void push_state_act_soon(struct push_target *t);

/* ---- Its jobs ---- */

/* READY, behind the others, as their leases are in order. */
void push_state_add(struct push_target *t, struct push_job *j);
void push_state_move(struct push_target *t, struct push_job *j, enum push_job_state to);
/* Takes it off the list, and frees it. */
void push_state_drop(struct push_target *t, struct push_job **at);
/* ENDED: so its delivery is to be settled. */
void push_state_end(struct push_target *t, struct push_job *j, enum push_end end, bool is_counted, int64_t delay_ms);
/* The id of its message for a line of the log, which leaves it out with --log-names off. */
const char *push_state_logged_id(const struct push_job *j);
/* A line in the log, and `last_failure`: why, and what becomes of the message. */
void push_state_note_failure(struct push_target *t, const struct push_job *j, const char *why, const char *so);

#endif
