/* answer: see answer.h. It must not know sockets or patterns. */
#include "request/answer.h"

#include <assert.h>
#include <stdio.h>

#include "core/budget.h"
#include "core/percent.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "request/operation.h"
#include "request/request.h"

enum { FIRST_BYTES = 512 };

#define MALLOC_FAILED "malloc failed: the system refused the daemon more memory; raise its memory limit, or retry later"

/* The response when memory for another one is missing. */
static const char no_memory[] =
	"{\"type\":\"/problems/overloaded\",\"title\":\"Daemon is overloaded\",\"status\":503,"
	"\"detail\":\"" MALLOC_FAILED "\",\"code\":\"overloaded\",\"effect\":\"unknown\",\"request_id\":null,"
	"\"retry_after_ms\":1000}";

/* The answer is complete: the gateway translates it, or it is sent. */
static void complete(struct request *req)
{
	void (*answered)(struct request *) = req->gateway ? req->gateway->answered : NULL;

	if (!answered) {
		request_move(req, ANSWERED);
		return;
	}
	req->gateway->answered = NULL;
	req->gateway->scope = GATEWAY_ITS_OWN;
	answered(req);
}

struct json_out *answer_begin(struct request *req, int status)
{
	static struct json_out nowhere; /* used if memory runs out; answer_end then answers 503 */

	if (req->op && req->op->writes)
		req->arena.bounded = false; /* the client must learn what it changed */
	req->answer.status = status;
	req->answer.content_type = "application/json";
	req->answer.out = arena_grow(&req->arena, NULL, 0, sizeof(*req->answer.out));
	if (!req->answer.out)
		req->answer.out = &nowhere;
	out_init(req->answer.out, &req->arena, FIRST_BYTES);
	out_object(req->answer.out, NULL);
	return req->answer.out;
}

/* Answers 500 if stored text is not JSON: another program has changed it in Redis. */
static void answer_broken_json(struct request *req)
{
	req->answer.header_count = 0;
	req->answer.retry_after_ms = 0;
	req->answer.cache_control = NULL;
	answer_problem_effect(req, P_FOREIGN_KEY, req->op && req->op->writes ? EFFECT_UNKNOWN : EFFECT_NONE,
			      "a stored value is not JSON: something other than patternd has changed it in Redis");
}

/*
 * Adds the header Retry-After, rounded up to seconds, and in a problem the member `retry_after_ms`.
 */
static void end_retry_after(struct request *req)
{
	int64_t ms = req->answer.retry_after_ms;

	if (ms == 0)
		return;
	answer_header_int(req, "Retry-After", (ms + 999) / 1000);
	if (req->answer.problem)
		out_int(req->answer.out, "retry_after_ms", ms);
}

void answer_end(struct request *req)
{
	if (req->answer.out->broken) {
		answer_broken_json(req);
		return;
	}
	end_retry_after(req);
	out_close(req->answer.out);
	out_newline(req->answer.out); /* for terminals */
	req->answer.body = out_all(req->answer.out);
	if (req->arena.failed && !req->answer.problem) {
		req->answer.header_count = 0;
		answer_no_memory(req, req->op && !req->op->writes ? EFFECT_NONE : EFFECT_UNKNOWN);
		return;
	}
	if (req->arena.failed) {
		req->answer.status = 503;
		req->answer.problem = problem_row(P_OVERLOADED);
		req->answer.content_type = "application/problem+json";
		req->answer.body = TEXT(no_memory);
	}
	complete(req);
}

void answer_body(struct request *req, int status, const char *content_type, struct text body)
{
	req->answer.status = status;
	req->answer.content_type = content_type;
	req->answer.body = body;
	complete(req);
}

void answer_empty(struct request *req, int status)
{
	answer_body(req, status, NULL, TEXT(""));
}

static void add_header(struct request *req, const char *name, struct text value)
{
	if (!req->answer.headers)
		req->answer.headers = arena_alloc(&req->arena, MAX_RESPONSE_HEADERS * sizeof(*req->answer.headers));
	if (req->answer.headers && value.at && req->answer.header_count < MAX_RESPONSE_HEADERS)
		req->answer.headers[req->answer.header_count++] = (struct response_header){ name, value.at };
}

void answer_header(struct request *req, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_header(req, name, arena_vprintf(&req->arena, format, args));
	va_end(args);
}

void answer_header_parts(struct request *req, const char *name, const struct text *parts, size_t count)
{
	add_header(req, name, arena_join(&req->arena, parts, count));
}

void answer_header_int(struct request *req, const char *name, int64_t value)
{
	char buffer[TEXT_DIGITS];
	struct text digits = text_of_int(value, buffer);

	answer_header_parts(req, name, &digits, 1);
}

/* A path of these segments, percent-encoded; absent if memory ran out. */
static struct text path_of(struct request *req, const struct text *segments, size_t count)
{
	struct text parts[2 * MAX_PATH_SEGMENTS];
	size_t n = 0;

	assert(count <= MAX_PATH_SEGMENTS);
	for (size_t i = 0; i < count; i++) {
		char *encoded = arena_alloc(&req->arena, 3 * segments[i].len + 1);
		if (!encoded)
			return (struct text){ 0 };
		parts[n++] = TEXT("/");
		parts[n++] = (struct text){ encoded, percent_encode(segments[i], encoded) };
	}
	return arena_join(&req->arena, parts, n);
}

