/* input_value: see input_value.h. */
#include "contract/input_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The rule of names but for their length, which is in their row. False, with a reason for a person. */
static bool name_is_valid(struct text name, const char **why)
{
	if (name.len == 0)
		*why = "must not be empty";
	else if (!text_is_utf8(name))
		*why = "must be UTF-8";
	else if (text_has_control(name))
		*why = "must not hold control characters";
	else if (memchr(name.at, '{', name.len) || memchr(name.at, '}', name.len))
		*why = "must not hold { or }";
	else
		return true;
	return false;
}

static bool is_plain(struct text name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.at[i]) && !strchr("._-", name.at[i]))
			return false;
	return true;
}

static bool check_name(struct faults *f, const struct field *row, const struct spot *at, struct text value)
{
	const char *why;

	if (!name_is_valid(value, &why))
		return fault_add(f, at, P_INVALID_NAME, "%s", why);
	if (text_is(value, ".") || text_is(value, ".."))
		return fault_add(f, at, P_RESERVED_NAME, "'.' and '..' cannot be names");
	for (const char *const *r = row->reserved; r && *r; r++)
		if (text_is(value, *r))
			return fault_add(f, at, P_RESERVED_NAME, "'%s' is reserved and cannot be a name", *r);
	if (row->plain && !is_plain(value))
		return fault_add(f, at, P_INVALID_NAME, "must consist of letters, digits, '.', '_' and '-'");
	return true;
}

bool value_text(struct faults *f, const struct field *row, const struct spot *at, struct text value, void *slot)
{
	enum problem size_problem = row->kind == FIELD_TEXT ? P_OUT_OF_RANGE : P_INVALID_NAME;

	if ((int64_t)value.len < row->low || (int64_t)value.len > row->high)
		return fault_add(f, at, size_problem, "must have %lld to %lld bytes, not %zu", (long long)row->low,
				 (long long)row->high, value.len);
	if (row->kind == FIELD_NAME && !check_name(f, row, at, value))
		return false;
	if (row->kind == FIELD_TEXT && (memchr(value.at, '\0', value.len) || !text_is_utf8(value)))
		return fault_add(f, at, P_INVALID_VALUE, "must be UTF-8 without NUL");
	*(struct text *)slot = value;
	return true;
}

bool value_int(struct faults *f, const struct field *row, const struct spot *at, int64_t value, void *slot)
{
	if (value < row->low || value > row->high)
		return fault_add(f, at, P_OUT_OF_RANGE, "must be from %lld to %lld, not %lld", (long long)row->low,
				 (long long)row->high, (long long)value);
	*(int64_t *)slot = value;
	return true;
}

bool value_real(struct faults *f, const struct field *row, const struct spot *at, double value, void *slot)
{
	if (!(value >= row->real_low && value <= row->real_high))
		return fault_add(f, at, P_OUT_OF_RANGE, "must be from %.10g to %.10g, not %.10g", row->real_low,
				 row->real_high, value);
	*(double *)slot = value;
	return true;
}

bool value_choice(struct faults *f, const struct field *row, const struct spot *at, struct text value, void *slot)
{
	char list[WHY_BYTES] = "";
	size_t n = 0;

	for (int i = 0; row->choices[i]; i++) {
		if (text_is(value, row->choices[i])) {
			*(int *)slot = i + 1;
			return true;
		}
	}
	for (int i = 0; row->choices[i] && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", row->choices[i]);
	return fault_add(f, at, P_INVALID_VALUE, "must be one of %s", list);
}

bool value_digits(struct text value, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(value.at, &end, 10);
	return value.len > 0 && strspn(value.at, "-0123456789") == value.len && end == value.at + value.len && !errno;
}
