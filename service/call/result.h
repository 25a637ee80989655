/* result: the result of a call, beside its reply. Types only. */
#ifndef PATTERND_CALL_RESULT_H
#define PATTERND_CALL_RESULT_H

#include <stdbool.h>
#include <stddef.h>

struct reply;
struct request;

struct call;
typedef void (*call_done)(struct request *req, const struct reply *reply);

/* It is req->result while the `done` of the call runs. */
struct call_result {
	size_t tag;          /* set by call_tag */
	struct call *failed; /* the call, if it has no reply (call_may_fail), else NULL */
	bool replayed;       /* the reply was recorded for an earlier request with the same Idempotency-Key */
	/* replicas that acknowledged the call, and replicas that are connected (call_replicas) */
	unsigned acked, replicas;
};

#endif
