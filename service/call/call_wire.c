/*
 * call_wire: see call_wire.h.
 *
 * A call is never sent twice, unless Redis rejected it before it ran, or it is a read that failed
 * at a replica.
 */
#include "call/call_wire.h"

#include "call/call_problem.h"
#include "call/state.h"
#include "process/metrics.h"
#include "request/answer.h"
#include "topology/refusal.h"
#include "topology/replicas.h"

/* If a call fails at once, this runs within the `done` of the previous call. */
static void run_done(struct call *c, const struct reply *reply)
{
	struct request *req = c->req; /* `done` may rewind the arena to before this call */
	const struct call_result *outer = req->result;

	req->result = &c->result;
	reply_expect_types(true);
	c->done(req, reply);
	reply_expect_types(outer);
	req->result = outer;
}

static void fail(struct call *c)
{
	c->result.failed = c;
	if (c->done)
		run_done(c, NULL);
}

/* False: it was not sent. The request was answered, unless the call may fail. */
static bool put_on_wire(struct call *c)
{
	bool may_be_stale = c->redis.may_be_stale;
	enum redis_send_error refusal = topology_send(&c->redis, c->command, c->command_count);

	c->req->pending.reads_primary |= may_be_stale && !c->redis.at_replica;
	if (refusal == SEND_OK && c->was_deferred)
		loop_timer_set(&c->late, c->redis.deadline_us);
	if (refusal == SEND_OK || (refusal == SEND_LATER && topology_defer(&c->redis)))
		return true;
	metrics_count(METRIC_redis_refused);
	c->refusal = refusal;
	c->outcome = REDIS_NOT_SENT;
	if (!c->may_fail)
		call_problem_answer(c);
	return false;
}

/*
 * Redis does not have the script: this is its first use since Redis started, or since SCRIPT FLUSH.
 * EVAL also stores it there. A node gets all commands of an iteration on one connection. So if many
 * calls need the script at once, the first one sends it, and the others are sent again behind it.
 */
static bool send_whole(struct call *c)
{
	static struct {
		const struct script_text *text;
		const struct redis_node *node;
		int64_t at_us;
	} latest;
	bool follows = latest.text == c->script->text && latest.node == c->redis.node && latest.at_us == loop_now_us();

	if (follows && !c->sent_behind) {
		c->sent_behind = true;
		return put_on_wire(c);
	}
	metrics_count(METRIC_redis_noscript);
	c->sent_whole = true;
	c->command[0] = TEXT("EVAL");
	c->command[1] = c->script->text->source;
	if (!put_on_wire(c))
		return false;
	latest.text = c->script->text;
	latest.node = c->redis.node;
	latest.at_us = loop_now_us();
	return true;
}

/*
 * Called after a rejection or a deferral. Returns true if the call was sent again or deferred. If
 * sending fails, it answers the request, unless the call may fail, and returns false.
 */
static bool resend(struct call *c, enum redis_outcome outcome, const struct reply *reply)
{
	if (outcome == REDIS_DEFERRED) {
		c->was_deferred = true;
		return put_on_wire(c);
	}
	bool failed = outcome != REDIS_ANSWERED || reply->type == REPLY_ERROR;
	if (outcome == REDIS_ANSWERED && failed && c->script && !c->sent_whole &&
	    reply_error_begins(reply->text, "NOSCRIPT"))
		return send_whole(c);
	if (failed && topology_leave_replica(&c->redis)) {
		c->was_deferred = true; /* the primary gets the remaining time */
		c->req->pending.reads_primary = true;
		return put_on_wire(c);
	}
	if (outcome != REDIS_ANSWERED || !failed)
		return false;
	switch (topology_follow(&c->redis, reply->text)) {
	case NEXT_SEND:
		return put_on_wire(c);
	case NEXT_DEFER:
		if (reply_error_begins(reply->text, "TRYAGAIN")) /* the problem if it does not end */
			c->error = arena_copy(&c->req->arena, reply->text.at, reply->text.len);
		return topology_defer(&c->redis);
	case NEXT_NOTHING:
		break;
	}
	return false;
}

