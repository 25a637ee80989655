/*
 * admission: everything that is decided when a request's headers are there and no byte of its body was read.
 *
 * Framing that two programs could read differently is refused (request smuggling, RFC 9112 section 11.2), so are hosts
 * that are not ours (DNS rebinding), browsers from another site, bodies that are too large or not JSON, unknown paths.
 */
#ifndef PATTERND_ADMISSION_H
#define PATTERND_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct request;

enum admission_header_id {
	HEADER_HOST,
	HEADER_CONTENT_LENGTH,
	HEADER_TRANSFER_ENCODING,
	HEADER_AUTHORIZATION,
	HEADER_CONTENT_TYPE,
	HEADER_CONTENT_ENCODING,
	HEADER_ACCEPT,
	HEADER_EXPECT,
	HEADER_ORIGIN,
	HEADER_SEC_FETCH_SITE,
	HEADER_REQUEST_METHOD,
	HEADER_IDEMPOTENCY_KEY,
	HEADER_REQUEST_ID,
	HEADER_TRACEPARENT,
	HEADER_LOCK_TOKEN,
	HEADER_FENCE,
	HEADER_FILL_TICKET,
	HEADER_IF_MATCH,
	HEADER_IF_NONE_MATCH,
	HEADER_COUNT
};

struct admission {
	struct request *req;
	const char *version; /* "HTTP/1.1" */
	struct text value[HEADER_COUNT];
	unsigned times[HEADER_COUNT];
	const char *flaw; /* static: why the head is malformed; NULL: no flaw was found yet */
	bool body_expected;
	size_t body_len; /* 0 when it is not known beforehand */
};

void admission_begin(struct admission *a, struct request *req, const char *version);

/* Notes one header, and a name or a value that RFC 9110 does not allow. */
void admission_header(struct admission *a, const char *name, const char *value);

/* The name of a header that was noted more than once and must not be; NULL: none. */
const char *admission_repeated(const struct admission *a);

/* The most bytes of a request's body: a value of --max-body-bytes, and what surrounds it. */
size_t admission_most_body(void);

/* False: the request has been answered with why not; req->close says whether the connection may go on. */
bool admission_check(struct admission *a);

#endif
