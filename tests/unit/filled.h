/*
 * filled: passes a request through route and input. The result is the struct that its handler would
 * get, or the faults.
 */
#ifndef FILLED_H
#define FILLED_H

#include <stdio.h>

#include "asked.h"
#include "contract/input.h"
#include "contract/route.h"
#include "process/config.h"

static struct text given_header; /* the value of Lock-Token; absent: no such header */

static inline struct text filled_header(struct request *req, const char *name, unsigned *lines)
{
	(void)req;
	(void)lines;
	return strcmp(name, "Lock-Token") == 0 ? given_header : NOTHING;
}

/* Set up and tear down the options, which bound a value. */
static inline int load_options(void **state)
{
	char *argv[] = { "patternd", NULL }, *environment[] = { NULL };

	return config_load(1, argv, environment) == CONFIG_RUN ? 0 : -1;
}

static inline int free_options(void **state)
{
	config_free();
	return 0;
}

/*
 * Makes a request and passes it through route and input. `in` is NULL when the request was refused.
 */
static inline struct request *filled(const char *method, const char *target, struct text body, const void **in)
{
	struct request *req = asked(method, text_of(target), body);

	req->asked.header = filled_header;
	if (!route_request(req))
		fail_msg("%s %s: no operation", method, target);
	*in = input_fill(req);
	if (*in)
		assert_int_equal(req->state, READING);
	return req;
}

/* "code pointer pointer..." of a refusal, "ok" without one. */
static inline const char *verdict(const char *method, const char *target, struct text body)
{
	static char out[2500];
	const void *in;
	struct request *req = filled(method, target, body, &in);
	size_t n = (size_t)snprintf(out, sizeof(out), "%s", in ? "ok" : problem_of(req));

	if (!in) {
		json_t *root = json_loadb(req->answer.body.at, req->answer.body.len, 0, NULL), *error;
		size_t i;
		assert_int_equal(req->answer.status, 400);
		json_array_foreach(json_object_get(root, "errors"), i, error) {
			assert_true(json_string_length(json_object_get(error, "detail")) > 0);
			n += (size_t)snprintf(out + n, sizeof(out) - n, " %s",
					      json_string_value(json_object_get(error, "pointer")));
		}
		json_decref(root);
	}
	asked_end(req);
	return out;
}

/* A line for each error of a refusal: its pointer and its detail. */
static inline const char *details(const char *method, const char *target, struct text body)
{
	static char out[2500];
	const void *in;
	struct request *req = filled(method, target, body, &in);
	json_t *root = json_loadb(req->answer.body.at, req->answer.body.len, 0, NULL), *error;
	size_t i, n = 0;

	assert_null(in);
	json_array_foreach(json_object_get(root, "errors"), i, error)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s %s\n",
				      json_string_value(json_object_get(error, "pointer")),
				      json_string_value(json_object_get(error, "detail")));
	json_decref(root);
	asked_end(req);
	return out;
}

struct detail_row {
	const char *method, *target, *body, *wanted;
};

struct row {
	const char *given; /* the body, or the target */
	const char *wanted;
};

#define ROWS(rows) (rows), COUNT(rows)

#endif
