/* precheck: see precheck.h. Pure, except for the problem that it answers with. */
#include "http/precheck.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "access/access.h"
#include "access/cors.h"
#include "access/site.h"
#include "contract/route.h"
#include "core/hex.h"
#include "process/config.h"
#include "request/accept.h"
#include "request/answer.h"
#include "request/request.h"
#include "request/traceparent.h"

enum {
	MAX_TARGET_BYTES = 8192,
	HEADER_BYTES = 64, /* that libmicrohttpd needs for each header beside its text */
	MAX_REQUEST_ID_BYTES = 128,
	MAX_IDEMPOTENCY_KEY_BYTES = 200,
	MIN_IDEMPOTENCY_TTL_MS = 1000,
	BODY_BESIDE_VALUE = 128 * 1024 /* the headers of a message, escaped, and all other members */
};

void precheck_begin(struct precheck *p, struct request *req, const char *version)
{
	*p = (struct precheck){ .req = req, .version = version, .headers.arena = &req->arena };
}

static struct text header(const struct precheck *p, enum http_header_id id)
{
	return p->headers.value[id];
}

/* ---- Request id and trace ---- */

static bool is_printable(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] <= ' ' || t.at[i] > '~' || t.at[i] == '"' || t.at[i] == '\\')
			return false;
	return t.len > 0;
}

/* Uses the client's id if it is safe in a log line; otherwise makes a new one. */
static void identify(struct precheck *p)
{
	static char process[10];
	static int64_t serial;
	char buffer[TEXT_DIGITS];
	struct text given = header(p, HEADER_REQUEST_ID);

	if (given.at && given.len <= MAX_REQUEST_ID_BYTES && is_printable(given)) {
		p->req->asked.request_id = arena_copy(&p->req->arena, given.at, given.len);
		return;
	}
	if (!*process) {
		hex_random(process, 8);
		process[8] = '-';
	}
	struct text parts[] = { { process, 9 }, text_of_int(++serial, buffer) };
	p->req->asked.request_id = arena_join(&p->req->arena, parts, 2);
	if (!p->req->asked.request_id.at)
		p->req->asked.request_id = TEXT("-");
}

/* An invalid or repeated header is ignored. */
static void trace(struct precheck *p)
{
	struct text t = header(p, HEADER_TRACEPARENT);

	if (p->headers.count[HEADER_TRACEPARENT] == 1 && traceparent_is_valid(t))
		p->req->asked.traceparent = arena_copy(&p->req->arena, t.at, TRACEPARENT_LEN);
}

/* ---- Framing ---- */

/* Answers 400. Where the next request begins is unknown, so the connection closes. */
static bool refuse_framing(struct precheck *p, const char *why)
{
	p->req->answer.close = true;
	answer_problem(p->req, P_MALFORMED_REQUEST, "%s", why);
	return false;
}

static bool check_length(struct precheck *p)
{
	struct text t = header(p, HEADER_CONTENT_LENGTH);
	size_t len = 0;

	if (!t.at)
		return true;
	if (t.len == 0 || t.len > 18 || strspn(t.at, "0123456789") != t.len)
		return refuse_framing(p, "Content-Length must be one decimal number");
	for (size_t i = 0; i < t.len; i++)
		len = len * 10 + (size_t)(t.at[i] - '0');
	p->body_len = len;
	p->body_expected = len > 0;
	return true;
}

static bool check_framing(struct precheck *p)
{
	struct text encoding = header(p, HEADER_TRANSFER_ENCODING);

	if (p->headers.flaw)
		return refuse_framing(p, p->headers.flaw);
	if (strncmp(p->version, "HTTP/1.", 7) != 0)
		return refuse_framing(p, "HTTP/1.1 is expected");
	const char *repeated = http_headers_repeated(&p->headers);
	if (repeated) {
		p->req->answer.close = true;
		answer_problem(p->req, P_MALFORMED_REQUEST, "the header %s was sent more than once", repeated);
		return false;
	}
	if (encoding.at && header(p, HEADER_CONTENT_LENGTH).at)
		return refuse_framing(p, "Content-Length and Transfer-Encoding exclude each other");
	if (encoding.at && (encoding.len != 7 || strncasecmp(encoding.at, "chunked", 7) != 0))
		return refuse_framing(p, "Transfer-Encoding must be chunked");
	if (encoding.at && strcmp(p->version, "HTTP/1.1") != 0)
		return refuse_framing(p, "Transfer-Encoding needs HTTP/1.1");
	p->body_expected = encoding.at != NULL;
	return check_length(p);
}

/*
 * A target in absolute form, as clients send it to proxies, has its host, which replaces Host (RFC
 * 9112 section 3.2.2). False: the request was answered.
 */
