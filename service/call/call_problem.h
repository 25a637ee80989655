/*
 * call_problem: a call that has no answer, since Redis could not be asked, did not answer, or said an error, becomes a problem.
 */
#ifndef PATTERND_CALL_PROBLEM_H
#define PATTERND_CALL_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct redis_call;
struct request;

/* What was asked. Borrows all. */
struct asked {
	struct request *req;
	const struct redis_call *redis;
	const struct text *keys;
	size_t keys_count;
	bool writes;
	bool takes_key; /* a retry with an Idempotency-Key would be recorded */
	bool is_late;   /* it was given up before its connection was */
};

void call_answer_unavailable(const struct asked *a);
void call_answer_lost(const struct asked *a);
void call_answer_error(const struct asked *a, struct text error);

#endif
