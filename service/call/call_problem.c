#include "call/call_problem.h"

#include <string.h>

#include "call/state.h"
#include "process/config.h"
#include "process/log.h"
#include "redis/resp.h"
#include "request/answer.h"
#include "topology/quorum.h"

/* The errors that Redis returns before the command has run. */
static const struct {
	enum problem problem;
	bool reconnect; /* the daemon should not use this server any more */
} error_rows[ERROR_COUNT] = {
	[ERROR_OTHER] = { P_REDIS_UNAVAILABLE, false }, /* the reason why no connection is usable */
	[ERROR_WRONGTYPE] = { P_FOREIGN_KEY, false },
	[ERROR_OOM] = { P_REDIS_OUT_OF_MEMORY, false },
	[ERROR_READONLY] = { P_REDIS_READ_ONLY, true },
	[ERROR_MASTERDOWN] = { P_REDIS_READ_ONLY, true },
	[ERROR_LOADING] = { P_REDIS_LOADING, false },
	[ERROR_BUSY] = { P_REDIS_BUSY, false },
	[ERROR_MISCONF] = { P_REDIS_MISCONFIGURED, false },
	[ERROR_NOREPLICAS] = { P_REDIS_REPLICAS_MISSING, false },
	[ERROR_MOVED] = { P_REDIS_CLUSTER_UNSETTLED, true },
	[ERROR_ASK] = { P_REDIS_CLUSTER_UNSETTLED, true },
	[ERROR_CLUSTERDOWN] = { P_REDIS_CLUSTER_UNSETTLED, false },
	[ERROR_TRYAGAIN] = { P_REDIS_CLUSTER_UNSETTLED, false },
	[ERROR_NOAUTH] = { P_REDIS_AUTH_FAILED, true },
	[ERROR_WRONGPASS] = { P_REDIS_AUTH_FAILED, true },
	[ERROR_DENIED] = { P_REDIS_MISCONFIGURED, true },
	[ERROR_AUTH] = { P_REDIS_AUTH_FAILED, true },
	[ERROR_NOPERM] = { P_REDIS_PERMISSION_DENIED, false },
	[ERROR_MAX_CLIENTS] = { P_REDIS_UNAVAILABLE, false },
};

enum problem call_problem_of(enum redis_error error)
{
	return error_rows[error].problem;
}

/* Returns the problem if no connection is usable. The fault is the server's, never a key's. */
static enum problem problem_of_trouble(enum redis_error error)
{
	enum problem problem = error_rows[error].problem;

	return problem_row(problem)->status == 503 ? problem : P_REDIS_UNAVAILABLE;
}

static void answer_unavailable(const struct call *c)
{
	answer_problem(c->req, problem_of_trouble(topology_trouble_error(&c->redis)), "Redis is not usable: %s%s",
		       topology_trouble(&c->redis), topology_advice());
}

static enum effect effect_of(const struct call *c)
{
	return c->writes ? EFFECT_UNKNOWN : EFFECT_NONE;
}

/* This is a defect in a script. Only the log gets Lua's error message, and where it happened. */
static void answer_script_error(const struct call *c, struct script_place at, struct text error)
{
	struct request *req = c->req;

	log_event(LOG_ERROR, "script_failed", "request %s, %s, %s:%ld: %s",
		  req->asked.request_id.at ? req->asked.request_id.at : "-", req->op->id, at.file, at.line, error.at);
	answer_problem_effect(req, P_INTERNAL, effect_of(c), "internal error in %s; please report request_id %s",
			      req->op->id, req->asked.request_id.at ? req->asked.request_id.at : "-");
}

/* The error does not name the key, so only the call is known. */
static void answer_foreign_key(const struct call *c, struct text error)
{
	answer_problem(c->req, P_FOREIGN_KEY, "%s%s is not what this version of patternd stores there: %.*s",
		       c->keys.count ? c->keys.at[0].at : "a key", c->keys.count > 1 ? ", or a key beside it," : "",
		       reply_error_length(error), error.at);
}