static bool is_agreed(struct call *c, const struct reply *reply)
{
	if (!c->script)
		return reply_form_fits(reply, c->form);
	c->agreed = reply_form_of(reply, c->script->forms);
	return c->agreed;
}

/* Returns Redis's present clock; the reply may have been kept for a while. */
static int64_t now_ms_of(const struct call *c, const struct reply *reply)
{
	return reply_int(reply, REPLY_NOW_MS) + (c->kept ? (loop_now_us() - c->kept_us + 999) / 1000 : 0);
}

enum { OF_RECORD_WORD, OF_RECORD_REPLY };

/* Returns true if lua/lib/recorded.lua returned {word, ...} in place of the script's reply. */
static bool is_of_record(const struct call *c, const struct reply *reply, const char *word)
{
	return c->script && c->script->replay != REPLAY_NONE && reply->type == REPLY_ARRAY && reply->count == 2 &&
	       reply->items[OF_RECORD_WORD] && reply_is_text(reply->items[OF_RECORD_WORD]) &&
	       text_is(reply->items[OF_RECORD_WORD]->text, word);
}

/* Returns the reply in the record if this is a replay, else the reply itself. */
static const struct reply *unwrap(struct call *c, const struct reply *reply)
{
	if (!is_of_record(c, reply, "replayed"))
		return reply;
	c->result.replayed = true;
	c->req->answer.is_replay = true;
	return reply_item(reply, OF_RECORD_REPLY);
}

static void count_record(const struct call *c, const struct reply *reply)
{
	if (!c->has_record || c->result.replayed || reply_outcome(reply) < 1)
		return;
	metrics_count(METRIC_idempotency_records);
	metrics_add(METRIC_idempotency_record_bytes, reply_text_bytes(reply));
}

/* Call it after a reply that may belong to another call: then later replies may, too. */
static void renew(struct redis_node *sent_to)
{
	static const char why[] = "a reply has an unexpected form";

	reply_note_mismatch(why);
	topology_reject(sent_to, why);
}

/* Passes the reply to the handler, or sends the call again. */
static void hand_over(struct call *c, const struct reply *reply)
{
	struct request *req = c->req;

	if (c->script) {
		req->now_ms = now_ms_of(c, reply);
		if (!c->redis.at_replica)
			node_learn_clock(c->redis.node, req->now_ms, req->pending.sent_us);
	}
	count_record(c, reply);
	if (c->redis.at_replica)
		metrics_count(METRIC_replica_reads);
	req->answer.from_replica |= c->redis.at_replica;
	if (c->agreed && c->agreed->again)
		c->send_again(c, reply);
	else
		run_done(c, reply);
}

static void note_error(const struct call *c, struct text error)
{
	refusal_note(c->redis.node, error, c->keys.count ? c->keys.at[0] : (struct text){ 0 });
}

static void take_reply(struct call *c, const struct reply *reply)
{
	struct request *req = c->req;

	if (is_of_record(c, reply, "ended") && c->script->replay == REPLAY_GRANT) {
		req->answer.is_replay = true;
		answer_problem_effect(
			req, req->op->grant_ended, EFFECT_APPLIED,
			"the original request succeeded, but what it granted has expired or was released");
	} else if (reply->type == REPLY_ERROR && c->skips_foreign && reply_error_begins(reply->text, "WRONGTYPE")) {
		run_done(c, NULL);
	} else if (c->may_fail && !is_agreed(c, reply)) {
		if (reply->type == REPLY_ERROR)
			note_error(c, reply->text);
		else
			renew(c->redis.node);
		c->error = arena_copy(&req->arena, reply->text.at, reply->text.len);
		c->outcome = REDIS_ANSWERED;
		fail(c);
	} else if (reply->type == REPLY_ERROR) {
		note_error(c, reply->text);
		call_problem_answer_error(c, reply->text);
	} else if (!is_agreed(c, reply)) {
		renew(c->redis.node);
		answer_misread(req);
	} else {
		hand_over(c, reply);
	}
}

/* The call got no reply, or could not be sent again. */
static void take_failure(struct call *c, enum redis_outcome outcome)
{
	if (c->outcome == REDIS_ANSWERED)
		c->outcome = outcome;
	if (c->may_fail)
		fail(c);
	else
		call_problem_answer(c);
}

