/*
 * fault: what is wrong with an input, gathered so that all of it is told at once.
 */
#ifndef PATTERND_FAULT_H
#define PATTERND_FAULT_H

#include "request/answer.h"
#include "request/operation.h"

enum { MAX_FAULTS = 8, POINTER_BYTES = 256, WHY_BYTES = 160 };

/* Where a value was found. A chain on the stack: it becomes text only when something is wrong there. */
struct spot {
	const struct spot *parent; /* NULL: the body itself, or not in the body at all */
	const struct field *row;   /* of a parameter or header */
	const char *key;           /* of a member; NULL: item `index` of an array */
	size_t index;
};

/* The faults of one request. Large: to be begun, not zeroed. */
struct faults {
	struct request *req; /* (ref) */
	size_t count;
	struct {
		enum problem problem;
		char pointer[POINTER_BYTES];
		char why[WHY_BYTES];
	} list[MAX_FAULTS];
};

void faults_begin(struct faults *f, struct request *req);

/* Notes one; beyond MAX_FAULTS none. Always false, to be returned. */
bool fault_add(struct faults *f, const struct spot *at, enum problem p, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Answers with the first one's problem and all of them in `errors`. There is at least one. */
void faults_answer(struct faults *f);

#endif
