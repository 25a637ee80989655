/*
 * given: a request without HTTP: made by hand, answered in memory; and what must hold of what came
 * of it.
 */
#ifndef FUZZ_GIVEN_H
#define FUZZ_GIVEN_H

#include "request/request.h"

/* "METHOD target" of a first line. Returns new, to be freed with given_end. */
struct request *given_request(struct text line);
void given_end(struct request *req);

/* A header that came, "Name: value", as long as the request lives. */
enum { GIVEN_HEADERS = 32 };
void given_header(struct request *req, struct text line);
struct text given_name(size_t i); /* of the i-th, absent after the last */
struct text given_value(size_t i);

/*
 * It was answered with a problem that is whole: JSON, of one status and code, and headers without
 * control characters.
 */
void given_check_refusal(const struct request *req);

/* What its handler would get is within the rows of the contract. */
void given_check_input(const struct request *req, const void *input);

#endif