void answer_location(struct request *req, const struct text *segments, size_t count)
{
	add_header(req, "Location", path_of(req, segments, count));
}

void answer_retry_after_ms(struct request *req, int64_t ms)
{
	req->answer.retry_after_ms = ms > 0 ? ms : 1;
}

/* Removes the memory limit: problems are always sent. */
static void answer_is_owed(struct request *req)
{
	req->arena.bounded = false;
	req->arena.failed = ARENA_OK;
}

static struct json_out *begin(struct request *req, enum problem p, enum effect effect, const char *detail, va_list args)
	__attribute__((format(printf, 4, 0)));

static struct json_out *begin(struct request *req, enum problem p, enum effect effect, const char *detail, va_list args)
{
	const struct problem_row *row = problem_row(p);

	answer_is_owed(req); /* also after an allocation has failed */
	struct json_out *o = answer_begin(req, row->status);
	if (p == P_OVERLOADED) {
		metrics_count(METRIC_requests_overloaded);
		req->answer.close = true; /* the connection is free for another client until the retry */
	}
	if (req->has_effect && effect == EFFECT_NONE)
		effect = EFFECT_UNKNOWN;
	req->answer.content_type = "application/problem+json";
	req->answer.problem = row;
	out_text(o, "type", arena_join(&req->arena, (struct text[]){ TEXT("/problems/"), text_of(row->code) }, 2));
	out_string(o, "title", row->title);
	out_int(o, "status", row->status);
	out_text(o, "detail", arena_vprintf(&req->arena, detail, args));
	out_string(o, "code", row->code);
	out_string(o, "effect", problem_effect_name(effect));
	out_text(o, "request_id", req->asked.request_id);
	if (row->status == 503 && req->answer.retry_after_ms == 0)
		answer_retry_after_ms(req, 1000);
	return o;
}

struct json_out *answer_begin_problem(struct request *req, enum problem p, const char *detail, ...)
{
	va_list args;

	va_start(args, detail);
	struct json_out *o = begin(req, p, problem_row(p)->effect, detail, args);
	va_end(args);
	return o;
}

struct json_out *answer_begin_problem_effect(struct request *req, enum problem p, enum effect effect,
					     const char *detail, ...)
{
	va_list args;

	va_start(args, detail);
	struct json_out *o = begin(req, p, effect, detail, args);
	va_end(args);
	return o;
}

/* Returns true if the handler's fallback answered in place of the problem. */
static bool fell_back(struct request *req, enum problem p, enum effect effect)
{
	bool (*fallback)(struct request *, enum problem, enum effect) = req->fallback;

	if (!fallback)
		return false;
	req->fallback = NULL;
	answer_is_owed(req);
	return fallback(req, p, effect);
}

void answer_problem(struct request *req, enum problem p, const char *detail, ...)
{
	va_list args;

	if (fell_back(req, p, problem_row(p)->effect))
		return;
	va_start(args, detail);
	begin(req, p, problem_row(p)->effect, detail, args);
	va_end(args);
	answer_end(req);
}

void answer_problem_effect(struct request *req, enum problem p, enum effect effect, const char *detail, ...)
{
	va_list args;

	if (fell_back(req, p, effect))
		return;
	va_start(args, detail);
	begin(req, p, effect, detail, args);
	va_end(args);
	answer_end(req);
}

void answer_internal(struct request *req, const char *why)
{
	const char *operation = req->op ? req->op->id : "an unknown operation";
	const char *id = req->asked.request_id.at ? req->asked.request_id.at : "-";

	log_event(LOG_ERROR, "internal_error", "request %s, %s: %s", id, operation, why);
	answer_problem_effect(req, P_INTERNAL, !req->op || req->op->writes ? EFFECT_UNKNOWN : EFFECT_NONE,
			      "internal error in %s; please report request_id %s", operation, id);
}

void answer_misread(struct request *req)
{
	answer_internal(req, "Redis's reply has an unexpected form");
}

void answer_no_memory(struct request *req, enum effect effect)
{
	if (req->arena.failed == ARENA_OVER_BUDGET)
		answer_problem_effect(
			req, P_OVERLOADED, effect,
			"requests take %zu of the %lld bytes of memory that --max-request-memory allows, and this one needs more; "
			"raise it, or retry later",
			budget_used(), (long long)config()->max_request_memory);
	else
		answer_problem_effect(req, P_OVERLOADED, effect, MALLOC_FAILED);
}

void answer_field_problem(struct request *req, enum problem p, const char *pointer, const char *detail, ...)
{
	va_list args;

	va_start(args, detail);
	struct text why = arena_vprintf(&req->arena, detail, args);
	va_end(args);
	struct json_out *o = answer_begin_problem(req, p, "%s %s", pointer, why.at ? why.at : "");
	out_array(o, "errors");
	out_object(o, NULL);
	out_string(o, "pointer", pointer);
	out_text(o, "detail", why);
	out_close(o);
	out_close(o);
	answer_end(req);
}
