/*
 * Raw targets: "METHOD target". A routed target decodes to texts without NUL, and these encode to a
 * target with the same route. Two names have the same key only if they are the same bytes. A target
 * without a route is answered with a complete problem.
 */
#include "call/call.h"
#include "contract/route.h"
#include "fuzz.h"
#include "given.h"
#include "world.h"

static void append(char *out, size_t *n, char c)
{
	static const char hex[] = "0123456789ABCDEF";
	bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

	if (plain) {
		out[(*n)++] = c;
		return;
	}
	out[(*n)++] = '%';
	out[(*n)++] = hex[(unsigned char)c >> 4];
	out[(*n)++] = hex[(unsigned char)c & 15];
}

static void append_text(char *out, size_t *n, struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		append(out, n, t.at[i]);
}

/* The same target with every byte escaped except letters and digits. */
static struct text encoded(struct request *req, const char *used_method)
{
	size_t n = 0, value = 0;
	char *out = arena_alloc(&req->arena, 3 * req->asked.target.len + req->op->segment_count * 32 + 64);

	CHECK(out);
	n += (size_t)snprintf(out, 16, "%s ", used_method);
	for (size_t i = 0; i < req->op->segment_count; i++) {
		struct text s = req->op->segments[i];
		out[n++] = '/';
		append_text(out, &n, s.len ? s : req->asked.path_values[value++]);
	}
	for (size_t i = 0; i < req->asked.query_count; i++) {
		out[n++] = i ? '&' : '?';
		append_text(out, &n, req->asked.query[i].name);
		out[n++] = '=';
		append_text(out, &n, req->asked.query[i].value);
	}
	return (struct text){ out, n };
}

/* A forwarded operation accepts any method, so the target uses GET. */
static const char *method_of(const struct request *req)
{
	return req->op->forwarded ? "GET" : req->op->method;
}

static void check_texts(const struct request *req)
{
	for (size_t i = 0; i < MAX_PATH_PARAMETERS && req->asked.path_values[i].at; i++)
		CHECK(strlen(req->asked.path_values[i].at) == req->asked.path_values[i].len);
	for (size_t i = 0; i < req->asked.query_count; i++)
		CHECK(strlen(req->asked.query[i].name.at) == req->asked.query[i].name.len &&
		      strlen(req->asked.query[i].value.at) == req->asked.query[i].value.len);
}

static void check_same(struct request *req, struct request *other)
{
	CHECK(other->op == req->op && other->asked.query_count == req->asked.query_count);
	for (size_t i = 0; i < MAX_PATH_PARAMETERS; i++)
		CHECK(text_equal(other->asked.path_values[i], req->asked.path_values[i]));
	for (size_t i = 0; i < req->asked.query_count; i++)
		CHECK(text_equal(other->asked.query[i].name, req->asked.query[i].name) &&
		      text_equal(other->asked.query[i].value, req->asked.query[i].value));
}

/*
 * The rule of names refuses braces, so a key can be split into kind and name in only one way.
 */
static void check_key(struct request *req)
{
	struct text name = req->asked.path_values[0];

	if (!name.at || memchr(name.at, '{', name.len) || memchr(name.at, '}', name.len))
		return;
	struct text key = call_key_name(req, "lock", name, "fence");
	const char *open = memchr(key.at, '{', key.len), *close = memrchr(key.at, '}', key.len);
	CHECK(open && close && (size_t)(close - open - 1) == name.len && memcmp(open + 1, name.at, name.len) == 0);
	CHECK(memchr(open + 1, '{', key.len - (size_t)(open + 1 - key.at)) == NULL);
	CHECK(memchr(key.at, '}', key.len) == close);
}

static void check_routed(struct request *req)
{
	check_texts(req);
	check_key(req);
	if (req->op->tail)
		return; /* the rest of the path is not looked at */
	struct request *again = given_request(encoded(req, method_of(req)));
	CHECK(route_request(again));
	check_same(req, again);
	given_end(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text line;

	world_open((const char *const[]){ NULL });
	if (!input_piece(&in, '\n', &line))
		return 0;
	struct request *req = given_request(line);
	if (route_request(req))
		check_routed(req);
	else
		given_check_refusal(req);
	given_end(req);
	free((char *)(uintptr_t)line.at);
	return 0;
}
