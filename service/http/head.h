/*
 * http_head: a request's head in libmicrohttpd's memory: which parts libmicrohttpd must not parse,
 * and how it has read the others. It must not know operations.
 */
#ifndef PATTERND_HTTP_HEAD_H
#define PATTERND_HTTP_HEAD_H

#include "core/text.h"
#include "http/client.h"
#include "http/precheck.h"

/*
 * Call it when the request line was read and copied. Hides query and cookies from libmicrohttpd,
 * which would make a record of 64 bytes for each parameter and each cookie. The daemon does not use
 * these, and `?a&a&a...` would fill the connection's memory, so that it would hang or close without
 * a response.
 */
void http_head_hide(const char *target, struct MHD_Connection *connection);

/* Call it after the headers: reads them, their size, and what is wrong with their lines. */
void http_head_read(struct precheck *p, struct client *c, const char *url);

/* Is `header` of struct request_asked. */
struct text http_head_value(struct request *req, const char *name, unsigned *lines);

#endif