/* The client has disconnected. */
static void compensate(struct call *c, enum redis_outcome outcome, const struct reply *reply)
{
	bool agreed = outcome == REDIS_ANSWERED && is_agreed(c, reply);

	if (agreed && c->script)
		c->req->now_ms = now_ms_of(c, reply);
	request_compensate(c->req, agreed ? reply : NULL);
}

/* Returns true if the call had an effect, and `done` must wait until replicas acknowledge it. */
static bool await_replicas(struct call *c, enum redis_outcome outcome, const struct reply *reply)
{
	if (outcome != REDIS_ANSWERED || c->redis.replicas == 0 || !is_agreed(c, reply) || reply_outcome(reply) < 1)
		return false;
	c->kept = reply_keep(&c->req->arena, reply);
	c->kept_us = loop_now_us();
	if (c->kept)
		topology_await_replicas(&c->redis);
	return c->kept != NULL;
}

/* Ends a call that was deferred, which must not extend its request's time. Its reply is ignored. */
static void on_late(struct loop_timer *t)
{
	struct call *c = container_of(t, struct call, late);

	if (c->req->state != CALLING || c->req->asker_done || !c->done)
		return;
	c->is_late = true;
	take_failure(c, REDIS_UNKNOWN);
	c->done = NULL;
}

static void on_reply(struct redis_call *redis, enum redis_outcome outcome, const struct reply *reply)
{
	struct call *c = container_of(redis, struct call, redis);
	struct request *req = c->req;
	bool lives = (!c->done && c->may_fail) || /* it has its own end */
		     (req->state == CALLING && c->parkings == req->pending.parkings &&
		      (!req->asker_done || req->background || req->on_disconnect || !c->done || c->may_fail));

	loop_timer_stop(&c->late);
	if (outcome == REDIS_ANSWERED)
		reply = unwrap(c, reply);
	if (lives && (resend(c, outcome, reply) || await_replicas(c, outcome, reply)))
		return;
	if (outcome == REDIS_ACKNOWLEDGED) {
		outcome = REDIS_ANSWERED;
		reply = c->kept;
	}
	c->result.acked = redis->replicas_acked;
	c->result.replicas = redis->replicas_connected;
	bool is_disconnected = !req->background && request_is_disconnected(req);
	if (req->state != CALLING || !c->done || c->parkings != req->pending.parkings)
		; /* it was answered by another call, has no `done`, or belongs to an earlier attempt */
	else if (is_disconnected)
		compensate(c, outcome, reply);
	else if (outcome == REDIS_ANSWERED && c->outcome == REDIS_ANSWERED)
		take_reply(c, reply);
	else
		take_failure(c, outcome);
	/* A handler that neither answered nor called would leave its client waiting for ever. */
	if (req->state == CALLING && !is_disconnected && !req->background && req->pending.calls == 1)
		answer_internal(req, "the handler ended without an answer");
	request_call_ended(req);
}

/*
 * A call may depend on what an earlier call of its request read. So all calls go to the same
 * replica of a server; once one has gone to the primary, so do the others.
 */
static void allow_replica(struct call *c)
{
	static unsigned turns;
	struct request *req = c->req;
	bool reads = !c->writes && !(c->script && c->script->writes);

	if (!req->op->stale || req->pending.reads_primary || !reads || c->keys.count == 0 || !replicas_enabled())
		return;
	if (req->pending.replica_turn == 0)
		req->pending.replica_turn = ++turns ? turns : ++turns;
	c->redis.may_be_stale = true;
	c->redis.turn = req->pending.replica_turn;
}

void call_wire_send(struct call *c)
{
	struct request *req = c->req;

	if (c->done) /* its reply's age is counted from here */
		req->pending.sent_us = loop_now_us();
	allow_replica(c);
	c->late.expired = on_late;
	c->redis.done = on_reply;
	c->parkings = req->pending.parkings;
	if (c->keys.count)
		c->redis.slot = topology_slot(c->keys.at[0]);
	if (!put_on_wire(c)) {
		if (c->may_fail)
			fail(c);
		return;
	}
	if (req->state == READING)
		request_move(req, CALLING);
	req->pending.calls++;
}
