/* route: see route.h. Pure, except for the problem that it answers with. */
#include "contract/route.h"

#include <assert.h>
#include <stdio.h>

#include "contract/path_hint.h"
#include "core/percent.h"
#include "request/answer.h"
#include "request/request.h"

enum { MAX_SEGMENTS = 12, ALLOW_BYTES = 64, FINDERS_MOST = 2 };

static const struct operation *(*finders[FINDERS_MOST])(struct request *req);
static size_t finder_count;
static bool (*answer_lost)(struct request *req);

void route_pages(const struct operation *(*find)(struct request *req))
{
	assert(finder_count < FINDERS_MOST);
	finders[finder_count++] = find;
}

void route_lost(bool (*answer)(struct request *req))
{
	answer_lost = answer;
}

/*
 * Percent-decodes into the arena. Returns an absent text at a bad escape or a NUL byte. input.c
 * checks UTF-8.
 */
static struct text decode(struct request *req, struct text raw, bool plus_is_space)
{
	struct text out = arena_copy(&req->arena, raw.at, raw.len);
	char *bytes = (char *)(uintptr_t)out.at;

	for (size_t i = 0; plus_is_space && i < out.len; i++)
		if (bytes[i] == '+')
			bytes[i] = ' ';
	return bytes && percent_decode(bytes, &out.len) ? out : (struct text){ 0 };
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
	req->asked.query = arena_alloc(&req->arena, n * sizeof(*req->asked.query));
	if (!req->asked.query)
		return refuse_target(req, "");
	while (query.len) {
		struct text value = text_cut(&query, '&');
		struct text name = text_cut(&value, '=');
		if (name.len == 0 && value.len == 0)
			continue;
		struct request_parameter *p = &req->asked.query[req->asked.query_count++];
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
	for (size_t i = 1; i < op->segment_count; i++) /* the first segment is its resource's */
		if (op->segments[i].len && !text_equal(segments[i], op->segments[i]))
			return false;
	return true;
}

/*
 * Returns a resource's next operation that matches, after `op`; if that is NULL, the first one.
 * NULL: there are no more.
 */
static const struct operation *next_match(const struct resource *r, const struct operation *op,
					  const struct text *segments, size_t count)
{
	for (op = op ? op + 1 : r->operations; op < r->operations + r->count; op++)
		if (matches(op, segments, count))
			return op;
	return NULL;
}

/* The operation with fewer parameters is preferred: /queues/receive over /queues/{name}. */
static size_t parameters_of(const struct operation *op)
{
	size_t n = 0;

	for (size_t i = 0; i < op->segment_count; i++)
		n += op->segments[i].len == 0;
	return n;
}

/*
 * Returns true if an operation accepts any text after these segments, even text that cannot be
 * decoded.
 */
static bool takes_tail(const struct text *segments, size_t count)
{
	const struct resource *r = count ? resource_of(segments[0]) : &nothing;
	const struct operation *op = NULL;

	while ((op = next_match(r, op, segments, count)))
		if (op->tail)
			return true;
	return false;
}

/* GET also answers HEAD; libmicrohttpd omits the body. */
static bool method_matches(const struct operation *op, const char *method)
{
	return op->forwarded || strcmp(op->method, method) == 0 ||
	       (strcmp(method, "HEAD") == 0 && strcmp(op->method, "GET") == 0);
}

/*
 * Finds all operations of a path, whatever their methods. If the path also matches one with more
 * parameters, the operations of that one are left out: its name is reserved there.
 */
static size_t operations_of(const struct text *segments, size_t count, const struct operation *found[ROUTE_METHODS_MAX])
{
	const struct resource *r = resource_of(segments[0]);
	const struct operation *op = NULL;
	size_t n = 0, least = SIZE_MAX;

	while ((op = next_match(r, op, segments, count))) {
		size_t parameters = parameters_of(op);
		if (parameters < least) {
			least = parameters;
			n = 0;
		}
		if (parameters == least && n < ROUTE_METHODS_MAX)
			found[n++] = op;
	}
	return n;
}

/* Writes a list such as "GET, HEAD, PUT, OPTIONS"; every path has OPTIONS. */
static void list_methods(const struct operation *const *found, size_t count, char allow[ALLOW_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < count && n < ALLOW_BYTES; i++)
		n += (size_t)snprintf(allow + n, ALLOW_BYTES - n, "%s, %s", found[i]->method,
				      strcmp(found[i]->method, "GET") == 0 ? "HEAD, " : "");
	snprintf(allow + n, ALLOW_BYTES - n, "OPTIONS");
}

/*
 * Writes what to use instead, such as "GET, PUT or DELETE". Only the Allow header also has HEAD and
 * OPTIONS, which are hardly meant.
 */
static void list_alternatives(const struct operation *const *found, size_t count, char list[ALLOW_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < count && n < ALLOW_BYTES; i++)
		n += (size_t)snprintf(list + n, ALLOW_BYTES - n, "%s%s",
				      i == 0           ? ""
				      : i + 1 == count ? " or "
						       : ", ",
				      found[i]->method);
}

/* `hint` is another path that has the method; NULL: none is near. */
static void refuse_method(struct request *req, const struct operation *const *found, size_t count, const char *hint)
{
	char allow[ALLOW_BYTES], list[ALLOW_BYTES];

	list_methods(found, count, allow);
	list_alternatives(found, count, list);
	answer_header(req, "Allow", "%s", allow);
	answer_problem(req, P_METHOD_NOT_ALLOWED, "%s is not a method of this path; use %s%s%s%s", req->asked.method,
		       list, hint ? "; did you mean " : "", hint ? hint : "", hint ? "?" : "");
}

static void refuse_path(struct request *req, const struct text *segments, size_t count)
{
	char hint[PATH_HINT_BYTES];
	int len = (int)strcspn(req->asked.target.at, "?");

	if (answer_lost && answer_lost(req))
		return;
	if (path_hint(req->asked.method, segments, count, hint))
		answer_problem(req, P_UNKNOWN_PATH, "no such path: '%.*s'; did you mean %s?", len, req->asked.target.at,
			       hint);
	else
		answer_problem(req, P_UNKNOWN_PATH,
			       "no such path: '%.*s'; /docs shows all paths; within a name, write / as %%2F, "
			       "or send the header Patternd-Name if a proxy decodes it",
			       len, req->asked.target.at);
}

static bool find_operation(struct request *req, const struct text *segments, size_t count)
{
	const struct operation *found[ROUTE_METHODS_MAX];
	size_t found_count = operations_of(segments, count, found);
	char hint[PATH_HINT_BYTES];

	for (size_t i = 0; i < found_count && !req->op; i++)
		if (method_matches(found[i], req->asked.method))
			req->op = found[i];
	if (req->op)
		return true;
	if (found_count)
		refuse_method(req, found, found_count,
			      path_hint_method(req->asked.method, found, found_count, segments[count - 1], hint));
	else
		refuse_path(req, segments, count);
	return false;
}

/* Splits the path and decodes its segments. False: the request was answered. */
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
		answer_problem(req, P_UNKNOWN_PATH, "no such path: it has more segments than any");
		return false;
	}
	*count = n;
	return true;
}

