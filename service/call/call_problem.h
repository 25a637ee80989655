/*
 * call_problem: answers a request whose call has no reply: Redis could not be asked, did not
 * answer, or returned an error. It must not know handlers.
 */
#ifndef PATTERND_CALL_PROBLEM_H
#define PATTERND_CALL_PROBLEM_H

#include <stdbool.h>

#include "core/text.h"
#include "redis/error.h"
#include "request/problem.h"

struct call;

/* Answers the problem of a call without a reply (result->failed). */
void call_problem_answer(struct call *c);
/* Returns true if the call may have run nevertheless. */
bool call_problem_is_unknown(const struct call *c);
/* Returns true if a bound of the daemon kept the call from Redis. */
bool call_problem_is_overload(const struct call *c);
/* Returns true if Redis had no memory for it. It did not run. */
bool call_problem_is_memory(const struct call *c);
/* Returns the problem of a call for which Redis returned this error. */
enum problem call_problem_of(enum redis_error error);
/* Returns what failed, as text. */
const char *call_problem_text(const struct call *c);

/* For call_wire.c: answers the problem for an error that Redis returned. */
void call_problem_answer_error(struct call *c, struct text error);

#endif
