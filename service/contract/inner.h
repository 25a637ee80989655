/*
 * inner: an operation that the daemon runs by itself, as a client would. Its input is JSON that the
 * contract checks, and its answer is what a client would get: the caller knows the contract and no
 * pattern. It has no connection, no token and no scope, and is in no log of requests.
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

/* A member of another struct. */
struct inner {
	/* Called from the loop, never within inner_run; the answer is valid until inner_end. */
	void (*answered)(struct inner *i);
	struct request *req;    /* NULL: none was run, or it has ended */
	struct loop_timer soon; /* calls `answered` */
};

/* An operation that the contract has. */
const struct operation *inner_operation(const char *id);

/* What it is asked. */
struct inner_input {
	struct text name; /* the value of its first path parameter; absent without one */
	const struct text_pair *query;
	size_t query_count;
	struct text body; /* absent without one */
};

/* Runs it with a copy of that. False without memory: nothing was run. */
bool inner_run(struct inner *i, const struct operation *op, const struct inner_input *input);

/* Ends it, answered or not: before its answer, it is as if a client disconnected. */
void inner_end(struct inner *i);

#endif
