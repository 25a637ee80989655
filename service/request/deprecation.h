/*
 * deprecation: the headers of the responses of a deprecated operation (RFC 9745, RFC 8288).
 */
#ifndef PATTERND_DEPRECATION_H
#define PATTERND_DEPRECATION_H

struct request;

/* Adds Deprecation and Link, if the request's operation is deprecated. After answer_end. */
void deprecation_announce(struct request *req);

#endif
