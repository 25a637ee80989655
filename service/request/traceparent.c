#include "request/traceparent.h"

enum { TRACE_AT = 3, TRACE_DIGITS = 32, SPAN_AT = 36, SPAN_DIGITS = 16 };

static bool has_form(const char *at)
{
	static const char form[] = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";

	for (size_t i = 0; i < TRACEPARENT_LEN; i++)
		if (form[i] == '-' ? at[i] != '-' : !memchr("0123456789abcdef", at[i], 16))
			return false;
	return true;
}

bool traceparent_is_valid(struct text t)
{
	static const char zeros[] = "00000000000000000000000000000000";

	if (t.len < TRACEPARENT_LEN || !has_form(t.at) || memcmp(t.at, "ff", 2) == 0 ||
	    memcmp(t.at + TRACE_AT, zeros, TRACE_DIGITS) == 0 || memcmp(t.at + SPAN_AT, zeros, SPAN_DIGITS) == 0)
		return false;
	return t.len == TRACEPARENT_LEN || (memcmp(t.at, "00", 2) != 0 && t.at[TRACEPARENT_LEN] == '-');
}

struct text traceparent_trace_id(struct text valid)
{
	return valid.at ? (struct text){ valid.at + TRACE_AT, TRACE_DIGITS } : valid;
}
