/*
 * call: what handlers see of a call: its script, its `done`, and its result. script.h makes calls.
 */
#ifndef PATTERND_CALL_H
#define PATTERND_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"
#include "redis/reply.h"
#include "redis/reply_form.h"
#include "request/replay.h"

struct request;

struct script {
	const char *name;
	struct text source;
	const struct reply_form *forms; /* of its replies, by outcome */
	char sha1[41];                  /* hex digits */
	enum replay replay;             /* of its idempotency record; REPLAY_NONE: it keeps none */
	bool writes;                    /* false: a lost reply has effect none */
	bool indexed; /* its last key, before that of the record, is the index of names (name_index.h) */
};

struct call;
typedef void (*call_done)(struct request *req, const struct reply *reply);

/* What is known of a call beside its reply: req->result while its `done` runs. */
struct call_result {
	size_t tag;               /* of call_tag */
	struct call *failed;      /* the call when it has no reply (call_may_fail), else NULL */
	bool replayed;            /* the reply is that of an earlier request with the same Idempotency-Key */
	unsigned acked, replicas; /* replicas that acknowledged it, and that are connected (call_replicas) */
};

#endif
