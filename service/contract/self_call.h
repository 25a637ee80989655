/*
 * self_call: an operation that the daemon itself runs, as a client would. Its input is JSON that
 * the contract checks, and its answer is what a client would get. The caller knows the contract and
 * must not know the pattern. The operation has no connection, no token and no scope, and is not in
 * the access log.
 *
 *	t->receive = (struct self_call){ .answered = on_received };
 *	self_call_run(&t->receive, self_call_operation("queue_message_receive"),
 *		  &(struct self_call_input){ .name = t->queue, .body = body });
 *	on_received: i->req->answer ...; self_call_end(i);
 */
#ifndef PATTERND_SELF_CALL_H
#define PATTERND_SELF_CALL_H

#include "core/loop.h"
#include "core/text.h"

struct operation;
struct request;
struct request_conditions;

/* An operation that runs; a member of another struct. */
struct self_call {
	/*
	 * Called from the loop, never within self_call_run, with an answer or at `until_us`. The
	 * answer is valid until self_call_end.
	 */
	void (*answered)(struct self_call *i);
	int64_t until_us;       /* if req->state is not ANSWERED then, it has no answer; 0: never */
	struct request *req;    /* NULL: nothing was run, or it has ended */
	struct loop_timer soon; /* calls `answered` */
};

/* Returns an operation of the contract. */
const struct operation *self_call_operation(const char *id);

/* The input of an operation. */
struct self_call_input {
	struct text name; /* value of its first path parameter; absent if it has none */
	const struct text_pair *query;
	size_t query_count;
	struct text body;                            /* absent: no body */
	const struct request_conditions *conditions; /* static; NULL: none */
};

/* Copies the input into a request, as what was asked. False: memory ran out. */
bool self_call_take_input(struct request *req, const struct self_call_input *input);

/* Runs the operation with a copy of the input. False: memory ran out, and nothing was run. */
bool self_call_run(struct self_call *i, const struct operation *op, const struct self_call_input *input);

/* Ends the operation. Before its answer, this is as if a client disconnected. */
void self_call_end(struct self_call *i);

#endif
