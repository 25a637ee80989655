/*
 * validation: gathers what is wrong with an input, so that one answer has all of it. It must not
 * know operations.
 */
#ifndef PATTERND_VALIDATION_H
#define PATTERND_VALIDATION_H

#include "request/answer.h"
#include "request/operation.h"

enum { VALIDATION_ERRORS_MAX = 16, VALIDATION_POINTER_BYTES = 320, VALIDATION_DETAIL_BYTES = 192 };

/*
 * The place of a value. It is a chain on the stack, which becomes text only if something is wrong.
 */
struct json_pointer {
	const struct json_pointer *parent; /* NULL: the body itself, or not in the body */
	const struct field *field;         /* of a parameter or a header */
	const char *key;                   /* name of a member; NULL: item `index` of an array */
	size_t index;
};

/* The errors of one request. The struct is large: call validation_begin instead of zeroing it. */
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

/* Notes an error, up to VALIDATION_ERRORS_MAX. Returns false, so that the caller can return it. */
bool validation_error(struct validation *v, const struct json_pointer *at, enum problem p, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds text to the detail of the last error noted; does nothing after VALIDATION_ERRORS_MAX. */
void validation_add(struct validation *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Answers with the problem of the first error, and all errors in `errors`. There must be at least
 * one.
 */
void validation_answer(struct validation *v);

#endif
