/*
 * policy_file: the policies of --policies FILE, so that a daemon beside a program starts with them,
 * Redis or not.
 *
 * The file is a JSON object: {"replies": {"limit": 30, "window_ms": 60000}, ...}, each member a
 * name and what PUT /ratelimit/policies/{name} takes. It is held against that operation's own
 * rows of the contract, so the two cannot differ.
 */
#include "json/read.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "contract/input.h"
#include "rate_limits/policy_cache.h"
#include "rate_limits/policy_file.h"

enum { MAX_FILE_BYTES = 1024 * 1024 };

static const struct operation *put_operation(void)
{
	size_t i = 0;

	while (i < operation_count - 1 && strcmp(operations[i].id, "ratelimit_policy_put") != 0)
		i++;
	return &operations[i];
}

/* `at` is a JSON pointer below the policy. */
static bool refuse(const char *name, const char *at, const char *why)
{
	fprintf(stderr, "patternd: --policies: %s: /%s%s: %s\n", config()->policies, name, at, why);
	return false;
}

/* The problem that a PUT would have been answered with, a line for each fault. */
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
 * Makes a request without a client to store the policy: it is answered only when something is
 * wrong.
 */
static bool load_policy(struct request *req, const char *name, struct text body)
{
	struct limit_policy policy;

	req->http_done = true; /* its answer goes to no client */
	req->op = put_operation();
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
	struct arena arena = req->arena; /* the request lies inside it */
	arena_free(&arena);
	return ok;
}

/* The whole file; absent, with what is wrong on stderr, when it cannot be read. */
static struct text read_file(struct arena *arena, const char *path)
{
	FILE *f = fopen(path, "re");
	char *bytes = arena_grow(arena, NULL, 0, MAX_FILE_BYTES + 1);
	size_t len = f && bytes ? fread(bytes, 1, MAX_FILE_BYTES, f) : 0;
	bool is_whole = f && bytes && feof(f);

	if (!bytes)
		fprintf(stderr, "patternd: --policies: there is no memory for %s\n", path);
	else if (!f || ferror(f))
		fprintf(stderr, "patternd: --policies: %s: %s\n", path, strerror(errno));
	else if (!is_whole)
		fprintf(stderr, "patternd: --policies: %s: has more than %d bytes\n", path, MAX_FILE_BYTES);
	if (f)
		fclose(f);
	if (!is_whole)
		return (struct text){ 0 };
	bytes[len] = '\0';
	return (struct text){ bytes, len };
}

/* Each member of the file is read as the body of a PUT. */
static const void *place_of_policy(const void *parent, struct text key, bool *opaque)
{
	(void)parent;
	(void)key;
	*opaque = true;
	return NULL;
}

static bool load_all(struct arena *arena, const char *path)
{
	struct text file = read_file(arena, path);
	struct json_error error;
	bool ok = true;

	if (!file.at)
		return false;
	const struct json *root = json_read(arena, file, place_of_policy, NULL, &error);
	if (!root)
		fprintf(stderr, "patternd: --policies: %s:%zu:%zu: %s\n", path, error.line, error.column,
			error.why ? error.why : "there is no memory for it");
	else if (root->kind != JSON_IS_OBJECT)
		fprintf(stderr, "patternd: --policies: %s: must be a JSON object, each member a name and its policy\n",
			path);
	if (!root || root->kind != JSON_IS_OBJECT)
		return false;
	for (const struct json *policy = root->first; policy; policy = policy->next)
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
