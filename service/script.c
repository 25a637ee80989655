/*
 * script: calls of scripts and commands on behalf of requests; see script.h.
 *
 * Owns the life of a `struct call` (in its request's arena). Nothing is sent twice unless Redis refused it before it ran.
 */
#include "script.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "budget.h"
#include "call_problem.h"
#include "config.h"
#include "loop.h"
#include "metrics.h"
#include "record.h"
#include "redis.h"
#include "request.h"

enum { HEAD = 3, COMMAND_HEAD = 1, FIRST_TEXTS = 16 }; /* EVALSHA <sha> <numkeys>; the verb */

/* A list of texts that grows in the arena. */
struct texts {
	struct text *at;
	size_t count, size;
};

struct call {
	struct redis_call redis;
	struct request *req;         /* (ref) */
	const struct script *script; /* NULL: a plain command */
	const char *verb;            /* of a plain command; static */
	bool writes;
	bool without_record;
	bool sent_whole; /* after NOSCRIPT */
	struct texts keys, args;
	struct text *command; /* keys and args as they are sent, with what begins the command before them */
	size_t command_count;
	call_done done;
	size_t tag;
	bool skips_foreign;
	int slot;      /* without keys: where it goes */
	bool may_fail; /* and how it did: */
	bool was_full;
	enum redis_fate fate;
	struct text error; /* Redis's, if that was it */
	unsigned member, replicas;
	const struct reply *kept; /* while acknowledgements are awaited */
	int64_t kept_us;          /* since when */
};

/* ---- Building calls ---- */

static void push(struct call *c, struct texts *list, struct text value)
{
	struct arena *arena = &c->req->arena;

	if (list->count == list->size) {
		size_t size = list->size ? list->size * 2 : FIRST_TEXTS;
		struct text *bigger = arena_grow(arena, list->at, list->count * sizeof(value), size * sizeof(value));
		if (!bigger)
			return; /* arena->failed is seen by call_send */
		list->at = bigger;
		list->size = size;
	}
	list->at[list->count++] = value;
}

static struct call *call_new(struct request *req, const struct script *s, bool writes)
{
	static struct call nowhere; /* stands in without memory; call_send then refuses */
	struct call *c = arena_alloc(&req->arena, sizeof(*c));

	if (!c)
		c = &nowhere;
	*c = (struct call){ .req = req, .script = s, .writes = writes, .slot = REDIS_ANYWHERE };
	return c;
}

struct text script_key(struct request *req, const char *kind, struct text name, const char *part)
{
	struct text parts[] = {
		text_of(config()->prefix), text_of(kind), TEXT(":{"), name, TEXT("}"), TEXT(":"), text_of(part)
	};

	return arena_join(&req->arena, parts, part ? 7 : 5);
}

struct call *script_call(struct request *req, const struct script *s)
{
	/* PFCOUNT writes its cache: whether it matters is the operation's word */
	return call_new(req, s, s->writes && req->op->writes);
}

struct call *command_call(struct request *req, const char *verb, bool writes)
{
	struct call *c = call_new(req, NULL, writes);

	c->verb = verb;
	return c;
}

void call_key(struct call *c, const char *kind, struct text name, const char *part)
{
	push(c, &c->keys, script_key(c->req, kind, name, part));
}

void call_raw_key(struct call *c, struct text rest)
{
	push(c, &c->keys, arena_join(&c->req->arena, (struct text[]){ text_of(config()->prefix), rest }, 2));
}

void call_text(struct call *c, struct text value)
{
	push(c, &c->args, value.at ? value : TEXT(""));
}

void call_string(struct call *c, const char *value)
{
	call_text(c, text_of(value));
}

void call_int(struct call *c, int64_t value)
{
	char buffer[TEXT_DIGITS];
	struct text digits = text_of_int(value, buffer);

	call_text(c, arena_copy(&c->req->arena, digits.at, digits.len));
}

void call_real(struct call *c, double value)
{
	call_text(c, arena_printf(&c->req->arena, "%.17g", value));
}

void call_without_record(struct call *c)
{
	c->without_record = true;
}

void call_skip_foreign(struct call *c)
{
	c->skips_foreign = true;
}

void call_may_fail(struct call *c)
{
	c->may_fail = true;
}

void call_replicas(struct call *c, unsigned replicas)
{
	c->replicas = replicas;
}

void call_member(struct call *c, unsigned member)
{
	c->member = member;
}

unsigned call_members(void)
{
	return redis_members();
}

void call_at(struct call *c, int slot)
{
	c->slot = slot;
}

void call_tag(struct call *c, size_t tag)
{
	c->tag = tag;
}

