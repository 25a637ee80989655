#include "contract/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "contract/synonym.h"

/*
 * Applies the rule of names, except for their length, which their descriptor has. If it returns
 * false, `why` has the reason.
 */
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

static bool check_name(struct validation *v, const struct field *field, const struct json_pointer *at,
		       struct text value)
{
	const char *why;

	if (!name_is_valid(value, &why))
		return validation_error(v, at, P_INVALID_NAME, "%s", why);
	if (text_is(value, ".") || text_is(value, ".."))
		return validation_error(v, at, P_RESERVED_NAME, "cannot be '%s', which has a meaning in paths",
					value.at);
	for (const char *const *r = field->reserved; r && *r; r++)
		if (text_is(value, *r))
			return validation_error(v, at, P_RESERVED_NAME, "cannot be '%s', which is reserved", *r);
	if (field->plain && !is_plain(value))
		return validation_error(v, at, P_INVALID_NAME, "must consist of letters, digits, '.', '_' and '-'");
	return true;
}

bool value_count_error(struct validation *v, const struct json_pointer *at, enum problem p, const struct field *field,
		       const char *noun, size_t count)
{
	long long low = (long long)field->low, high = (long long)field->high;

	if (low == high)
		return validation_error(v, at, p, "must have %lld %s%s, not %zu", high, noun, high == 1 ? "" : "s",
					count);
	return validation_error(v, at, p, "must have %lld to %lld %ss, not %zu", low, high, noun, count);
}

bool value_text(struct validation *v, const struct field *field, const struct json_pointer *at, struct text value,
		void *slot)
{
	enum problem size_problem = field->kind == FIELD_TEXT ? P_OUT_OF_RANGE : P_INVALID_NAME;

	if ((int64_t)value.len < field->low || (int64_t)value.len > field->high)
		return field->date ? validation_error(v, at, size_problem, "must be a date, YYYY-MM-DD")
				   : value_count_error(v, at, size_problem, field, "byte", value.len);
	if (field->kind == FIELD_NAME && !check_name(v, field, at, value))
		return false;
	if (field->kind == FIELD_TEXT && (memchr(value.at, '\0', value.len) || !text_is_utf8(value)))
		return validation_error(v, at, P_INVALID_VALUE, "must be UTF-8 without NUL");
	*(struct text *)slot = value;
	return true;
}

/* The least instant that the contract allows: September 2001 in milliseconds. */
static const int64_t least_instant_ms = 1000000000000;

/* Returns a hint at the unit if the field is an instant. */
static const char *unit_hint(const struct field *field, int64_t value)
{
	if (field->low != least_instant_ms)
		return "";
	if (value < field->low)
		return value > field->low / 1000 ? "; it looks like seconds, and milliseconds are expected"
						 : "; Unix milliseconds are expected";
	return value / 1000 >= field->low ? "; it looks like microseconds, and milliseconds are expected" : "";
}

bool value_int(struct validation *v, const struct field *field, const struct json_pointer *at, int64_t value,
	       void *slot)
{
	if (value < field->low || value > field->high)
		return validation_error(v, at, P_OUT_OF_RANGE, "must be from %lld to %lld, not %lld%s",
					(long long)field->low, (long long)field->high, (long long)value,
					unit_hint(field, value));
	*(int64_t *)slot = value;
	return true;
}

bool value_real(struct validation *v, const struct field *field, const struct json_pointer *at, double value,
		void *slot)
{
	char low[TEXT_PLAIN], high[TEXT_PLAIN], given[TEXT_PLAIN];

	if (!(value >= field->real_low && value <= field->real_high))
		return validation_error(v, at, P_OUT_OF_RANGE, "must be from %s to %s, not %s",
					text_plain_real(field->real_low, low), text_plain_real(field->real_high, high),
					text_plain_real(value, given));
	*(double *)slot = value;
	return true;
}

bool value_choice(struct validation *v, const struct field *field, const struct json_pointer *at, struct text value,
		  void *slot)
{
	char list[VALIDATION_DETAIL_BYTES - NEAREST_HINT] = "", hint[NEAREST_HINT];
	struct nearest near = { .given = value };
	size_t n = 0;

	for (int i = 0; field->choices[i]; i++) {
		if (text_is(value, field->choices[i])) {
			*(int *)slot = i + 1;
			return true;
		}
	}
	for (int i = 0; field->choices[i]; i++) {
		synonym_offer(&near, field->choices[i]);
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", field->choices[i]);
	}
	return validation_error(v, at, P_INVALID_VALUE, "must be one of %s%s", list, nearest_hint(&near, hint));
}

bool value_digits(struct text value, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(value.at, &end, 10);
	return value.len > 0 && strspn(value.at, "-0123456789") == value.len && end == value.at + value.len && !errno;
}

bool value_parse_real(struct text value, double *real)
{
	char *end;

	*real = strtod(value.at, &end);
	return value.len > 0 && strspn(value.at, "+-.eE0123456789") == value.len && end == value.at + value.len;
}

bool value_is_truth(struct text value)
{
	return text_is(value, "true") || text_is(value, "false");
}

void value_default(const struct field *field, void *into)
{
	void *slot = (char *)into + field->offset;

	if (field->kind == FIELD_INT)
		*(int64_t *)slot = field->default_value;
	else if (field->kind == FIELD_REAL)
		*(double *)slot = field->real_default;
	else if (field->kind == FIELD_BOOL)
		*(bool *)slot = field->default_value != 0;
	else if (field->kind == FIELD_CHOICE)
		*(int *)slot = (int)field->default_value;
}

/* Returns where a parameter belongs, for use after "is required". */
static const char *place_name(const struct field *field)
{
	return field->place == IN_HEADER  ? ", as a header"
	       : field->place == IN_QUERY ? ", as a query parameter"
	       : field->place == IN_PATH  ? ", as a part of the path"
					  : "";
}

void value_absent(struct validation *v, const struct field *field, const struct json_pointer *at,
		  const struct field *fields, void *into)
{
	char others[VALIDATION_DETAIL_BYTES / 2] = "";
	size_t n = 0;

	if (!field->required) {
		value_default(field, into);
		return;
	}
	for (size_t i = 0; field->excludes >> i && n < sizeof(others); i++)
		if (field->excludes >> i & 1)
			n += (size_t)snprintf(others + n, sizeof(others) - n, "%s %s", n ? " or" : ", unless",
					      fields[i].name);
	validation_error(v, at, P_MISSING_FIELD, "is required%s%s%s", place_name(field), others, n ? " is given" : "");
}

void value_note_presence(const struct field *field, void *into, bool is_null)
{
	if (field->has_offset != NO_OFFSET)
		*((bool *)((char *)into + field->has_offset) + is_null) = true;
}
