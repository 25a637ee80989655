/* call: see call.h. It assembles the calls of scripts and commands; call_wire.c sends them. */
#include "call/call.h"

#include <assert.h>

#include "call/call_wire.h"
#include "call/idempotency.h"
#include "call/name_index.h"
#include "call/state.h"
#include "core/budget.h"
#include "core/container.h"
#include "process/config.h"
#include "request/answer.h"
#include "topology/quorum.h"

enum { HEAD = 3, COMMAND_HEAD = 1, FIRST_TEXTS = 16 }; /* HEAD: EVALSHA <sha> <numkeys>; COMMAND_HEAD: the verb */

static void push(struct call *c, struct call_strings *list, struct text value)
{
	struct arena *arena = &c->req->arena;

	if (list->count == list->size) {
		size_t size = list->size ? list->size * 2 : FIRST_TEXTS;
		struct text *bigger = arena_grow(arena, list->at, list->count * sizeof(value), size * sizeof(value));
		if (!bigger)
			return; /* call_send notices arena->failed */
		list->at = bigger;
		list->size = size;
	}
	list->at[list->count++] = value;
}

static void send_again(struct call *c, const struct reply *reply);

static struct call *call_new(struct request *req, const struct script *s, bool writes)
{
	static struct call nowhere; /* used if memory runs out; call_send then fails */
	struct call *c = arena_alloc(&req->arena, sizeof(*c));

	if (!c)
		c = &nowhere;
	*c = (struct call){ .req = req,
			    .script = s,
			    .writes = writes,
			    .redis = { .slot = REDIS_ANYWHERE, .writes = writes },
			    .send_again = send_again };
	return c;
}

struct text call_key_name(struct request *req, const char *kind, struct text name, const char *part)
{
	struct text parts[] = {
		text_of(config()->prefix), text_of(kind), TEXT(":{"), name, TEXT("}"), TEXT(":"), text_of(part)
	};

	return arena_join(&req->arena, parts, part ? 7 : 5);
}

struct call *call_script(struct request *req, const struct script *s)
{
	/* PFCOUNT writes its cache; the operation states whether that counts as a write */
	return call_new(req, s, s->writes && req->op->writes);
}

struct call *call_command(struct request *req, const char *verb, const char *form, bool writes)
{
	struct call *c = call_new(req, NULL, writes);

	c->verb = verb;
	c->form = form;
	return c;
}

void call_key(struct call *c, const char *kind, struct text name, const char *part)
{
	push(c, &c->keys, call_key_name(c->req, kind, name, part));
}

