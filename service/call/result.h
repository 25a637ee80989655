/* result: what comes of a call. */
#ifndef PATTERND_CALL_RESULT_H
#define PATTERND_CALL_RESULT_H

#include <stdbool.h>
#include <stddef.h>

struct reply;
struct request;

struct call;
typedef void (*call_done)(struct request *req, const struct reply *reply);

/* What is known of a call beside its reply: req->result while its `done` runs. */
struct call_result {
	size_t tag;               /* of call_tag */
	struct call *failed;      /* the call when it has no reply (call_may_fail), else NULL */
	bool replayed;            /* an earlier request with the same Idempotency-Key got the reply */
	unsigned acked, replicas; /* replicas that acknowledged it, and that are connected (call_replicas) */
};

#endif
