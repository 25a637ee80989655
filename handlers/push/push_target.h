/*
 * push_target: one queue whose messages go to one program.
 *
 * A target receives, settles and extends by operations of the contract (contract/inner.h), as any
 * client: so a push is a receive like any other, and groups, rates and policies hold. A delivery is
 * held for PUSH_LEASE_MS, and extended while its request is open: the open request is the lease, and
 * what a daemon that was killed had pushed is back after PUSH_LEASE_MS.
 *
 * It receives only for as many requests as may be open: from one, one more with each success, up to
 * `concurrency`. A program that is away or asks for a pause is not called for a while: the target
 * stands. Then it begins with one again.
 */
#ifndef PATTERND_PUSH_TARGET_H
#define PATTERND_PUSH_TARGET_H

#include "contract/inner.h"
#include "json/out.h"
#include "push/push_job.h"

enum { PUSH_LEASE_MS = 15000 };

/* Why a target stands, or last stood. */
enum push_trouble {
	PUSH_NO_TROUBLE,
	PUSH_NOT_READY,   /* the ready_path did not answer 2xx */
	PUSH_NOT_REACHED, /* no connection */
	PUSH_PAUSED,      /* 429 or 503 */
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
	int64_t stands_until_us, receive_at_us, settle_at_us, extend_at_us;
	uint64_t counts[PUSH_COUNTS];
	char last_failure[PUSH_REASON_BYTES];
	int64_t last_failure_at_ms; /* 0: none */
};

/* Takes the settings. NULL without memory. It does nothing before push_target_act. */
struct push_target *push_target_new(struct push_settings *settings);
/* Gives up what it has: its messages come back when their lease ends. */
void push_target_free(struct push_target *t);

/* Does what is due, and sets its timer. */
void push_target_act(struct push_target *t);

/* Takes no more; what was not begun returns. It is idle when nothing is left. */
void push_target_stop(struct push_target *t);
bool push_target_is_idle(const struct push_target *t);

/* Called when a request of any target has ended, so that another may begin. */
void push_target_set_freed(void (*freed)(void));

/* It stands now. */
bool push_target_stands(const struct push_target *t);

/* As GET /push has it: an item of its list. */
void push_target_out(struct json_out *o, const struct push_target *t);

#endif
