/*
 * push_job: one message on its way to a program, from the answer of a receive to its settling.
 *
 *	READY --> SENT --> ENDED <--> SETTLING     freed once it is settled
 *	  |                  ^
 *	  +------------------+                    returned, not begun
 *
 * Each state is one of the target's lists (push_target.h), which moves it.
 */
#ifndef PATTERND_PUSH_JOB_H
#define PATTERND_PUSH_JOB_H

#include "core/arena.h"
#include "outbound/outbound.h"
#include "push/push_answer.h"
#include "push/push_file.h"
#include "json/tree.h"

enum push_job_state { PUSH_READY, PUSH_SENT, PUSH_ENDED, PUSH_SETTLING };

/* As settle has it. */
enum push_end { PUSH_ACKNOWLEDGE, PUSH_REJECT };

struct push_job {
	struct arena arena; /* everything is in it, this struct, too */
	struct push_job *next;
	void *target; /* (ref) the owner's side */
	enum push_job_state state;
	struct text receipt, id, body;
	struct text *headers;
	size_t header_count;
	int64_t receives;
	int64_t held_until_us; /* the delivery is certainly its own until then, on the loop's clock */
	struct outbound out;
	struct push_answer answer;
	void (*ended)(struct push_job *j); /* its request has; `answer` was judged */
	/* How its delivery ends */
	enum push_end end;
	bool is_counted, is_dead;
	int64_t delay_ms; /* -1: the queue's backoff */
	void *settled_by; /* (ref) what carries its end while SETTLING */
};

/* Of a message as a receive answers it, which it copies. NULL without memory. */
struct push_job *push_job_new(const struct json *message);
/* One that can only be settled, beyond the budget of memory. */
struct push_job *push_job_new_bare(const struct json *message);
void push_job_free(struct push_job *j);

/* Sends it to its program. False: nothing was begun, for lack of memory or of a free request. */
bool push_job_send(struct push_job *j, const struct push_settings *to);

#endif
