/*
 * policy_file: see rate_limits/policy_file.h. With a file, a daemon beside a program has its
 * policies from the start, even without Redis.
 *
 * The file is a JSON object: {"replies": {"limit": 30, "window_ms": 60000}, ...}. Each member is a
 * name and a body of PUT /ratelimit/policies/{name}. It is checked by the rows of the contract for
 * that operation, so that both accept the same.
 */
#include "json/read.h"
#include <stdio.h>
#include <string.h>

#include "contract/input.h"
#include "contract/self_call.h"
#include "process/object_file.h"
#include "rate_limits/policy_cache.h"
#include "rate_limits/policy_file.h"

enum { WHY_BYTES = 512 };

/* Writes a fault and returns false. `at` is a JSON pointer below the policy. */
static bool refuse(const char *name, const char *at, const char *why)
{
	fprintf(stderr, "patternd: --policies: %s: /%s%s: %s\n", config()->policies, name, at, why);
	return false;
}

/* Writes the problem that a PUT would have been answered with, one line per fault. */
static bool refuse_as_answered(const struct request *req, const char *name)
{
	struct arena arena = { 0 };
	struct json_error error;
	const struct json *problem = json_read(&arena, req->answer.body, NULL, NULL, &error);
	const struct json *faults = json_tree_member(problem, "errors");
	const struct json *fault = faults ? faults->first : NULL;

	if (!fault)
		refuse(name, "", json_tree_string(problem, "detail").at);
	for (; fault; fault = fault->next) {
		const char *at = json_tree_string(fault, "pointer").at;
		refuse(name, at && *at == '/' ? at : "", json_tree_string(fault, "detail").at);
	}
	arena_free(&arena);
	return false;
}

/*
 * Makes a request without a client that stores the policy. The request is answered only if the
 * policy is invalid.
 */
static bool load_policy(struct request *req, const char *name, struct text body)
{
	struct limit_policy policy;

	req->op = self_call_operation("ratelimit_policy_put");
	req->asked.path_values[0] = arena_copy(&req->arena, name, strlen(name));
	req->asked.body = body;
	const struct ratelimit_policy_put_input *in = input_fill(req);
	if (!in || !limit_policy_of_input(req, in, &policy))
		return refuse_as_answered(req, name);
	return policy_cache_fix(in->name, &policy) || refuse(name, "", "is one policy too many");
}

static bool load_one(const struct json *value)
{
	const char *name = value->key.at;

	if (*value->text.at != '{')
		return refuse(name, "", "must be an object, as PUT /ratelimit/policies takes it");
	struct request *req = request_new("", 0);
	if (!req)
		return refuse(name, "", "there is no memory for it");
	struct text body = arena_copy(&req->arena, value->text.at, value->text.len);
	bool ok = body.at ? load_policy(req, name, body) : refuse(name, "", "there is no memory for it");
	struct arena arena = req->arena; /* `req` itself is in the arena */
	arena_free(&arena);
	return ok;
}

static bool load_all(struct arena *arena, const char *path)
{
	char why[WHY_BYTES];
	const struct json *root = object_file_read(arena, path, why, sizeof(why));
	bool ok = root != NULL;

	if (!root)
		fprintf(stderr, "patternd: --policies: %s\n", why);
	for (const struct json *policy = root ? root->first : NULL; policy; policy = policy->next)
		ok = load_one(policy) && ok;
	return ok;
}

bool policy_file_load(void)
{
	struct arena arena = { 0 };
	bool ok = !*config()->policies || load_all(&arena, config()->policies);

	arena_free(&arena);
	return ok;
}