void call_record_key(struct call *c)
{
	if (c->req->idempotency_key.at && c->keys.count > 0)
		push(c, &c->keys, record_key(c->req, c->keys.at[0]));
}

static void push_record(struct call *c)
{
	struct request *req = c->req;
	struct texts *keys = &c->keys;

	if (!req->idempotency_key.at || c->without_record || keys->count == 0) {
		push(c, &c->args, TEXT(""));
		return;
	}
	call_record_key(c);
	push(c, &c->args, record_fingerprint(req));
}

static bool assemble(struct call *c)
{
	struct arena *arena = &c->req->arena;
	char buffer[TEXT_DIGITS];

	if (c->script && c->script->idempotent)
		push_record(c);
	size_t head = c->script ? HEAD : COMMAND_HEAD;
	c->command_count = head + c->keys.count + c->args.count;
	c->command = arena_grow(arena, NULL, 0, c->command_count * sizeof(struct text));
	if (!c->command || arena->failed)
		return false;
	if (c->script) {
		struct text keys = text_of_int((int64_t)c->keys.count, buffer);
		c->command[0] = TEXT("EVALSHA");
		c->command[1] = (struct text){ c->script->sha1, 40 };
		c->command[2] = arena_copy(arena, keys.at, keys.len);
	} else {
		c->command[0] = text_of(c->verb);
	}
	if (c->keys.count)
		memcpy(c->command + head, c->keys.at, c->keys.count * sizeof(struct text));
	if (c->args.count)
		memcpy(c->command + head + c->keys.count, c->args.at, c->args.count * sizeof(struct text));
	return !arena->failed;
}

/* ---- What is no answer (problems: call_problem.c) ---- */

static struct asked asked(const struct call *c)
{
	return (struct asked){ c->req, &c->redis, c->keys.at, c->keys.count, c->writes };
}

void call_answer_failure(struct call *c)
{
	struct asked a = asked(c);

	if (c->was_full)
		answer_problem(c->req, P_OVERLOADED, "%u commands are under way; --max-in-flight allows no more",
			       redis_in_flight());
	else if (c->fate == FATE_ANSWERED)
		call_answer_error(&a, c->error);
	else if (c->fate == FATE_LOST)
		call_answer_lost(&a);
	else
		call_answer_unavailable(&a);
}

bool call_was_lost(const struct call *c)
{
	return c->fate == FATE_LOST;
}

const char *call_trouble(const struct call *c)
{
	if (c->was_full)
		return "too many commands are under way";
	if (c->fate != FATE_ANSWERED)
		return redis_trouble(&c->redis);
	return arena_printf(&c->req->arena, "%s says: %s", c->member ? redis_member_address(c->member) : "Redis",
			    c->error.at ? c->error.at : "")
		.at;
}

/* ---- Sending, and what comes back ---- */

static void fail(struct call *c)
{
	c->req->tag = c->tag;
	c->req->failed = c;
	c->done(c->req, NULL);
}

/* False: it did not go, which was answered unless it may fail. */
static bool put_on_wire(struct call *c)
{
	enum redis_refusal refusal = redis_send(&c->redis, c->command, c->command_count);

	if (refusal == REDIS_TOOK || (refusal == REDIS_SOON && redis_hold(&c->redis)))
		return true;
	metrics_count(METRIC_redis_refused);
	c->was_full = refusal == REDIS_FULL;
	c->fate = FATE_NOT_SENT;
	if (!c->may_fail)
		call_answer_failure(c);
	return false;
}

/* Redis does not know the script (restart, failover, SCRIPT FLUSH): once more, whole, which also makes it known. */
static bool send_whole(struct call *c)
{
	metrics_count(METRIC_redis_noscript);
	c->sent_whole = true;
	c->command[0] = TEXT("EVAL");
	c->command[1] = c->script->source;
	return put_on_wire(c);
}

/*
 * Redis refused it before it ran, or it was held for a moment. True: it goes on, or was answered with a problem because it could not;
 * then this call is over, too. One that may fail and did not go has its fate.
 */
static bool again(struct call *c, enum redis_fate fate, const struct reply *reply)
{
	if (fate == FATE_AGAIN)
		return put_on_wire(c);
	if (fate != FATE_ANSWERED || reply->type != REPLY_ERROR)
		return false;
	if (c->script && !c->sent_whole && error_begins(reply->text, "NOSCRIPT"))
		return send_whole(c);
	switch (redis_follow(&c->redis, reply->text)) {
	case NEXT_SEND:
		return put_on_wire(c);
	case NEXT_HOLD:
		return redis_hold(&c->redis);
	case NEXT_NOTHING:
		break;
	}
	return false;
}

