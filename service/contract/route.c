/* route: decodes targets and finds the operation; see route.h. Pure but for the problem it answers. */
#include "contract/route.h"

#include <stdio.h>

#include "core/hex.h"
#include "request/answer.h"
#include "request/request.h"

enum { MAX_SEGMENTS = 12, ALLOW_BYTES = 64 };

/* Percent-decodes into the arena. An absent text: a bad escape, or a NUL byte. Whether it is UTF-8 is input's to say. */
static struct text decode(struct request *req, struct text raw, bool plus_is_space)
{
	struct text out = arena_copy(&req->arena, raw.at, raw.len);
	char *bytes = (char *)(uintptr_t)out.at;

	for (size_t i = 0; plus_is_space && i < out.len; i++)
		if (bytes[i] == '+')
			bytes[i] = ' ';
	return bytes && hex_unescape(bytes, &out.len) ? out : (struct text){ 0 };
}

static bool refuse_target(struct request *req, const char *why)
{
	if (req->arena.failed) {
		answer_no_memory(req, EFFECT_NONE);
		return false;
	}
	answer_problem(req, P_MALFORMED_REQUEST, "the request target %s", why);
	return false;
}

static bool parse_query(struct request *req, struct text query)
{
	size_t n = 1;

	if (query.len == 0)
		return true;
	for (size_t i = 0; i < query.len; i++)
		n += query.at[i] == '&';
	if (n > MAX_QUERY_PARAMETERS)
		return refuse_target(req, "has more than 128 query parameters");
	req->query = arena_alloc(&req->arena, n * sizeof(*req->query));
	if (!req->query)
		return refuse_target(req, "");
	while (query.len) {
		struct text value = text_cut(&query, '&');
		struct text name = text_cut(&value, '=');
		if (name.len == 0 && value.len == 0)
			continue;
		struct request_parameter *p = &req->query[req->query_count++];
		p->name = decode(req, name, true);
		p->value = decode(req, value, true);
		if (!p->name.at || !p->value.at)
			return refuse_target(req, "has a query with a bad %XX escape or a NUL byte");
	}
	return true;
}

static const struct resource nothing = { .operations = operations };

static const struct resource *resource_of(struct text segment)
{
	for (size_t i = 0; i < resource_count; i++)
		if (text_equal(resources[i].segment, segment))
			return &resources[i];
	return &nothing;
}

static bool matches(const struct operation *op, const struct text *segments, size_t count)
{
	if (op->segment_count != count && !(op->tail && op->segment_count < count))
		return false;
	for (size_t i = 1; i < op->segment_count; i++) /* the first is its resource's */
		if (op->segments[i].len && !text_equal(segments[i], op->segments[i]))
			return false;
	return true;
}

/* The next of a resource's operations that matches, behind `op` or, when that is NULL, from the first one on; NULL: there are no more. */
static const struct operation *next_match(const struct resource *r, const struct operation *op,
					  const struct text *segments, size_t count)
{
	for (op = op ? op + 1 : r->operations; op < r->operations + r->count; op++)
		if (matches(op, segments, count))
			return op;
	return NULL;
}

/* True when an operation takes anything behind these segments: what cannot be decoded, too. */
static bool takes_tail(const struct text *segments, size_t count)
{
	const struct resource *r = count ? resource_of(segments[0]) : &nothing;
	const struct operation *op = NULL;

	while ((op = next_match(r, op, segments, count)))
		if (op->tail)
			return true;
	return false;
}

/* Fewer parameters win: /queues/receive goes before /queues/{queue}. */
static size_t parameters_of(const struct operation *op)
{
	size_t n = 0;

	for (size_t i = 0; i < op->segment_count; i++)
		n += op->segments[i].len == 0;
	return n;
}

/* GET answers HEAD too; libmicrohttpd leaves the body out. */
static bool method_matches(const struct operation *op, const char *method)
{
	return op->forwarded || strcmp(op->method, method) == 0 ||
	       (strcmp(method, "HEAD") == 0 && strcmp(op->method, "GET") == 0);
}

