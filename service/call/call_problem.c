/* call_problem: see call_problem.h. The one place where what Redis says is no answer becomes a problem. */
#include "call/call_problem.h"

#include "process/log.h"
#include "redis/redis.h"
#include "request/answer.h"
#include "request/request.h"

void call_answer_unavailable(const struct asked *a)
{
	answer_problem(a->req, P_REDIS_UNAVAILABLE, "Redis cannot be used: %s", redis_trouble(a->redis));
}

/* Errors that Redis gives before anything ran, by the word they start with. */
static const struct {
	const char *code;
	enum problem problem;
	bool distrust; /* connect anew: this server should not be ours any more */
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

/* A fault in a script: what Lua says of it is of use in the log only. */
static void answer_script_error(const struct asked *a, struct text error)
{
	struct request *req = a->req;

	log_event(LOG_ERROR, "script_failed", "request %s, %s: %s", req->request_id.at ? req->request_id.at : "-",
		  req->op->id, error.at);
	answer_problem_effect(
		req, P_INTERNAL, a->writes ? EFFECT_UNKNOWN : EFFECT_NONE,
		"the script of %s failed in Redis; report it with this request_id, under which the log has more",
		req->op->id);
}

/* Redis tells neither the key nor anything else that helps: only which call it was is known. */
static void answer_foreign_key(const struct asked *a, struct text error)
{
	answer_problem(a->req, P_FOREIGN_KEY, "%s%s holds something that patternd did not put there: %.*s",
		       a->keys_count ? a->keys[0].at : "a key", a->keys_count > 1 ? ", or a key beside it," : "",
		       reply_error_length(error), error.at);
}

void call_answer_error(const struct asked *a, struct text error)
{
	struct request *req = a->req;

	for (size_t i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++) {
		if (!reply_error_begins(error, error_rows[i].code))
			continue;
		if (error_rows[i].distrust)
			redis_reject(a->redis, error.at);
		if (error_rows[i].problem == P_IDEMPOTENCY_KEY_REUSED)
			answer_problem(req, P_IDEMPOTENCY_KEY_REUSED,
				       "this Idempotency-Key came with another body before");
		else if (error_rows[i].problem == P_FOREIGN_KEY)
			answer_foreign_key(a, error);
		else
			answer_problem(req, error_rows[i].problem, "Redis says: %.*s", reply_error_length(error),
				       error.at);
		return;
	}
	if (strstr(error.at, "user_script")) {
		answer_script_error(a, error);
		return;
	}
	answer_problem_effect(req, P_REDIS_ERROR, a->writes ? EFFECT_UNKNOWN : EFFECT_NONE, "Redis says: %s", error.at);
}

void call_answer_lost(const struct asked *a)
{
	answer_problem_effect(a->req, P_NO_ANSWER, a->writes ? EFFECT_UNKNOWN : EFFECT_NONE,
			      "it was sent to Redis, which did not answer%s%s%s%s", a->is_late ? " in time" : ": ",
			      a->is_late ? "" : redis_trouble(a->redis),
			      a->writes ? "; it may or may not have happened" : "",
			      a->takes_key ? ", an Idempotency-Key makes a retry safe" : "");
}
