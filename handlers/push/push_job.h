/*
 * push_job: one message on its way to a program, from the answer of a receive to its settling.
 *
 *	READY --> SENT --> ENDED <--> SETTLING     freed once it is settled
 *	  |                  ^
 *	  +------------------+                     returned, not begun
 *
 *	READY     received; its request has not begun
 *	SENT      its request to the program is open (`out`)
 *	ENDED     its delivery is to be settled as `end` states
 *	SETTLING  a receive or a settle that carries its end is under way (`settled_by`)
 *
 * A job of any state is in the list `jobs` of its target, and push_state_move changes `state`
 * (push_state.h). While it is READY or SENT its lease is extended (push_lease.h).
 */
#ifndef PATTERND_PUSH_JOB_H
#define PATTERND_PUSH_JOB_H

#include "core/arena.h"
#include "outbound/outbound.h"
#include "push/push_answer.h"
#include "push/push_file.h"
#include "json/tree.h"

enum push_job_state { PUSH_READY, PUSH_SENT, PUSH_ENDED, PUSH_SETTLING };

/* How the delivery is settled. */
enum push_end { PUSH_ACKNOWLEDGE, PUSH_REJECT };

struct push_job {
	struct arena arena; /* has all memory of the job, this struct included */
	struct push_job *next;
	void *target; /* (ref) the target that owns the job */
	enum push_job_state state;
	struct text receipt, id, body;
	struct text *headers;
	size_t header_count;
	int64_t receives;
	int64_t held_until_us; /* until then no other consumer can have the delivery, on the loop's clock */
	struct outbound out;
	struct push_answer answer;
	void (*ended)(struct push_job *j); /* called when the request has ended; `answer` has been judged */
	/* Set once it is ENDED: */
	enum push_end end;
	bool is_counted, is_dead;
	int64_t delay_ms; /* -1: the queue's backoff */
	void *settled_by; /* (ref) the operation that carries its end */
};

/* Copies a message from the answer of a receive. NULL: memory ran out. */
struct push_job *push_job_new(const struct json *message);
/* push_job_new_bare makes a job that can only be settled. It may exceed the memory budget. */
struct push_job *push_job_new_bare(const struct json *message);
void push_job_free(struct push_job *j);

/*
 * Sends the job to its program. False: nothing was sent, since memory or a free request is missing.
 */
bool push_job_send(struct push_job *j, const struct push_settings *to);

#endif
