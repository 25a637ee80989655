/*
 * http_headers: the headers that the daemon reads, and the bytes that any header may have (RFC
 * 9110). Pure.
 */
#ifndef PATTERND_HTTP_HEADERS_H
#define PATTERND_HTTP_HEADERS_H

#include "core/arena.h"
#include "core/text.h"
#include "operations.h"

enum http_header_id {
	HEADER_HOST,
	HEADER_CONTENT_LENGTH,
	HEADER_TRANSFER_ENCODING,
	HEADER_AUTHORIZATION,
	HEADER_CONTENT_TYPE,
	HEADER_CONTENT_ENCODING,
	HEADER_ACCEPT,
	HEADER_ACCEPT_ENCODING,
	HEADER_EXPECT,
	HEADER_ORIGIN,
	HEADER_SEC_FETCH_SITE,
	HEADER_REQUEST_METHOD,
	HEADER_IDEMPOTENCY_KEY,
	HEADER_IDEMPOTENCY_TTL,
	HEADER_REQUEST_ID,
	HEADER_TRACEPARENT,
	HEADER_IF_MATCH,
	HEADER_IF_NONE_MATCH,
	HEADER_NAME,
	HEADER_OF_OPERATIONS, /* the first of operation_headers */
	HEADER_COUNT = HEADER_OF_OPERATIONS + OPERATION_HEADERS
};

struct http_headers {
	struct arena *arena;             /* (ref) for values that have several lines */
	struct text value[HEADER_COUNT]; /* absent: not sent */
	unsigned count[HEADER_COUNT];    /* number of lines */
	unsigned lines;                  /* of all headers, including those that the daemon does not read */
	const char *flaw;                /* static: why the head is malformed; NULL: it is well-formed */
};

/* Adds one header line. Notes a name or a value that RFC 9110 does not allow. */
void http_headers_add(struct http_headers *h, const char *name, const char *value);

/* Returns the name of a header that was repeated and must not be; NULL: none. */
const char *http_headers_repeated(const struct http_headers *h);

#endif
