/*
 * answer: the response of a handler. A request is answered exactly once.
 *
 *	struct json_out *o = answer_begin(req, 201);
 *	out_text(o, "name", in->name);
 *	answer_end(req);
 *
 * and for problems RFC 9457 problem details:
 *
 *	struct json_out *o = answer_begin_problem(req, P_LOCK_HELD, "'%s' is held by '%s'", ...);
 *	out_int(o, "waiter_count", 3);
 *	answer_end(req);
 *
 * The codes, their status, title and default effect are the rows of errors.def.
 */
#ifndef PATTERND_ANSWER_H
#define PATTERND_ANSWER_H

#include "request/problem.h"
#include "json/out.h"

struct request;

/* Opens the response's JSON object; the writer is borrowed until answer_end. */
struct json_out *answer_begin(struct request *req, int status);
void answer_end(struct request *req);

/* A whole response of any media type; `body` must outlive the request (static, or in its arena). */
void answer_body(struct request *req, int status, const char *content_type, struct text body);

/* A status without a body: 204, 304. */
void answer_empty(struct request *req, int status);

/* A header of the response; before answer_end. `name` must be static. */
void answer_header(struct request *req, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same of joined parts, without the cost of a format; and of a number. */
void answer_header_parts(struct request *req, const char *name, const struct text *parts, size_t count);
void answer_header_int(struct request *req, const char *name, int64_t value);

enum { MAX_PATH_SEGMENTS = 12 };

/*
 * A path of segments that are not percent-encoded yet, in the request's arena; absent without
 * memory.
 */
struct text answer_path(struct request *req, const struct text *segments, size_t count);

/* Location: the path of what a POST has made. Before answer_end. */
void answer_location(struct request *req, const struct text *segments, size_t count);

/*
 * When to try again: the header Retry-After in whole seconds, rounded up, and in a problem the
 * member `retry_after_ms`. At least 1 ms; a problem of 503 without it has a second. Before
 * answer_end.
 */
void answer_retry_after_ms(struct request *req, int64_t ms);

/* Opens a problem with type, title, status, detail, code, effect, request_id; more may follow. */
struct json_out *answer_begin_problem(struct request *req, enum problem p, const char *detail, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with another effect than the row's. */
struct json_out *answer_begin_problem_effect(struct request *req, enum problem p, enum effect effect,
					     const char *detail, ...) __attribute__((format(printf, 4, 5)));

/* A problem without members of its own. */
void answer_problem(struct request *req, enum problem p, const char *detail, ...) __attribute__((format(printf, 3, 4)));

/* The same with another effect than the row's. */
void answer_problem_effect(struct request *req, enum problem p, enum effect effect, const char *detail, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * 500: a defect. `why` goes to the log, under the request's id; the answer names the operation and
 * the id only.
 */
void answer_internal(struct request *req, const char *why);

/*
 * 500: Redis's reply has an unexpected form.
 */
void answer_misread(struct request *req);

/* 503: no memory. Names the limit: --max-request-memory if that failed the arena, or malloc. */
void answer_no_memory(struct request *req, enum effect effect);

/*
 * 400 with `errors: [{pointer, detail}]` for one field. The pointer is a JSON pointer into the body
 * ("/delay_ms"), or "?name" for a query parameter, "{name}" for a path parameter, "Header-Name:"
 * for a header.
 */
void answer_field_problem(struct request *req, enum problem p, const char *pointer, const char *detail, ...)
	__attribute__((format(printf, 4, 5)));

#endif