void call_problem_answer_error(struct call *c, struct text error)
{
	struct request *req = c->req;
	enum redis_error known = redis_error_of(error);
	struct script_place at = c->script ? script_place(c->script->text, error.at) : (struct script_place){ 0 };

	if (error_rows[known].reconnect)
		topology_reject(c->redis.node, error.at);
	if (reply_error_begins(error, "IDEMPOTENCY_KEY_REUSED"))
		answer_problem(
			req, P_IDEMPOTENCY_KEY_REUSED,
			"this Idempotency-Key was used with another body (byte for byte) or header; use a new key for "
			"another request");
	else if (known == ERROR_WRONGTYPE)
		answer_foreign_key(c, error);
	else if (known == ERROR_OOM)
		answer_problem(req, P_REDIS_OUT_OF_MEMORY,
			       "Redis reached its maxmemory; raise it with CONFIG SET maxmemory, or delete data");
	else if (known == ERROR_NOPERM && strstr(error.at, "script")) /* at one of its commands */
		answer_problem_effect(req, P_REDIS_PERMISSION_DENIED, effect_of(c), "Redis returned: %.*s",
				      reply_error_length(error), error.at);
	else if (known != ERROR_OTHER)
		answer_problem(req, error_rows[known].problem, "Redis returned: %.*s", reply_error_length(error),
			       error.at);
	else if (at.file)
		answer_script_error(c, at, error);
	else
		answer_problem_effect(req, P_REDIS_ERROR, effect_of(c), "Redis returned: %s", error.at);
}

static void answer_lost(const struct call *c)
{
	bool takes_key = c->script && c->script->replay != REPLAY_NONE && !c->req->is_split;

	answer_problem_effect(c->req, P_NO_ANSWER, effect_of(c),
			      "the command was sent to Redis, which did not answer%s%s%s%s",
			      c->is_late ? " in time" : ": ", c->is_late ? "" : topology_trouble(&c->redis),
			      c->writes ? "; it may or may not have taken effect" : "",
			      takes_key ? "; an Idempotency-Key makes a retry safe" : "");
}

/* False: no bound of the daemon kept the call from Redis. */
static bool answer_overloaded(const struct call *c)
{
	switch (c->refusal) {
	case SEND_MANY:
		answer_problem(
			c->req, P_OVERLOADED,
			"as many Redis commands are in flight as --max-in-flight allows (%lld); raise it or retry later",
			(long long)config()->max_in_flight);
		return true;
	case SEND_BEHIND:
		answer_problem(
			c->req, P_OVERLOADED,
			"Redis reads too slowly: the commands that it has not read yet fill the %d MiB that a connection "
			"may buffer; send less at once, raise --pool-size, or retry later",
			RESP_MOST_BYTES >> 20);
		return true;
	case SEND_NO_MEMORY:
		answer_no_memory(c->req, EFFECT_NONE);
		return true;
	default:
		return false;
	}
}

void call_problem_answer(struct call *c)
{
	if (answer_overloaded(c))
		return;
	if (c->outcome == REDIS_ANSWERED || (c->outcome == REDIS_NOT_SENT && c->error.at))
		call_problem_answer_error(c, c->error);
	else if (c->outcome == REDIS_UNKNOWN)
		answer_lost(c);
	else
		answer_unavailable(c);
}

bool call_problem_is_unknown(const struct call *c)
{
	return c->outcome == REDIS_UNKNOWN;
}

bool call_problem_is_overload(const struct call *c)
{
	return c->refusal == SEND_MANY || c->refusal == SEND_BEHIND || c->refusal == SEND_NO_MEMORY;
}

bool call_problem_is_memory(const struct call *c)
{
	return c->outcome == REDIS_ANSWERED && c->error.at && redis_error_of(c->error) == ERROR_OOM;
}

const char *call_problem_text(const struct call *c)
{
	if (c->refusal == SEND_MANY)
		return "too many commands are in flight";
	if (c->refusal == SEND_BEHIND)
		return "Redis reads too slowly";
	if (c->refusal == SEND_NO_MEMORY)
		return "malloc failed";
	if (c->outcome != REDIS_ANSWERED)
		return topology_trouble(&c->redis);
	return arena_printf(&c->req->arena, "%s returned: %.*s",
			    c->redis.quorum_server ? quorum_address(c->redis.quorum_server) : "Redis",
			    reply_error_length(c->error), c->error.at ? c->error.at : "")
		.at;
}
