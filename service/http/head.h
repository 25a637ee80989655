/*
 * http_head: a request's head in libmicrohttpd's memory: what libmicrohttpd must not parse of it,
 * and how it has read the rest.
 */
#ifndef PATTERND_HTTP_HEAD_H
#define PATTERND_HTTP_HEAD_H

#include "core/text.h"
#include "http/client.h"
#include "http/precheck.h"

/*
 * When the request line was read, and copied: hides query and cookies from libmicrohttpd, which
 * would make a record of 64 bytes of each parameter and of each cookie. The daemon does not read
 * those, and `?a&a&a...` would fill the connection's memory, so that the connection would hang or
 * close without a response.
 */
void http_head_hide(const char *target, struct MHD_Connection *connection);

/* After the headers: reads them, their size, and what is wrong with their lines. */
void http_head_read(struct precheck *p, struct client *c, const char *url);

/* The first header of that name; absent: none. As struct request has it. */
struct text http_head_value(struct request *req, const char *name);

#endif
