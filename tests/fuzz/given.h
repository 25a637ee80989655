/*
 * given: a request without HTTP, made by hand and answered in memory, and the checks of its input
 * and its answer.
 */
#ifndef FUZZ_GIVEN_H
#define FUZZ_GIVEN_H

#include "request/request.h"

/* Makes a request from a first line, "METHOD target". given_end frees it. */
struct request *given_request(struct text line);
void given_end(struct request *req);

/* Adds a header, "Name: value". It is valid as long as the request. */
enum { GIVEN_HEADERS = 32 };
void given_header(struct request *req, struct text line);
struct text given_name(size_t i); /* of the i-th header; absent after the last */
struct text given_value(size_t i);

/*
 * Checks that the answer is a complete problem: JSON with one status and code, and headers without
 * control characters.
 */
void given_check_refusal(const struct request *req);

/* Checks that the input of the handler is within the rows of the contract. */
void given_check_input(const struct request *req, const void *input);

#endif
