/*
 * answer: the response of a handler. A request is answered exactly once. It must not know sockets
 * or patterns.
 *
 *	struct json_out *o = answer_begin(req, 201);
 *	out_text(o, "name", in->name);
 *	answer_end(req);
 *
 * A problem is an RFC 9457 problem document:
 *
 *	struct json_out *o = answer_begin_problem(req, P_LOCK_HELD, "'%s' is held by '%s'", ...);
 *	out_int(o, "waiter_count", 3);
 *	answer_end(req);
 *
 * The rows of errors.def have the codes, their status, title and default effect.
 */
#ifndef PATTERND_ANSWER_H
#define PATTERND_ANSWER_H

#include "request/problem.h"
#include "json/out.h"

struct request;

/* Opens the JSON object of the response. The writer may be used until answer_end. */
struct json_out *answer_begin(struct request *req, int status);
void answer_end(struct request *req);

/*
 * Answers with a body of any media type; `body` must outlive the request (static, or in its arena).
 */
void answer_body(struct request *req, int status, const char *content_type, struct text body);

/* Answers with a status that has no body: 204, 304. */
void answer_empty(struct request *req, int status);

/* Adds a header to the response, before answer_end. `name` must be static. */
void answer_header(struct request *req, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Add a header of joined parts, without the cost of a format, or a header with a number. */
void answer_header_parts(struct request *req, const char *name, const struct text *parts, size_t count);
void answer_header_int(struct request *req, const char *name, int64_t value);

enum { MAX_PATH_SEGMENTS = 12 };

/* Adds Location with the path of the resource that a POST has made, before answer_end. */
void answer_location(struct request *req, const struct text *segments, size_t count);

/*
 * Sets when to try again, before answer_end: the header Retry-After in whole seconds, rounded up,
 * and in a problem the member `retry_after_ms`. It is at least 1 ms. A problem with status 503 that
 * does not set it gets a second.
 */
void answer_retry_after_ms(struct request *req, int64_t ms);

/*
 * Opens a problem with type, title, status, detail, code, effect and request_id. The caller may add
 * members.
 */
struct json_out *answer_begin_problem(struct request *req, enum problem p, const char *detail, ...)
	__attribute__((format(printf, 3, 4)));
/* Does what answer_begin_problem does, with another effect than the one in errors.def. */
struct json_out *answer_begin_problem_effect(struct request *req, enum problem p, enum effect effect,
					     const char *detail, ...) __attribute__((format(printf, 4, 5)));

/* Answers with a problem that has no further members. */
void answer_problem(struct request *req, enum problem p, const char *detail, ...) __attribute__((format(printf, 3, 4)));

/* Does what answer_problem does, with another effect than the one in errors.def. */
void answer_problem_effect(struct request *req, enum problem p, enum effect effect, const char *detail, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Answers 500, for a defect. `why` is logged with the request's id; the answer has only the
 * operation and the id.
 */
void answer_internal(struct request *req, const char *why);

/* Answers 500: Redis's reply has an unexpected form. */
void answer_misread(struct request *req);

/*
 * Answers 503: memory is missing. The detail has the limit: --max-request-memory if the arena
 * failed because of it, else malloc.
 */
void answer_no_memory(struct request *req, enum effect effect);

/*
 * Answers 400 with `errors: [{pointer, detail}]` for one field. The pointer is a JSON pointer into
 * the body ("/delay_ms"), "?name" for a query parameter, "{name}" for a path parameter, or
 * "Header-Name:" for a header.
 */
void answer_field_problem(struct request *req, enum problem p, const char *pointer, const char *detail, ...)
	__attribute__((format(printf, 4, 5)));

#endif