static bool is_agreed(const struct call *c, const struct reply *reply)
{
	return c->script ? reply->type == REPLY_ARRAY && reply->count >= 2 : reply->type != REPLY_ERROR;
}

/* Redis's clock now, as far as the reply tells: it may have been kept for a while. */
static int64_t now_ms_of(const struct call *c, const struct reply *reply)
{
	return reply_int(reply, 1) + (c->kept ? (loop_now_us() - c->kept_us + 999) / 1000 : 0);
}

static void take_reply(struct call *c, const struct reply *reply)
{
	struct request *req = c->req;

	if (reply->type == REPLY_ERROR && c->skips_foreign && error_begins(reply->text, "WRONGTYPE")) {
		req->tag = c->tag;
		c->done(req, NULL);
	} else if (c->may_fail && !is_agreed(c, reply)) {
		c->error = arena_copy(&req->arena, reply->text.at, reply->text.len);
		c->fate = FATE_ANSWERED;
		fail(c);
	} else if (reply->type == REPLY_ERROR) {
		struct asked a = asked(c);
		call_answer_error(&a, reply->text);
	} else if (!is_agreed(c, reply)) {
		answer_problem_effect(req, P_INTERNAL, c->writes ? EFFECT_UNKNOWN : EFFECT_NONE,
				      "the script %s answered in another form than agreed", c->script->name);
	} else {
		if (c->script)
			req->now_ms = now_ms_of(c, reply);
		req->tag = c->tag;
		c->done(req, reply);
	}
}

/* It was not answered, or did not go when it was to be sent again. */
static void take_failure(struct call *c, enum redis_fate fate)
{
	if (c->fate == FATE_ANSWERED)
		c->fate = fate;
	if (c->may_fail)
		fail(c);
	else
		call_answer_failure(c);
}

/* Its client left meanwhile. */
static void take_back(struct call *c, enum redis_fate fate, const struct reply *reply)
{
	bool agreed = fate == FATE_ANSWERED && reply->type == REPLY_ARRAY && reply->count >= 2;

	if (agreed && c->script)
		c->req->now_ms = now_ms_of(c, reply);
	request_give_back(c->req, agreed ? reply : NULL);
}

/* True: it had an effect, and its owner wants to know who has it; `done` comes later. */
static bool await_replicas(struct call *c, enum redis_fate fate, const struct reply *reply)
{
	if (fate != FATE_ANSWERED || c->replicas == 0 || !is_agreed(c, reply) || reply_int(reply, 0) < 1)
		return false;
	c->kept = reply_keep(c->req, reply);
	c->kept_us = loop_now_us();
	if (c->kept)
		redis_await(&c->redis);
	return c->kept != NULL;
}

static void on_reply(struct redis_call *redis, enum redis_fate fate, const struct reply *reply)
{
	struct call *c = (struct call *)((char *)redis - offsetof(struct call, redis));
	struct request *req = c->req;
	bool lives =
		req->state == CALLING && (!req->http_gone || req->detached || req->gone || !c->done || c->may_fail);

	if (lives && (again(c, fate, reply) || await_replicas(c, fate, reply)))
		return;
	if (fate == FATE_ACKNOWLEDGED) {
		fate = FATE_ANSWERED;
		reply = c->kept;
	}
	req->acked = redis->acked;
	req->replicas = redis->connected;
	bool has_left = !req->detached && request_has_left(req);
	if (req->state != CALLING || !c->done)
		; /* answered by another call, or nobody wanted to hear */
	else if (has_left)
		take_back(c, fate, reply);
	else if (fate == FATE_ANSWERED && c->fate == FATE_ANSWERED)
		take_reply(c, reply);
	else
		take_failure(c, fate);
	/* A handler that neither answered nor called again would leave its client waiting for ever. */
	if (req->state == CALLING && !has_left && !req->detached && req->calls_owed == 1)
		answer_problem(req, P_INTERNAL, "%s ended without an answer", req->op->id);
	request_call_ended(req);
}

void call_send(struct call *c, call_done done)
{
	struct request *req = c->req;

	if (req->state == ANSWERED)
		return; /* an earlier call of the same step was refused */
	c->done = done;
	c->redis =
		(struct redis_call){ .done = on_reply, .slot = c->slot, .member = c->member, .replicas = c->replicas };
	if (c->keys.count)
		c->redis.slot = redis_slot(c->keys.at[0]);
	if ((req->state == READING && budget_is_full()) || req->arena.failed || !assemble(c)) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	if (!put_on_wire(c)) {
		if (c->may_fail)
			fail(c);
		return;
	}
	if (req->state == READING)
		request_move(req, CALLING);
	req->calls_owed++;
}
