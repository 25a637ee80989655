/*
 * problem: the problems of the API, which are rows of errors.def, and the effect of a failed
 * request. It must not know which request has which problem.
 */
#ifndef PATTERND_PROBLEM_H
#define PATTERND_PROBLEM_H

#include "core/text.h"

enum problem {
#define PROBLEM(name, code, status, effect, retry, title, help) P_##name,
#include "request/errors.def"
#undef PROBLEM
	PROBLEM_COUNT
};

enum effect { EFFECT_NONE, EFFECT_APPLIED, EFFECT_UNKNOWN };
const char *problem_effect_name(enum effect effect);

/* When to send the same request again: see errors.def. */
enum retry { RETRY_NEVER, RETRY_AFTER_DELAY, RETRY_SAME_KEY };
const char *problem_retry_name(enum retry retry);

/* A row of errors.def. */
struct problem_row {
	const char *code;
	int status;
	enum effect effect;
	enum retry retry;
	const char *title, *help;
};
/* problem_by_code returns the row with that code, or NULL. */
const struct problem_row *problem_by_code(struct text code);
const struct problem_row *problem_row(enum problem p);

#endif
