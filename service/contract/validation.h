/*
 * validation: what is wrong with an input, gathered so that one answer names all of it.
 */
#ifndef PATTERND_VALIDATION_H
#define PATTERND_VALIDATION_H

#include "request/answer.h"
#include "request/operation.h"

enum { VALIDATION_ERRORS_MAX = 16, VALIDATION_POINTER_BYTES = 256, VALIDATION_DETAIL_BYTES = 192 };

/* Where a value was found. A chain on the stack: it becomes text only when something is wrong. */
struct json_pointer {
	const struct json_pointer *parent; /* NULL: the body itself, or not in the body at all */
	const struct field *field;         /* of a parameter or header */
	const char *key;                   /* of a member; NULL: item `index` of an array */
	size_t index;
};

/* The errors of one request. It is large: call validation_begin, do not zero it. */
struct validation {
	struct request *req; /* (ref) */
	size_t count;
	struct {
		enum problem problem;
		char pointer[VALIDATION_POINTER_BYTES];
		char detail[VALIDATION_DETAIL_BYTES];
	} errors[VALIDATION_ERRORS_MAX];
};

void validation_begin(struct validation *v, struct request *req);

/* Notes an error, up to VALIDATION_ERRORS_MAX. Returns false, for the caller to return. */
bool validation_error(struct validation *v, const struct json_pointer *at, enum problem p, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Answers with the problem of the first error, and all in `errors`. There is one at least. */
void validation_answer(struct validation *v);

#endif
