/* call_problem: see call_problem.h. */
#include "call/call_problem.h"

#include "call/call_private.h"
#include "process/log.h"
#include "redis/quorum.h"
#include "request/answer.h"

/* Errors that Redis returns before anything ran, by the word they start with. */
static const struct {
	const char *code;
	enum problem problem;
	bool reconnect; /* this server should no longer be ours */
} error_rows[] = {
	{ "WRONGTYPE", P_FOREIGN_KEY, false },
	{ "OOM", P_REDIS_OOM, false },
	{ "READONLY", P_REDIS_UNAVAILABLE, true },
	{ "MASTERDOWN", P_REDIS_UNAVAILABLE, true },
	{ "LOADING", P_REDIS_UNAVAILABLE, false },
	{ "BUSY", P_REDIS_UNAVAILABLE, false },
	{ "MISCONF", P_REDIS_UNAVAILABLE, false },
	{ "NOREPLICAS", P_REDIS_UNAVAILABLE, false },
	{ "MOVED", P_REDIS_UNAVAILABLE, true },
	{ "ASK", P_REDIS_UNAVAILABLE, true },
	{ "CLUSTERDOWN", P_REDIS_UNAVAILABLE, false },
	{ "TRYAGAIN", P_REDIS_UNAVAILABLE, false },
	{ "NOAUTH", P_REDIS_UNAVAILABLE, true },
	{ "WRONGPASS", P_REDIS_UNAVAILABLE, true },
	{ "DENIED", P_REDIS_UNAVAILABLE, true },
	{ "NOPERM", P_REDIS_UNAVAILABLE, false },
	{ "ERR max number of clients", P_REDIS_UNAVAILABLE, false },
	{ "IDEMPOTENCY_KEY_REUSED", P_IDEMPOTENCY_KEY_REUSED, false },
};

static enum effect effect_of(const struct call *c)
{
	return c->writes ? EFFECT_UNKNOWN : EFFECT_NONE;
}

/* A bug in a script: Lua's error message is of use in the log only. */
static void answer_script_error(const struct call *c, struct text error)
{
	struct request *req = c->req;

	log_event(LOG_ERROR, "script_failed", "request %s, %s: %s", req->request_id.at ? req->request_id.at : "-",
		  req->op->id, error.at);
	answer_problem_effect(
		req, P_INTERNAL, effect_of(c),
		"the script of %s failed in Redis; report it with this request_id, under which the log has more",
		req->op->id);
}

/* The error does not name the key; only the call is known. */
static void answer_foreign_key(const struct call *c, struct text error)
{
	answer_problem(c->req, P_FOREIGN_KEY, "%s%s holds something that patternd did not put there: %.*s",
		       c->keys.count ? c->keys.at[0].at : "a key", c->keys.count > 1 ? ", or a key beside it," : "",
		       reply_error_length(error), error.at);
}

void call_answer_error(struct call *c, struct text error)
{
	struct request *req = c->req;

	for (size_t i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++) {
		if (!reply_error_begins(error, error_rows[i].code))
			continue;
		if (error_rows[i].reconnect)
			redis_reject(&c->redis, error.at);
		if (error_rows[i].problem == P_IDEMPOTENCY_KEY_REUSED)
			answer_problem(req, P_IDEMPOTENCY_KEY_REUSED,
				       "this Idempotency-Key came with another body before");
		else if (error_rows[i].problem == P_FOREIGN_KEY)
			answer_foreign_key(c, error);
		else
			answer_problem(req, error_rows[i].problem, "Redis says: %.*s", reply_error_length(error),
				       error.at);
		return;
	}
	if (strstr(error.at, "user_script"))
		answer_script_error(c, error);
	else
		answer_problem_effect(req, P_REDIS_ERROR, effect_of(c), "Redis says: %s", error.at);
}

static void answer_lost(const struct call *c)
{
	bool takes_key = c->script && c->script->idempotent && !c->req->is_split;

	answer_problem_effect(c->req, P_NO_ANSWER, effect_of(c), "it was sent to Redis, which did not answer%s%s%s%s",
			      c->is_late ? " in time" : ": ", c->is_late ? "" : redis_trouble(&c->redis),
			      c->writes ? "; it may or may not have happened" : "",
			      takes_key ? ", an Idempotency-Key makes a retry safe" : "");
}

void call_answer_failure(struct call *c)
{
	if (c->was_full)
		answer_problem(c->req, P_OVERLOADED, "%u commands are under way; --max-in-flight allows no more",
			       redis_in_flight());
	else if (c->outcome == REDIS_ANSWERED || (c->outcome == REDIS_NOT_SENT && c->error.at))
		call_answer_error(c, c->error);
	else if (c->outcome == REDIS_UNKNOWN)
		answer_lost(c);
	else
		answer_problem(c->req, P_REDIS_UNAVAILABLE, "Redis cannot be used: %s", redis_trouble(&c->redis));
}

bool call_was_lost(const struct call *c)
{
	return c->outcome == REDIS_UNKNOWN;
}

const char *call_trouble(const struct call *c)
{
	if (c->was_full)
		return "too many commands are under way";
	if (c->outcome != REDIS_ANSWERED)
		return redis_trouble(&c->redis);
	return arena_printf(&c->req->arena, "%s says: %.*s",
			    c->redis.quorum_server ? quorum_address(c->redis.quorum_server) : "Redis",
			    reply_error_length(c->error), c->error.at ? c->error.at : "")
		.at;
}
