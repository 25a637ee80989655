/*
 * deprecation: the response headers of a deprecated operation (RFC 9745, RFC 8288). It must not
 * know why it is deprecated.
 */
#ifndef PATTERND_DEPRECATION_H
#define PATTERND_DEPRECATION_H

struct request;

/* Adds Deprecation and Link, if the request's operation is deprecated. Call it after answer_end. */
void deprecation_announce(struct request *req);

#endif
