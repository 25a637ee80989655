#include "request/problem.h"

#include <stddef.h>

static const struct problem_row problem_rows[] = {
#define PROBLEM(name, code, status, effect, retry, title, help) \
	[P_##name] = { (code), (status), (effect), (retry), (title), (help) },
#include "request/errors.def"
#undef PROBLEM
};

const char *problem_effect_name(enum effect effect)
{
	static const char *const names[] = { "none", "applied", "unknown" };

	return names[effect];
}

const char *problem_retry_name(enum retry retry)
{
	static const char *const names[] = { "never", "after_delay", "same_key" };

	return names[retry];
}

const struct problem_row *problem_row(enum problem p)
{
	return &problem_rows[p];
}

const struct problem_row *problem_by_code(struct text code)
{
	for (size_t i = 0; i < PROBLEM_COUNT; i++)
		if (text_is(code, problem_rows[i].code))
			return &problem_rows[i];
	return NULL;
}
