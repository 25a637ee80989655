/*
 * state: the members of a call. Types only: call.c assembles a call, call_wire.c sends it, and
 * call_problem.c answers the request if it failed. No other file may use it.
 */
#ifndef PATTERND_CALL_STATE_H
#define PATTERND_CALL_STATE_H

#include "call/result.h"
#include "call/script.h"
#include "core/loop.h"
#include "request/request.h"
#include "topology/topology.h"

/* A list of texts that grows in the arena. */
struct call_strings {
	struct text *at;
	size_t count, size;
};

/* Each waiting request has one, so the small members are together. */
struct call {
	struct redis_call redis;
	struct request *req;             /* (ref) */
	const struct script *script;     /* NULL: a plain command */
	const char *verb, *form;         /* of a plain command, and the form of its reply; static */
	const struct reply_form *agreed; /* the form of the script's reply, once is_agreed returned true */
	struct text part; /* the part of the request that has its own idempotency record; absent: the whole request */
	struct call_strings keys, args;
	size_t key_count;     /* of `keys`, without those that call_send adds */
	struct text *command; /* keys and args as they are sent, after the head of the command */
	size_t command_count;
	/* Set by call.c: called after a reply that is declared by --@again. */
	void (*send_again)(struct call *c, const struct reply *reply);
	char *replaced; /* the text of the arguments that such a reply has replaced */
	size_t replaced_size;
	struct call *before; /* of script->first: the call that is sent after it */
	call_done done;      /* NULL: nothing follows */
	struct call_result result;
	struct text error;        /* the error that Redis returned, or why the call was deferred */
	const struct reply *kept; /* the reply, while acknowledgements are pending */
	int64_t kept_us;          /* when `kept` arrived */
	struct loop_timer late;   /* the end of its time if it was deferred, which must not extend it */
	unsigned parkings;        /* the request's `parkings` when it was sent */
	bool writes, without_record;
	bool has_record;   /* the script stores its reply for a replay, if it has an effect */
	bool sent_behind;  /* it was sent again behind a call that sent the script whole */
	bool sent_whole;   /* it was sent whole, after NOSCRIPT */
	bool was_deferred; /* it waited before it was sent */
	bool is_late;
	bool skips_foreign;
	bool may_fail;                 /* for such a call, the next members have how it failed: */
	enum redis_send_error refusal; /* why it was not sent; SEND_OK: it was sent or deferred */
	enum redis_outcome outcome;
};

#endif