static bool split_target(struct precheck *p)
{
	struct text *target = &p->req->asked.target;
	size_t scheme = strncasecmp(target->at, "http://", 7) == 0    ? 7
			: strncasecmp(target->at, "https://", 8) == 0 ? 8
								      : 0;

	if (scheme == 0)
		return true;
	size_t end = scheme + strcspn(target->at + scheme, "/?");
	struct text host = arena_copy(&p->req->arena, target->at + scheme, end - scheme);
	struct text slash = { "/", target->at[end] != '/' }, rest = { target->at + end, target->len - end };
	rest = arena_join(&p->req->arena, (struct text[]){ slash, rest }, 2);
	if (!host.at || !rest.at) {
		answer_no_memory(p->req, EFFECT_NONE);
		return false;
	}
	p->headers.value[HEADER_HOST] = host;
	*target = rest;
	return true;
}

static bool check_site(struct precheck *p)
{
	struct text host = header(p, HEADER_HOST);

	return site_serves_host(p->req, host) &&
	       site_is_allowed(p->req, host, header(p, HEADER_ORIGIN), header(p, HEADER_SEC_FETCH_SITE));
}

/* ---- Body ---- */

static bool is_type(struct text given, struct text wanted)
{
	return given.at && given.len >= wanted.len && strncasecmp(given.at, wanted.at, wanted.len) == 0 &&
	       strchr("; \t", given.at[wanted.len]);
}

static bool is_json(const struct operation *op, struct text type)
{
	return op->is_gateway || is_type(type, TEXT("application/json")) ||
	       (op->merges && is_type(type, TEXT("application/merge-patch+json")));
}

static void refuse_type(struct request *req)
{
	route_accept_patch(req, req->op);
	answer_problem(req, P_UNSUPPORTED_MEDIA_TYPE,
		       "send plain JSON with the header 'Content-Type: application/json' (curl: --json instead of -d)");
}

size_t precheck_max_body(const struct operation *op)
{
	return (size_t)config()->max_body_bytes * (op->is_gateway ? 2 : 1) + BODY_BESIDE_VALUE;
}

static bool check_body(struct precheck *p)
{
	struct text expect = header(p, HEADER_EXPECT), type = header(p, HEADER_CONTENT_TYPE),
		    encoding = header(p, HEADER_CONTENT_ENCODING);

	if (expect.at && strcasecmp(expect.at, "100-continue") != 0) {
		answer_problem(p->req, P_EXPECTATION_FAILED, "'Expect: %s' is not supported; only 100-continue is",
			       expect.at);
		return false;
	}
	if (!p->body_expected)
		return true;
	if (!p->req->op->takes_body) {
		answer_problem(p->req, P_UNEXPECTED_BODY, "%s takes no body: leave it and its Content-Length out",
			       p->req->op->id);
		return false;
	}
	if (p->body_len > precheck_max_body(p->req->op)) {
		answer_problem(
			p->req, P_BODY_TOO_LARGE,
			"the request body has %zu bytes; %zu are allowed: %s--max-body-bytes for a value, and 128 KiB more",
			p->body_len, precheck_max_body(p->req->op), p->req->op->is_gateway ? "twice " : "");
		return false;
	}
	if (is_json(p->req->op, type) && (!encoding.at || strcasecmp(encoding.at, "identity") == 0))
		return true;
	refuse_type(p->req);
	return false;
}

/* ---- Accept, Idempotency-Key, target ---- */

/* `curl --json` accepts only JSON, and nevertheless gets the stream. */
static bool is_stream_for_json(struct request *req)
{
	return strcmp(req->op->media_type, "text/event-stream") == 0 &&
	       accept_quality(req->asked.accept, req->op->media_type) < 0 &&
	       accept_quality(req->asked.accept, "application/json") > 0;
}

static bool check_accept(struct precheck *p)
{
	struct request *req = p->req;
	const struct operation *op = req->op;

	req->asked.accept = header(p, HEADER_ACCEPT);
	req->asked.accept_encoding = header(p, HEADER_ACCEPT_ENCODING);
	if (!op->media_type || accept_quality(req->asked.accept, op->media_type) > 0 ||
	    (op->other_type && accept_quality(req->asked.accept, op->other_type) > 0) || is_stream_for_json(req))
		return true;
	answer_problem(req, P_NOT_ACCEPTABLE, "%s answers with %s%s%s", op->id, op->media_type,
		       op->other_type ? " or " : "", op->other_type ? op->other_type : "");
	return false;
}

/* A client may set a shorter time than --idempotency-ttl-ms. */
static bool check_idempotency_ttl(struct precheck *p)
{
	struct text ttl = header(p, HEADER_IDEMPOTENCY_TTL);
	int64_t most = config()->idempotency_ttl_ms, ms;

	if (!ttl.at)
		return true;
	ms = ttl.len <= 15 && strspn(ttl.at, "0123456789") == ttl.len ? strtoll(ttl.at, NULL, 10) : 0;
	if (ms < MIN_IDEMPOTENCY_TTL_MS) {
		answer_field_problem(p->req, P_OUT_OF_RANGE,
				     "Idempotency-TTL-Ms:", "must be a whole number of at least %d",
				     MIN_IDEMPOTENCY_TTL_MS);
		return false;
	}
	p->req->asked.record_ms = ms < most ? ms : most;
	return true;
}

