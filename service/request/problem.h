/* problem: the problems of the API, rows of errors.def, and the effect of a failed request. */
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

/* Whether the same request should be sent again: see errors.def. */
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
/* The row whose code is `code`, or NULL. */
const struct problem_row *problem_by_code(struct text code);
const struct problem_row *problem_row(enum problem p);

#endif
