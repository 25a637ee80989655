/* state: what a call is made of. call.c assembles it, call_wire.c sends it. */
#ifndef PATTERND_CALL_STATE_H
#define PATTERND_CALL_STATE_H

#include "call/result.h"
#include "call/script.h"
#include "core/loop.h"
#include "request/request.h"
#include "topology/topology.h"

/* A string list that grows in the arena. */
struct call_strings {
	struct text *at;
	size_t count, size;
};

struct call {
	struct redis_call redis;
	struct request *req;         /* (ref) */
	const struct script *script; /* NULL: a plain command */
	const char *verb, *form;     /* of a plain command, and of its reply; static */
	bool writes;
	bool without_record;
	struct text part; /* of the request, with its own idempotency record; absent: it is the whole */
	bool has_record;  /* the script keeps its reply for a replay, if it has an effect */
	bool sent_whole;  /* after NOSCRIPT */
	struct call_strings keys, args;
	struct text *command; /* keys and args as they are sent, behind the head of the command */
	size_t command_count;
	call_done done;    /* NULL: nothing is to be done */
	unsigned parkings; /* the request's when it was sent */
	struct call_result result;
	bool skips_foreign;
	bool may_fail; /* and how it did: */
	bool was_full;
	enum redis_outcome outcome;
	struct text error;        /* Redis's, if that was it, or why it was deferred */
	const struct reply *kept; /* while acknowledgements are awaited */
	int64_t kept_us;          /* since when */
	bool was_deferred;        /* before it went */
	struct loop_timer late;   /* then: the end of its time, which deferring does not extend */
	bool is_late;
};

#endif
