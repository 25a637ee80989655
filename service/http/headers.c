#include "http/headers.h"

#include <string.h>
#include <strings.h>

static const struct {
	struct text name;
	bool is_list; /* several lines are one list (RFC 9110 section 5.3); else they are rejected */
} own[HEADER_OF_OPERATIONS] = {
#define HEADER(id, text, is_list) [HEADER_##id] = { TEXT(text), (is_list) }
	HEADER(HOST, "Host", false),
	HEADER(CONTENT_LENGTH, "Content-Length", false),
	HEADER(TRANSFER_ENCODING, "Transfer-Encoding", false),
	HEADER(AUTHORIZATION, "Authorization", true), /* no list is a token */
	HEADER(CONTENT_TYPE, "Content-Type", false),
	HEADER(CONTENT_ENCODING, "Content-Encoding", false),
	HEADER(ACCEPT, "Accept", true),
	HEADER(ACCEPT_ENCODING, "Accept-Encoding", true),
	HEADER(EXPECT, "Expect", false),
	HEADER(ORIGIN, "Origin", false),
	HEADER(SEC_FETCH_SITE, "Sec-Fetch-Site", false),
	HEADER(REQUEST_METHOD, "Access-Control-Request-Method", true),
	HEADER(IDEMPOTENCY_KEY, "Idempotency-Key", false),
	HEADER(IDEMPOTENCY_TTL, "Idempotency-TTL-Ms", false),
	HEADER(REQUEST_ID, "X-Request-ID", true), /* a list is not a valid id, so it is ignored */
	HEADER(TRACEPARENT, "traceparent", true),
	HEADER(IF_MATCH, "If-Match", true),
	HEADER(IF_NONE_MATCH, "If-None-Match", true),
	HEADER(NAME, "Patternd-Name", false),
#undef HEADER
};

static struct text name_of(size_t i)
{
	return i < HEADER_OF_OPERATIONS ? own[i].name : operation_headers[i - HEADER_OF_OPERATIONS];
}

static bool is_list(size_t i)
{
	return i < HEADER_OF_OPERATIONS && own[i].is_list;
}

static bool is_named(size_t i, const char *name, size_t len)
{
	return name_of(i).len == len && strncasecmp(name_of(i).at, name, len) == 0;
}

/* tchar of RFC 9110 section 5.6.2. */
static const bool token_bytes[256] = {
	['!'] = true,         ['#' ... '\''] = true, ['*' ... '+'] = true, ['-' ... '.'] = true, ['0' ... '9'] = true,
	['A' ... 'Z'] = true, ['^' ... 'z'] = true,  ['|'] = true,         ['~'] = true,
};

static bool is_token(const char *name)
{
	const char *at = name;

	while (token_bytes[(unsigned char)*at])
		at++;
	return at > name && *at == '\0';
}

static bool has_control(const char *value)
{
	for (; *value; value++)
		if (((unsigned char)*value < ' ' && *value != '\t') || *value == '\x7f')
			return true;
	return false;
}

/*
 * CGI reads Content_Length as Content-Length, and proxies may do so, too. libmicrohttpd does not.
 */
static bool is_underscored(const char *name, size_t len)
{
	char dashed[32];

	if (!memchr(name, '_', len) || len >= sizeof(dashed))
		return false;
	for (size_t i = 0; i <= len; i++)
		dashed[i] = name[i] == '_' ? '-' : name[i];
	for (size_t i = 0; i < HEADER_COUNT; i++)
		if (is_named(i, dashed, len))
			return true;
	return false;
}

static const char *flaw_of(const char *name, size_t len, const char *value)
{
	if (!is_token(name))
		return "a header's name may hold letters, digits and !#$%&'*+-.^_`|~ only, and the colon must follow it";
	if (has_control(value))
		return "a header's value holds a control character";
	if (is_underscored(name, len))
		return "a header that this service reads is written with '_' where its name has '-'";
	return NULL;
}

void http_headers_add(struct http_headers *h, const char *name, const char *value)
{
	size_t len = strlen(name);

	h->lines++;
	if (!h->flaw)
		h->flaw = flaw_of(name, len, value);
	for (size_t i = 0; i < HEADER_COUNT; i++) {
		if (!is_named(i, name, len))
			continue;
		if (h->count[i]++ == 0)
			h->value[i] = text_of(value);
		else if (is_list(i))
			h->value[i] =
				arena_join(h->arena, (struct text[]){ h->value[i], TEXT(", "), text_of(value) }, 3);
		break;
	}
}

const char *http_headers_repeated(const struct http_headers *h)
{
	for (size_t i = 0; i < HEADER_COUNT; i++)
		if (h->count[i] > 1 && !is_list(i))
			return name_of(i).at;
	return NULL;
}