void call_keys(struct call *c, const char *kind, struct text name, const char *const *parts)
{
	struct text key = call_key_name(c->req, kind, name, NULL);

	push(c, &c->keys, key);
	for (; *parts; parts++)
		push(c, &c->keys, arena_join(&c->req->arena, (struct text[]){ key, TEXT(":"), text_of(*parts) }, 3));
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

void call_record_part(struct call *c, struct text part)
{
	c->part = part;
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
	c->redis.replicas = replicas;
}

void call_member(struct call *c, unsigned server)
{
	c->redis.quorum_server = server;
}

unsigned call_members(void)
{
	return quorum_count();
}

void call_at(struct call *c, int slot)
{
	c->redis.slot = slot;
}

void call_tag(struct call *c, size_t tag)
{
	c->result.tag = tag;
}

void call_record_key(struct call *c, struct text first_key)
{
	if (c->req->asked.idempotency_key.at)
		push(c, &c->keys, idempotency_record_key(c->req, first_key, c->part));
}

/* The last argument: the operation, and with an Idempotency-Key what lua/lib/record.lua reads. */
static void push_operation(struct call *c)
{
	struct request *req = c->req;
	struct call_strings *keys = &c->keys;
	struct text name = text_of(c->script->name);

	bool has_record = c->script->replay != REPLAY_NONE && req->asked.idempotency_key.at && !c->without_record;
	if (!has_record || keys->count == 0) {
		push(c, &c->args, name);
		return;
	}
	/* a grant is replayed only as the contract states it */
	assert(c->script->replay == (c->part.at ? REPLAY_DONE : req->op->replay));
	c->has_record = true;
	call_record_key(c, keys->at[0]);
	struct text parts[] = { name, TEXT(" "), idempotency_fingerprint(req) };
	push(c, &c->args, arena_join(&req->arena, parts, 3));
}

/* Assembles the command, with the idempotency record. False: memory ran out. */
static bool assemble(struct call *c)
{
	struct arena *arena = &c->req->arena;
	char buffer[TEXT_DIGITS];

	c->key_count = c->keys.count;
	if (c->script && c->script->indexed)
		push(c, &c->keys, name_index_key(c->req, c->keys.at[0]));
	if (c->script)
		push_operation(c);
	size_t head = c->script ? HEAD : COMMAND_HEAD;
	c->command_count = head + c->keys.count + c->args.count;
	c->command = arena_grow(arena, NULL, 0, c->command_count * sizeof(struct text));
	if (!c->command || arena->failed)
		return false;
	if (c->script) {
		struct text keys = text_of_int((int64_t)c->keys.count, buffer);
		c->command[0] = TEXT("EVALSHA");
		c->command[1] = (struct text){ c->script->text->sha1, 40 };
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

void call_send(struct call *c, call_done done)
{
	struct request *req = c->req;

	if (req->state == ANSWERED)
		return; /* an earlier call of the same step failed */
	c->done = done;
	if (req->state == READING && budget_is_full())
		req->arena.failed = ARENA_OVER_BUDGET;
	if (!req->arena.failed && assemble(c))
		call_wire_send(c);
	else if (done || !c->may_fail) /* else the request is answered by what it waits for */
		answer_no_memory(req, EFFECT_NONE);
}

/* ---- A call that is sent again ---- */

/* Makes room for that many bytes. It grows by doubling: a call may be sent again 10000 times. */
static bool make_room(struct call *c, size_t bytes)
{
	if (bytes > c->replaced_size) {
		c->replaced_size = 2 * bytes;
		c->replaced = arena_alloc(&c->req->arena, c->replaced_size);
	}
	return c->replaced;
}

/* The reply's items replace the last arguments before the operation. False: memory ran out. */
static bool replace_arguments(struct call *c, const struct reply *reply)
{
	size_t count = reply->count - REPLY_OWN, bytes = 0;
	struct text *args = c->command + c->command_count - 1 - count;

	assert(count < c->args.count);
	for (size_t i = 0; i < count; i++)
		bytes += TEXT_DIGITS + reply->items[REPLY_OWN + i]->text.len;
	if (count && !make_room(c, bytes))
		return false;
	char *at = c->replaced;
	for (size_t i = 0; i < count; i++) {
		const struct reply *item = reply->items[REPLY_OWN + i];
		char digits[TEXT_DIGITS];
		struct text value = item->type == REPLY_INTEGER ? text_of_int(item->integer, digits) : item->text;
		args[i] = (struct text){ memcpy(at, value.at, value.len), value.len };
		at += value.len;
	}
	return true;
}

/* It is a new command: it has its own time, and goes to the node that has its keys by now. */
static void send_assembled(struct call *c)
{
	c->redis = (struct redis_call){ .slot = c->redis.slot,
					.writes = c->writes,
					.quorum_server = c->redis.quorum_server,
					.replicas = c->redis.replicas };
	c->sent_whole = c->sent_behind = c->was_deferred = false;
	c->error = (struct text){ 0 };
	c->result.replayed = false;
	c->command[0] = TEXT("EVALSHA");
	c->command[1] = (struct text){ c->script->text->sha1, 40 };
	call_wire_send(c);
}

static void on_first(struct request *req, const struct reply *reply)
{
	(void)reply;
	send_assembled(container_of(req->result, const struct call, result)->before);
}

static void send_again(struct call *c, const struct reply *reply)
{
	struct request *req = c->req;

	req->has_effect |= reply_outcome(reply) > 0;
	if (!replace_arguments(c, reply)) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	if (!c->script->first) {
		send_assembled(c);
		return;
	}
	struct call *first = call_script(req, c->script->first);
	first->keys = (struct call_strings){ c->keys.at, c->key_count, c->key_count };
	first->before = c;
	call_may_fail(first);
	call_send(first, on_first);
}