/* The value is a bare or a quoted string (draft-ietf-httpapi-idempotency-key-header-07). */
static bool check_idempotency_key(struct precheck *p)
{
	struct text key = header(p, HEADER_IDEMPOTENCY_KEY);

	if (!key.at || p->req->op->replay == REPLAY_NONE)
		return true;
	if (key.len >= 2 && key.at[0] == '"' && key.at[key.len - 1] == '"') {
		key.at++;
		key.len -= 2;
	}
	if (key.len < 1 || key.len > MAX_IDEMPOTENCY_KEY_BYTES || text_has_control(key) || !text_is_utf8(key)) {
		answer_field_problem(p->req, P_INVALID_VALUE,
				     "Idempotency-Key:", "must have 1 to %d bytes of plain text",
				     MAX_IDEMPOTENCY_KEY_BYTES);
		return false;
	}
	p->req->asked.idempotency_key = arena_copy(&p->req->arena, key.at, key.len);
	return check_idempotency_ttl(p);
}

static bool is_health(struct text target)
{
	static const char *const paths[] = { "/healthz", "/readyz", "/metrics" };
	size_t len = strcspn(target.at, "?");

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strlen(paths[i]) == len && memcmp(paths[i], target.at, len) == 0)
			return true;
	return false;
}

static bool check_target(struct precheck *p)
{
	struct request *req = p->req;

	if (req->asked.only_health && !is_health(req->asked.target)) {
		answer_problem(req, P_UNKNOWN_PATH, "--health-listen serves only /healthz, /readyz and /metrics");
		return false;
	}
	if (req->asked.target.len > MAX_TARGET_BYTES) {
		answer_problem(req, P_TARGET_TOO_LONG, "the request target has %zu bytes; %d are allowed",
			       req->asked.target.len, MAX_TARGET_BYTES);
		return false;
	}
	return true;
}

bool precheck_head_fits(const struct precheck *p)
{
	return p->head_bytes + (size_t)p->headers.lines * HEADER_BYTES <= PRECHECK_HEAD_BYTES;
}

static bool check_head(struct precheck *p)
{
	if (precheck_head_fits(p))
		return true;
	answer_problem(p->req, P_HEADERS_TOO_LARGE,
		       "the request line and %u headers have %zu bytes; %d are allowed, and each header counts %d "
		       "more: send fewer or shorter headers",
		       p->headers.lines, p->head_bytes, PRECHECK_HEAD_BYTES, HEADER_BYTES);
	return false;
}

static bool is_forwarded(const struct operation *const *found, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (found[i]->forwarded)
			return true;
	return false;
}

/*
 * Answers OPTIONS, and then returns true. The response has the methods of the path (RFC 9110,
 * 9.3.7). A page on an allowed origin also gets what browsers ask in a preflight. Neither needs a
 * token, since browsers send a preflight without one.
 */
static bool answer_options(struct precheck *p)
{
	const struct operation *found[ROUTE_METHODS_MAX];
	struct request *req = p->req;
	size_t count;

	if (strcmp(req->asked.method, "OPTIONS") != 0)
		return false;
	if (!route_methods(req, found, &count))
		return true;
	if (is_forwarded(found, count)) /* OPTIONS is not special there */
		return false;
	if (!check_site(p))
		return true;
	if (req->caller.cors_origin && header(p, HEADER_REQUEST_METHOD).at)
		cors_preflight(req, found, count);
	route_allow(req, found, count);
	answer_empty(req, 204);
	return true;
}

static bool check_token(struct precheck *p)
{
	return access_admit(p->req, header(p, HEADER_AUTHORIZATION));
}

static void keep_conditions(struct precheck *p)
{
	struct request_conditions c = { header(p, HEADER_IF_MATCH), header(p, HEADER_IF_NONE_MATCH) };
	struct request_conditions *kept = c.match.at || c.none_match.at ? arena_alloc(&p->req->arena, sizeof(c)) : NULL;

	if (kept) /* if memory ran out, nothing is sent to Redis: arena.failed is set */
		*kept = c;
	p->req->asked.conditions = kept;
}

bool precheck_run(struct precheck *p)
{
	identify(p);
	trace(p);
	keep_conditions(p);
	p->req->caller.cors_origin = cors_origin(header(p, HEADER_ORIGIN));
	if (!check_framing(p) || !split_target(p) || !check_target(p) || !check_head(p))
		return false;
	if (answer_options(p) || !route_request(p->req))
		return false;
	/*
	 * A proxy forwards headers that clients meant for another server. If an Idempotency-Key
	 * among them counted, a client would be admitted for ever.
	 */
	if (p->req->op->forwarded) {
		p->req->caller.cors_origin = NULL;
		return check_token(p);
	}
	return check_site(p) && route_name(p->req, header(p, HEADER_NAME)) && check_token(p) && check_accept(p) &&
	       check_idempotency_key(p) && check_body(p);
}
