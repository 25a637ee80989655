/*
 * ratelimit_file: the policies of --policies FILE, so that a daemon beside a program starts with them, Redis or not.
 *
 * The file is a JSON object: {"replies": {"limit": 30, "window_ms": 60000}, ...}, each member a name and what PUT
 * /ratelimit/policies/{policy} takes. It is held against that operation's own rows of the contract, so the two cannot differ.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "ratelimit.h"

bool policy_of_input(struct request *req, const struct ratelimit_policy_put_input *in, struct policy *out)
{
	*out = (struct policy){
		.limit = LIMIT_OF(in),
		.open = in->on_error == RATELIMIT_POLICY_PUT_ON_ERROR_OPEN,
		.shadow = in->shadow,
	};
	if (in->key_header.at)
		memcpy(out->key_header, in->key_header.at, in->key_header.len);
	return limit_is_sound(req, &out->limit, "");
}

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
	json_t *problem = json_loadb(req->answer.at, req->answer.len, 0, NULL), *fault;
	size_t i;

	json_array_foreach(json_object_get(problem, "errors"), i, fault) {
		const char *at = json_string_value(json_object_get(fault, "pointer"));
		refuse(name, at && *at == '/' ? at : "", json_string_value(json_object_get(fault, "detail")));
	}
	if (i == 0)
		refuse(name, "", json_string_value(json_object_get(problem, "detail")));
	json_decref(problem);
	return false;
}

/* A request that nobody made, to store the policy: it is answered only when something is wrong. */
static bool take_on(struct request *req, const char *name, const char *body)
{
	struct policy policy;

	req->http_gone = true; /* nobody hears the answer */
	req->op = put_operation();
	req->path_values[0] = arena_copy(&req->arena, name, strlen(name));
	req->body = arena_copy(&req->arena, body, strlen(body));
	const struct ratelimit_policy_put_input *in = input_fill(req);
	if (!in || !policy_of_input(req, in, &policy))
		return refuse_as_answered(req, name);
	return policy_fix(in->policy, &policy) || refuse(name, "", "is one policy too many");
}

static bool load_one(const char *name, json_t *value)
{
	if (!json_is_object(value))
		return refuse(name, "", "must be an object, as PUT /ratelimit/policies takes it");
	struct request *req = request_new("", 0);
	char *body = json_dumps(value, JSON_COMPACT);
	bool ok = req && body ? take_on(req, name, body) : refuse(name, "", "there is no memory for it");
	free(body);
	if (req) {
		struct arena arena = req->arena; /* the request lies inside it */
		arena_free(&arena);
	}
	return ok;
}

bool policies_load(void)
{
	const char *path = config()->policies, *name;
	json_error_t error;
	json_t *value;
	bool ok = true;

	if (!*path)
		return true;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root && error.line < 0)
		fprintf(stderr, "patternd: --policies: %s\n", error.text);
	else if (!root)
		fprintf(stderr, "patternd: --policies: %s:%d:%d: %s\n", path, error.line, error.column, error.text);
	else if (!json_is_object(root))
		fprintf(stderr, "patternd: --policies: %s: must be a JSON object, each member a name and its policy\n",
			path);
	json_object_foreach(root, name, value)
		ok = load_one(name, value) && ok;
	ok = ok && json_is_object(root);
	json_decref(root);
	return ok;
}
