/* cors: see cors.h. */
#include "access/cors.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/config.h"
#include "request/answer.h"
#include "request/operation.h"
#include "request/request.h"

enum { MAX_ORIGINS = 64, METHODS_BYTES = 64, HEADERS_BYTES = 512 };

const char cors_exposed[] =
	"Accept-Patch, Allow, Deprecation, ETag, Idempotent-Replayed, Link, Location, Patternd-Source, RateLimit, "
	"RateLimit-Limit, RateLimit-Policy, RateLimit-Remaining, RateLimit-Reset, Retry-After, WWW-Authenticate, "
	"X-Request-ID";

/* The headers that every operation accepts. */
static const char own_headers[] =
	"Accept, Authorization, Content-Type, Idempotency-Key, Idempotency-TTL-Ms, If-Match, If-None-Match, "
	"X-Request-ID, traceparent";

static char *list; /* owned: a copy of the option, with a NUL after each origin */
static const char *origins[MAX_ORIGINS];
static size_t origin_count;

/* ---- The origins ---- */

/*
 * Checks the form that browsers send: scheme://host[:port], in lower case, without a default port.
 */
static bool is_origin(const char *s)
{
	bool secure = strncmp(s, "https://", 8) == 0;
	const char *host = s + (secure ? 8 : 7);

	if (!secure && strncmp(s, "http://", 7) != 0)
		return false;
	size_t len = *host == '[' ? strcspn(host, "]") + 1 : strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-._");
	if (*host == '[' && (len < 4 || host[len - 1] != ']' || strspn(host + 1, "0123456789abcdef:.") != len - 2))
		return false;
	const char *port = host + len;
	if (len == 0 || *port == '\0')
		return len > 0;
	size_t digits = strspn(port + 1, "0123456789");
	return *port == ':' && digits > 0 && digits <= 5 && port[digits + 1] == '\0' && port[1] != '0' &&
	       strcmp(port, secure ? ":443" : ":80") != 0;
}

static bool add_origin(const char *one)
{
	if (!is_origin(one)) {
		fprintf(stderr,
			"patternd: --cors-origins: '%s' is not an origin: expected one like https://app.example or "
			"http://localhost:3000, as browsers write it, without a path\n",
			one);
		return false;
	}
	if (origin_count == MAX_ORIGINS) {
		fprintf(stderr, "patternd: --cors-origins: more than %d origins\n", MAX_ORIGINS);
		return false;
	}
	origins[origin_count++] = one;
	return true;
}

bool cors_open(void)
{
	list = strdup(config()->cors_origins);
	if (!list) {
		fprintf(stderr, "patternd: no memory\n");
		return false;
	}
	for (char *at = list + strspn(list, ", "); *at;) {
		size_t len = strcspn(at, ", "), gap = strspn(at + len, ", ");
		at[len] = '\0';
		if (!add_origin(at))
			return false;
		at += len + gap;
	}
	return true;
}

void cors_close(void)
{
	free(list);
	list = NULL;
	origin_count = 0;
}

bool cors_is_on(void)
{
	return origin_count > 0;
}

const char *cors_origin(struct text origin)
{
	for (size_t i = 0; i < origin_count; i++)
		if (text_is(origin, origins[i]))
			return origins[i];
	return NULL;
}

/* ---- Preflight ---- */

static void add(char *to, size_t size, const char *item)
{
	size_t len = strlen(to);

	if (!strstr(to, item)) /* none of these methods and headers is part of another */
		snprintf(to + len, size - len, "%s%s", len ? ", " : "", item);
}

void cors_preflight(struct request *req, const struct operation *const *found, size_t count)
{
	char methods[METHODS_BYTES] = "", headers[HEADERS_BYTES];

	snprintf(headers, sizeof(headers), "%s", own_headers);
	for (size_t i = 0; i < count; i++) {
		add(methods, sizeof(methods), found[i]->method);
		if (strcmp(found[i]->method, "GET") == 0)
			add(methods, sizeof(methods), "HEAD");
		for (size_t k = 0; k < found[i]->field_count; k++)
			if (found[i]->fields[k].place == IN_HEADER)
				add(headers, sizeof(headers), found[i]->fields[k].name);
	}
	answer_header(req, "Access-Control-Allow-Methods", "%s", methods);
	answer_header(req, "Access-Control-Allow-Headers", "%s", headers);
	answer_header(req, "Access-Control-Max-Age", "600");
}
