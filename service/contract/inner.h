/*
 * inner: an operation that the daemon itself runs, as a client would. Its input is JSON that the
 * contract checks, and its answer is what a client would get. The caller knows the contract and
 * must not know the pattern. The operation has no connection, no token and no scope, and is not in
 * the access log.
 *
 *	t->receive = (struct inner){ .answered = on_received };
 *	inner_run(&t->receive, inner_operation("queue_message_receive"),
 *		  &(struct inner_input){ .name = t->queue, .body = body });
 *	on_received: i->req->answer ...; inner_end(i);
 */
#ifndef PATTERND_INNER_H
#define PATTERND_INNER_H

#include "core/loop.h"
#include "core/text.h"

struct operation;
struct request;

/* An operation that runs; a member of another struct. */
struct inner {
	/*
	 * Called from the loop, never within inner_run, with an answer or at `until_us`. The answer
	 * is valid until inner_end.
	 */
	void (*answered)(struct inner *i);
	int64_t until_us;       /* if req->state is not ANSWERED then, it has no answer; 0: never */
	struct request *req;    /* NULL: nothing was run, or it has ended */
	struct loop_timer soon; /* calls `answered` */
};

/* Returns an operation of the contract. */
const struct operation *inner_operation(const char *id);

/* The input of an operation. */
struct inner_input {
	struct text name; /* value of its first path parameter; absent if it has none */
	const struct text_pair *query;
	size_t query_count;
	struct text body; /* absent: no body */
};

/* Runs the operation with a copy of the input. False: memory ran out, and nothing was run. */
bool inner_run(struct inner *i, const struct operation *op, const struct inner_input *input);

/* Ends the operation. Before its answer, this is as if a client disconnected. */
void inner_end(struct inner *i);

#endif