/*
 * Returns the page of a target. NULL: there is none; the target may be an operation of the
 * contract.
 */
static const struct operation *find_page(struct request *req)
{
	const struct operation *page = NULL;

	for (size_t i = finder_count; i > 0 && !page && *req->asked.target.at == '/'; i--)
		page = finders[i - 1](req);
	return page;
}

static bool serve_page(struct request *req, const struct operation *page)
{
	if (method_matches(page, req->asked.method))
		req->op = page;
	else
		refuse_method(req, &page, 1, NULL);
	return req->op;
}

bool route_request(struct request *req)
{
	struct text segments[MAX_SEGMENTS] = { 0 };
	size_t count, value = 0;
	struct text query = req->asked.target;
	struct text path = text_cut(&query, '?');
	const struct operation *page = find_page(req);

	if (page)
		return serve_page(req, page);
	if (!decode_path(req, path, segments, &count) || !find_operation(req, segments, count) ||
	    (!req->op->tail && !parse_query(req, query)))
		return false;
	for (size_t i = 0; i < req->op->segment_count; i++)
		if (req->op->segments[i].len == 0)
			req->asked.path_values[value++] = segments[i];
	return true;
}

static bool refuse_name(struct request *req, const char *why)
{
	if (req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	else
		answer_field_problem(req, P_INVALID_VALUE, "Patternd-Name:", "%s", why);
	return false;
}

/*
 * Any other name in the path is refused. Otherwise a proxy that admits requests by the name in the
 * path could be bypassed by another name in the header.
 */
bool route_name(struct request *req, struct text given)
{
	struct text *name = &req->asked.path_values[0];

	if (!given.at)
		return true;
	if (!name->at)
		return refuse_name(req, "cannot be used here: this path has no name");
	if (!text_is(*name, "_"))
		return refuse_name(req, "needs the path to have _ in place of its first name, as in /locks/_");
	if (given.len == 0)
		return refuse_name(req, "is empty; it must be the percent-encoded name");
	*name = decode(req, given, false);
	return name->at || refuse_name(req, "has a bad %XX escape or a NUL byte; it must be the percent-encoded name");
}

bool route_methods(struct request *req, const struct operation *found[ROUTE_METHODS_MAX], size_t *found_count)
{
	struct text segments[MAX_SEGMENTS] = { 0 };
	size_t count;
	struct text query = req->asked.target;
	struct text path = text_cut(&query, '?');

	found[0] = find_page(req);
	*found_count = found[0] != NULL;
	if (found[0])
		return true;
	if (!decode_path(req, path, segments, &count))
		return false;
	*found_count = operations_of(segments, count, found);
	if (*found_count == 0)
		refuse_path(req, segments, count);
	return *found_count > 0;
}

void route_accept_patch(struct request *req, const struct operation *op)
{
	if (strcmp(op->method, "PATCH") == 0)
		answer_header(req, "Accept-Patch", "%sapplication/json",
			      op->merges ? "application/merge-patch+json, " : "");
}

void route_allow(struct request *req, const struct operation *const *found, size_t count)
{
	char allow[ALLOW_BYTES];

	list_methods(found, count, allow);
	answer_header(req, "Allow", "%s", allow);
	for (size_t i = 0; i < count; i++)
		route_accept_patch(req, found[i]);
}
