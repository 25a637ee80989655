/* admission_headers: the headers that the daemon reads, and which bytes any header may hold; see admission.h. Pure. */
#include <string.h>
#include <strings.h>

#include "http/admission.h"
#include "request/request.h"

/* What to do with a header that stands there on several lines. */
enum repeat { REFUSED, FIRST_COUNTS, ONE_LIST };

static const struct {
	const char *name;
	size_t len;
	enum repeat repeat;
} known[HEADER_COUNT] = {
#define HEADER(id, text, repeat) [HEADER_##id] = { (text), sizeof(text) - 1, (repeat) }
	HEADER(HOST, "Host", REFUSED),
	HEADER(CONTENT_LENGTH, "Content-Length", REFUSED),
	HEADER(TRANSFER_ENCODING, "Transfer-Encoding", REFUSED),
	HEADER(AUTHORIZATION, "Authorization", FIRST_COUNTS), /* access.c judges how often */
	HEADER(CONTENT_TYPE, "Content-Type", REFUSED),
	HEADER(CONTENT_ENCODING, "Content-Encoding", REFUSED),
	HEADER(ACCEPT, "Accept", ONE_LIST),
	HEADER(EXPECT, "Expect", REFUSED),
	HEADER(ORIGIN, "Origin", REFUSED),
	HEADER(SEC_FETCH_SITE, "Sec-Fetch-Site", REFUSED),
	HEADER(REQUEST_METHOD, "Access-Control-Request-Method", FIRST_COUNTS),
	HEADER(IDEMPOTENCY_KEY, "Idempotency-Key", REFUSED),
	HEADER(REQUEST_ID, "X-Request-ID", FIRST_COUNTS),
	HEADER(TRACEPARENT, "traceparent", FIRST_COUNTS),
	HEADER(LOCK_TOKEN, "Lock-Token", REFUSED),
	HEADER(FENCE, "Fence", REFUSED),
	HEADER(FILL_TICKET, "Fill-Ticket", REFUSED),
	HEADER(IF_MATCH, "If-Match", ONE_LIST),
	HEADER(IF_NONE_MATCH, "If-None-Match", ONE_LIST),
#undef HEADER
};

/* tchar, RFC 9110 section 5.6.2 */
static bool is_token_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-_!#$%&'*+.^`|~", c));
}

static bool is_token(const char *name)
{
	const char *at = name;

	while (is_token_byte((unsigned char)*at))
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

/* A proxy or a framework may read Content_Length as Content-Length (CGI does); libmicrohttpd does not. */
static bool is_underscored(const char *name, size_t len)
{
	char dashed[32];

	if (!memchr(name, '_', len) || len >= sizeof(dashed))
		return false;
	for (size_t i = 0; i <= len; i++)
		dashed[i] = name[i] == '_' ? '-' : name[i];
	for (size_t i = 0; i < HEADER_COUNT; i++)
		if (strcasecmp(known[i].name, dashed) == 0)
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

void admission_header(struct admission *a, const char *name, const char *value)
{
	size_t len = strlen(name);

	if (!a->flaw)
		a->flaw = flaw_of(name, len, value);
	for (size_t i = 0; i < HEADER_COUNT; i++) {
		if (known[i].len != len || strncasecmp(known[i].name, name, len) != 0)
			continue;
		if (a->times[i]++ == 0)
			a->value[i] = text_of(value);
		else if (known[i].repeat == ONE_LIST) /* RFC 9110 section 5.3 */
			a->value[i] = arena_join(&a->req->arena,
						 (struct text[]){ a->value[i], TEXT(", "), text_of(value) }, 3);
		break;
	}
}

const char *admission_repeated(const struct admission *a)
{
	for (size_t i = 0; i < HEADER_COUNT; i++)
		if (a->times[i] > 1 && known[i].repeat == REFUSED)
			return known[i].name;
	return NULL;
}
