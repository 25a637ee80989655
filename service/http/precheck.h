/*
 * precheck: the decisions about a request after its headers and before the first byte of its body.
 * It must not know patterns.
 *
 * It rejects framing that two programs could read differently (request smuggling, RFC 9112 section
 * 11.2), hosts that the daemon does not serve (DNS rebinding), browsers on another site, bodies
 * that are too large or not JSON, and unknown paths.
 */
#ifndef PATTERND_PRECHECK_H
#define PATTERND_PRECHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "http/headers.h"

struct request;

/* The limit for request line and headers together; each header counts 64 bytes more. */
enum { PRECHECK_HEAD_BYTES = 12 * 1024 };

struct precheck {
	struct request *req;
	const char *version; /* such as "HTTP/1.1" */
	size_t head_bytes;   /* of request line and headers */
	struct http_headers headers;
	bool body_expected;
	size_t body_len; /* 0: it is not known */
};

void precheck_begin(struct precheck *p, struct request *req, const char *version);

/*
 * Returns the largest request body in bytes: --max-body-bytes for a value, and what surrounds it.
 */
size_t precheck_max_body(const struct operation *op);

/* Returns true if request line and headers are within their limit. */
bool precheck_head_fits(const struct precheck *p);

/*
 * False: the request was answered with a problem. If req->answer.close is set, the connection must
 * close.
 */
bool precheck_run(struct precheck *p);

#endif
