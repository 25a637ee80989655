/*
 * asked: requests without HTTP, built by hand and answered in memory. Free each request with
 * asked_end.
 */
#ifndef ASKED_H
#define ASKED_H

#include <jansson.h>

#include "request/request.h"
#include "test.h"

#define NOTHING ((struct text){ NULL, 0 })

/* Makes a request. `body` may be absent; it is copied. */
static inline struct request *asked(const char *method, struct text target, struct text body)
{
	struct request *req = request_new(target.at, target.len);
	assert_non_null(req);
	req->asked.method = method;
	if (body.at)
		req->asked.body = arena_copy(&req->arena, body.at, body.len);
	return req;
}

static inline void asked_end(struct request *req)
{
	request_asker_done(req);
}

/* A member of the answer, "" when there is none; lives until the next call. */
static inline const char *answered(struct request *req, const char *member)
{
	static char value[512];
	json_error_t error;
	json_t *root = json_loadb(req->answer.body.at, req->answer.body.len, 0, &error);

	if (!root)
		fail_msg("the answer %.*s: %s", (int)req->answer.body.len, req->answer.body.at, error.text);
	const char *found = json_string_value(json_object_get(root, member));
	snprintf(value, sizeof(value), "%s", found ? found : "");
	json_decref(root);
	return value;
}

/* The code of the problem that was answered, "" without an answer. */
static inline const char *problem_of(struct request *req)
{
	if (req->state != ANSWERED)
		return "";
	assert_non_null(req->answer.problem);
	assert_string_equal(answered(req, "code"), req->answer.problem->code);
	assert_int_equal(req->answer.status, req->answer.problem->status);
	assert_string_equal(req->answer.content_type, "application/problem+json");
	return req->answer.problem->code;
}

static inline const char *answer_header_of(struct request *req, const char *name)
{
	for (size_t i = 0; i < req->answer.header_count; i++)
		if (strcmp(req->answer.headers[i].name, name) == 0)
			return req->answer.headers[i].value;
	return "";
}

#endif