static void refuse_method(struct request *req, const struct text *segments, size_t count)
{
	const struct resource *r = resource_of(segments[0]);
	const struct operation *op = NULL;
	char allow[ALLOW_BYTES] = "";
	size_t n = 0;

	while ((op = next_match(r, op, segments, count)) && n < sizeof(allow))
		if (!strstr(allow, op->method))
			n += (size_t)snprintf(allow + n, sizeof(allow) - n, "%s%s%s", n ? ", " : "", op->method,
					      strcmp(op->method, "GET") == 0 ? ", HEAD" : "");
	answer_header(req, "Allow", "%s", allow);
	answer_problem(req, P_METHOD_NOT_ALLOWED, "%s is not a method of this path; it takes %s", req->method, allow);
}

static void refuse_path(struct request *req, const struct text *segments, size_t count)
{
	answer_problem(req, P_NOT_FOUND,
		       "no operation has the path '%.*s'%s; /docs shows them, /openapi.json lists them",
		       (int)strcspn(req->target.at, "?"), req->target.at,
		       count > 1 && segments[count - 1].len == 0 ? " with a slash at its end" : "");
}

static bool find_operation(struct request *req, const struct text *segments, size_t count)
{
	const struct resource *r = resource_of(segments[0]);
	const struct operation *op = NULL;
	bool path_known = false;

	while ((op = next_match(r, op, segments, count))) {
		path_known = true;
		if (method_matches(op, req->method) && (!req->op || parameters_of(op) < parameters_of(req->op)))
			req->op = op;
	}
	if (req->op)
		return true;
	if (path_known)
		refuse_method(req, segments, count);
	else
		refuse_path(req, segments, count);
	return false;
}

/* Cuts the path and decodes its segments. False: it has been answered. */
static bool decode_path(struct request *req, struct text path, struct text segments[MAX_SEGMENTS], size_t *count)
{
	size_t n = 0;

	if (path.len == 0 || path.at[0] != '/')
		return refuse_target(req, "must start with '/'");
	path.at++;
	path.len--;
	for (; path.at; n++) {
		struct text raw = text_cut(&path, '/');
		if (n < MAX_SEGMENTS)
			segments[n] = decode(req, raw, false);
		if (n < MAX_SEGMENTS && segments[n].at)
			continue;
		if (takes_tail(segments, n))
			break;
		if (n < MAX_SEGMENTS)
			return refuse_target(req, "has a bad %XX escape or a NUL byte");
		answer_problem(req, P_NOT_FOUND, "no operation has a path of so many segments");
		return false;
	}
	*count = n;
	return true;
}

bool route_request(struct request *req)
{
	struct text segments[MAX_SEGMENTS];
	size_t count, value = 0;
	struct text query = req->target;
	struct text path = text_cut(&query, '?');

	if (!decode_path(req, path, segments, &count) || !find_operation(req, segments, count) ||
	    (!req->op->tail && !parse_query(req, query)))
		return false;
	for (size_t i = 0; i < req->op->segment_count; i++)
		if (req->op->segments[i].len == 0)
			req->path_values[value++] = segments[i];
	return true;
}

bool route_methods(struct request *req, const struct operation *found[ROUTE_METHODS_MAX], size_t *found_count)
{
	struct text segments[MAX_SEGMENTS];
	size_t count;
	struct text query = req->target;
	struct text path = text_cut(&query, '?');

	*found_count = 0;
	if (!decode_path(req, path, segments, &count))
		return false;
	const struct resource *r = resource_of(segments[0]);
	const struct operation *op = NULL;
	while ((op = next_match(r, op, segments, count)) && *found_count < ROUTE_METHODS_MAX)
		found[(*found_count)++] = op;
	if (*found_count == 0)
		refuse_path(req, segments, count);
	return *found_count > 0;
}
