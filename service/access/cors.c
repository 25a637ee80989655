#include "access/cors.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "process/config.h"
#include "request/answer.h"
#include "request/operation.h"
#include "request/request.h"

enum { MAX_ORIGINS = 64, METHODS_BYTES = 64, HEADERS_BYTES = 512 };

const char cors_exposed[] =
	"Accept-Patch, Allow, ETag, Idempotent-Replayed, Location, Patternd-Source, RateLimit, "
	"RateLimit-Limit, RateLimit-Policy, RateLimit-Remaining, RateLimit-Reset, Retry-After, WWW-Authenticate, "
	"X-Request-ID";

/* The headers that every operation accepts. The last three are added by libraries for tracing. */
static const char own_headers[] =
	"Accept, Authorization, Content-Type, Idempotency-Key, Idempotency-TTL-Ms, If-Match, If-None-Match, "
	"Patternd-Name, X-Request-ID, traceparent, tracestate, baggage";

static char *list; /* owned: a copy of the option, with a NUL after each origin */
static const char *origins[MAX_ORIGINS];
static size_t origin_count;

/* ---- The origins ---- */

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"

/* Returns the end of a host; NULL: there is none. Hosts of the web are in lower case. */
static const char *behind_host(const char *at, bool is_web)
{
	size_t len = *at == '[' ? strcspn(at, "]") + 1
				: strspn(at, is_web ? LOWER "-._" : LOWER "-._ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	if (*at == '[' && (len < 4 || at[len - 1] != ']' || strspn(at + 1, "0123456789abcdef:.") != len - 2))
		return NULL;
	return len > 0 ? at + len : NULL;
}

/*
 * Checks the form that browsers send: scheme://host[:port], in lower case, without a default port.
 * Applications and extensions have other schemes than http and https.
 */
bool cors_is_origin(const char *s)
{
	size_t scheme = strspn(s, LOWER "+-.");
	bool is_plain = strncmp(s, "http:", 5) == 0, is_secure = strncmp(s, "https:", 6) == 0;

	if (!islower((unsigned char)*s) || strncmp(s + scheme, "://", 3) != 0)
		return false;
	const char *port = behind_host(s + scheme + 3, is_plain || is_secure);
	if (!port || *port == '\0')
		return port != NULL;
	size_t digits = strspn(port + 1, "0123456789");
	return *port == ':' && digits > 0 && digits <= 5 && port[digits + 1] == '\0' && port[1] != '0' &&
	       !(is_plain && strcmp(port, ":80") == 0) && !(is_secure && strcmp(port, ":443") == 0);
}

static bool add_origin(const char *one)
{
	if (!cors_is_origin(one)) {
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

/* Checks --cors-headers, which is sent as it is. */
static bool check_headers(void)
{
	static const char token[] = LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~";

	for (struct text rest = text_of(config()->cors_headers); rest.len;) {
		struct text one = text_trimmed(text_cut(&rest, ','));
		if (one.len > 0 && strspn(one.at, token) >= one.len)
			continue;
		fprintf(stderr,
			"patternd: --cors-headers: '%.*s' is not the name of a header: expected names like sentry-trace, "
			"separated by commas\n",
			(int)one.len, one.at);
		return false;
	}
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
	return check_headers();
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
	const char *more = config()->cors_headers;
	answer_header(req, "Access-Control-Allow-Headers", "%s%s%s", headers, *more ? ", " : "", more);
	answer_header(req, "Access-Control-Max-Age", "600");
}
