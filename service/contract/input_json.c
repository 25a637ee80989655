#include "contract/input_json.h"

#include <inttypes.h>
#include <math.h>

#include "contract/synonym.h"
#include "contract/value.h"
#include "process/config.h"
#include "request/request.h"

enum { MAX_FIELDS = 64 }; /* of an object; the generator checks it */

/* "30s" or an ISO date is a likely mistake, so the unit is a part of the type. */
static const char *int_name(const struct field *field)
{
	if (field->or_digits)
		return "a whole number of 64 bits, or the text of one";
	if (synonym_is_instant(field->name))
		return "a whole number, Unix time in milliseconds";
	return synonym_is_duration(field->name) ? "a whole number of milliseconds" : "a whole number";
}

static const char *type_name(const struct field *field)
{
	switch (field->kind) {
	case FIELD_INT:
		return int_name(field);
	case FIELD_REAL:
		return "a number";
	case FIELD_BOOL:
		return "true or false";
	case FIELD_OBJECT:
	case FIELD_MAP:
		return "an object";
	case FIELD_ARRAY:
		return "an array";
	default:
		return "a string";
	}
}

/* Returns the noun for a wrong type, for use after "not ". */
static const char *kind_name(const struct json *value)
{
	static const char *const names[] = {
		[JSON_IS_NULL] = "null",          [JSON_IS_BOOL] = "true or false", [JSON_IS_INTEGER] = "a number",
		[JSON_IS_REAL] = "a real number", [JSON_IS_TEXT] = "a string",      [JSON_IS_ARRAY] = "an array",
		[JSON_IS_OBJECT] = "an object",
	};

	return names[value->kind];
}

/* Returns true for "5" where 5 is expected. */
static bool is_quoted(const struct field *field, const struct json *value)
{
	int64_t n;
	double real;

	if (value->kind != JSON_IS_TEXT)
		return false;
	return field->kind == FIELD_INT    ? value_digits(value->text, &n)
	       : field->kind == FIELD_REAL ? value_parse_real(value->text, &real)
	       : field->kind == FIELD_BOOL ? value_is_truth(value->text)
					   : false;
}

/* PHP writes [] for its empty array, and {} only for an empty object. */
static bool is_empty_of_php(const struct field *field, const struct json *value)
{
	return (field->kind == FIELD_OBJECT || field->kind == FIELD_MAP) && value->kind == JSON_IS_ARRAY &&
	       value->count == 0;
}

static bool refuse_type(struct validation *v, const struct field *field, const struct json_pointer *at,
			const struct json *value)
{
	return validation_error(v, at, P_WRONG_TYPE, "must be %s, not %s%s", type_name(field), kind_name(value),
				is_empty_of_php(field, value) ? "; PHP writes an empty object for (object)[]"
				: is_quoted(field, value)     ? "; leave the quotes out"
							      : "");
}

/*
 * Returns true for a real number that is not an integer, or is beyond the range of exact integers.
 */
static bool has_fraction(const struct json *value)
{
	return value->kind == JSON_IS_REAL &&
	       (fabs(value->real) > 9007199254740992.0 || value->real != (double)(int64_t)value->real);
}

/*
 * Finds the fraction p / q that reads back as `value`, which is above 0, by continued fractions,
 * which have the smallest numbers first. False: there is none with numbers up to `most`.
 */
static bool as_fraction(double value, int64_t most, int64_t *p, int64_t *q)
{
	int64_t p_before = 0, q_before = 1;
	double rest = value;

	*p = 1, *q = 0;
	while (rest <= (double)most) {
		int64_t whole = (int64_t)rest, p_next, q_next;
		if (__builtin_mul_overflow(whole, *p, &p_next) || __builtin_add_overflow(p_next, p_before, &p_next) ||
		    __builtin_mul_overflow(whole, *q, &q_next) || __builtin_add_overflow(q_next, q_before, &q_next))
			return false;
		p_before = *p, q_before = *q;
		*p = p_next, *q = q_next;
		if (*p > most || *q > most)
			return false;
		if ((double)*p / (double)*q == value)
			return true;
		rest = 1 / (rest - (double)whole);
	}
	return false;
}

/*
 * Rejects a number with a fraction, and shows the same rate in whole numbers if the two fields
 * allow it. `period` is the value of the field `per`, or NULL.
 */
static bool refuse_rate(struct validation *v, const struct field *field, const struct field *per,
			const struct json_pointer *at, double rate, const struct json *period)
{
	char given[TEXT_PLAIN];
	int64_t p, q, whole;

	if (!(rate > 0) || !period || period->kind != JSON_IS_INTEGER || period->integer < per->low ||
	    !as_fraction(rate, field->high, &p, &q) || __builtin_mul_overflow(q, period->integer, &whole) ||
	    whole > per->high)
		return validation_error(v, at, P_WRONG_TYPE, "must be a whole number, not a real number");
	return validation_error(v, at, P_WRONG_TYPE,
				"must be a whole number, not a real number; %s %s per %s %lld: send %s %lld, %s %lld",
				field->name, text_plain_real(rate, given), per->name, (long long)period->integer,
				field->name, (long long)p, per->name, (long long)whole);
}

static bool store_json_int(struct validation *v, const struct field *field, const struct json_pointer *at,
			   const struct json *value, void *slot)
{
	int64_t n;

	if (value->kind == JSON_IS_INTEGER)
		return value_int(v, field, at, value->integer, slot);
	if (field->or_digits && value->kind == JSON_IS_TEXT && value_digits(value->text, &n))
		return value_int(v, field, at, n, slot);
	if (value->kind != JSON_IS_REAL || has_fraction(value))
		return refuse_type(v, field, at, value);
	return value_int(v, field, at, (int64_t)value->real, slot);
}

static bool store_many(struct validation *v, const struct field *field, const struct json_pointer *at,
		       const struct json *value, void *slot);

/* Stores any JSON value. Only a body with several values can have one that is too large. */
static bool store_any(struct validation *v, const struct json_pointer *at, struct text value, void *slot)
{
	/* A gateway has counted the text, which is escaped here. */
	size_t most = (size_t)config()->max_body_bytes * (v->req->gateway ? 2 : 1);
	size_t quotes = *value.at == '"' ? 2 : 0;

	*(struct text *)slot = value;
	if (value.len <= most + quotes)
		return true;
	return validation_error(v, at, P_BODY_TOO_LARGE, "has %zu bytes as JSON; --max-body-bytes allows %zu",
				value.len - quotes, most);
}

static bool store_json(struct validation *v, const struct field *field, const struct json_pointer *at,
		       const struct json *value, void *slot)
{
	enum json_kind kind = value->kind;

	switch (field->kind) {
	case FIELD_ANY:
		return store_any(v, at, value->text, slot);
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_BYTES:
		if (kind == JSON_IS_TEXT)
			return value_text(v, field, at, value->text, slot);
		break;
	case FIELD_CHOICE:
		if (kind == JSON_IS_TEXT)
			return value_choice(v, field, at, value->text, slot);
		break;
	case FIELD_INT:
		return store_json_int(v, field, at, value, slot);
	case FIELD_REAL:
		if (kind == JSON_IS_INTEGER || kind == JSON_IS_REAL)
			return value_real(v, field, at, kind == JSON_IS_REAL ? value->real : (double)value->integer,
					  slot);
		break;
	case FIELD_BOOL:
		if (kind == JSON_IS_BOOL) {
			*(bool *)slot = value->truth;
			return true;
		}
		break;
	case FIELD_OBJECT:
		if (kind == JSON_IS_OBJECT) {
			input_json_fill(v, field->fields, field->field_count, value, at, slot);
			return true;
		}
		break;
	case FIELD_ARRAY:
	case FIELD_MAP:
		if (kind == (field->kind == FIELD_MAP ? JSON_IS_OBJECT : JSON_IS_ARRAY))
			return store_many(v, field, at, value, slot);
		break;
	}
	return refuse_type(v, field, at, value);
}

/* Compares two items of a list; the generator allows `uniqueItems` for scalars only. */
static bool is_same(const struct json *a, const struct json *b)
{
	switch (a->kind == b->kind ? a->kind : JSON_IS_OBJECT) {
	case JSON_IS_TEXT:
		return text_equal(a->text, b->text);
	case JSON_IS_INTEGER:
		return a->integer == b->integer;
	case JSON_IS_REAL:
		return a->real == b->real;
	default:
		return false;
	}
}

/* Returns true if an equal item precedes it in its array. */
static bool has_duplicate(const struct json *array, const struct json *item)
{
	const struct json *one = array->first;

	while (one != item && !is_same(one, item))
		one = one->next;
	return one != item;
}

static bool store_many(struct validation *v, const struct field *field, const struct json_pointer *at,
		       const struct json *value, void *slot)
{
	bool is_map = field->kind == FIELD_MAP, ok = true;
	struct input_array many = { .count = value->count };
	const struct field *of = field->fields; /* describes an item; in a map its key, then its value */
	size_t i = 0, bytes = 0;

	if ((int64_t)many.count < field->low || (int64_t)many.count > field->high)
		return value_count_error(v, at, P_OUT_OF_RANGE, field, is_map ? "member" : "item", many.count);
	char *item = many.items = arena_alloc(&v->req->arena, many.count * field->size);
	if (!item)
		return false;
	for (const struct json *one = value->first; one; one = one->next, item += field->size) {
		struct json_pointer here = { .parent = at, .key = one->key.at, .index = i++ };
		if (is_map)
			ok = value_text(v, &of[0], &here, one->key, item + of[0].offset) &&
			     ((of[1].nullable && one->kind == JSON_IS_NULL) ||
			      store_json(v, &of[1], &here, one, item + of[1].offset)) &&
			     ok;
		else
			ok = store_json(v, of, &here, one, item) && ok;
		if (field->distinct && has_duplicate(value, one))
			ok = validation_error(v, &here, P_INVALID_VALUE, "is a duplicate");
		if (is_map && one->kind == JSON_IS_TEXT)
			bytes += one->key.len + one->text.len;
	}
	if (field->most_bytes && bytes > field->most_bytes)
		ok = validation_error(v, at, P_OUT_OF_RANGE,
				      "must have at most %" PRIu32 " bytes, all names and values together, not %zu",
				      field->most_bytes, bytes);
	memcpy(slot, &many, sizeof(many));
	return ok;
}

static inline bool is_member(const struct field *field, const char *key)
{
	return field->name[0] == key[0] && field->place == IN_BODY && strcmp(field->name, key) == 0;
}

static void refuse_member(struct validation *v, const struct field *fields, size_t count, const struct json *object,
			  const struct json *member, const struct json_pointer *at)
{
	struct nearest near = { .given = member->key };
	const char *any = NULL;
	char hint[NEAREST_HINT];

	for (size_t i = 0; i < count; i++) {
		if (fields[i].place == IN_BODY)
			synonym_offer(&near, fields[i].name);
		if (!any && fields[i].kind == FIELD_ANY && (fields[i].required || fields[i].excludes) &&
		    !json_tree_member(object, fields[i].name))
			any = fields[i].name;
	}
	if (!near.found && any) /* a client may send its own value without a member around it */
		validation_error(v, &(struct json_pointer){ .parent = at, .key = member->key.at }, P_UNKNOWN_FIELD,
				 "is not a known field; a value of your own belongs into '%s'", any);
	else
		validation_error(v, &(struct json_pointer){ .parent = at, .key = member->key.at }, P_UNKNOWN_FIELD,
				 "is not a known field%s%s", nearest_hint(&near, hint), synonym_unit(&near));
}

/*
 * Finds the member of each field; values[i] is NULL if there is none, or if its null counts as
 * none. Notes an error for other members.
 */
static void match_members(struct validation *v, const struct field *fields, size_t count, const struct json *object,
			  const struct json_pointer *at, const struct json *values[MAX_FIELDS])
{
	for (size_t i = 0; i < count; i++)
		values[i] = NULL;
	for (const struct json *m = object ? object->first : NULL; m; m = m->next) {
		size_t i = 0;
		while (i < count && !is_member(&fields[i], m->key.at))
			i++;
		if (i == count)
			refuse_member(v, fields, count, object, m, at);
		else if (m->kind != JSON_IS_NULL || !fields[i].null_is_absent)
			values[i] = m;
	}
}

/* `values` are the values of the other members of the same object. */
static void fill_member(struct validation *v, const struct field *fields, size_t i, const struct json_pointer *at,
			const struct json *const values[MAX_FIELDS], void *into)
{
	const struct field *field = &fields[i];
	const struct json *value = values[i];
	bool is_null = field->nullable && value->kind == JSON_IS_NULL;

	if (field->per && has_fraction(value))
		refuse_rate(v, field, &fields[field->per - 1], at, value->real, values[field->per - 1]);
	else if (is_null || store_json(v, field, at, value, (char *)into + field->offset))
		value_note_presence(field, into, is_null);
}

void input_json_fill(struct validation *v, const struct field *fields, size_t count, const struct json *object,
		     const struct json_pointer *at, void *into)
{
	static const struct field whole = { .kind = FIELD_OBJECT };
	const struct json *values[MAX_FIELDS];
	uint64_t given = 0; /* a bit for each field whose member is there */

	if (object && object->kind != JSON_IS_OBJECT) {
		refuse_type(v, &whole, at, object);
		return;
	}
	match_members(v, fields, count, object, at, values);
	for (size_t i = 0; i < count; i++) {
		const struct field *field = &fields[i];
		if (field->place != IN_BODY)
			continue;
		struct json_pointer member = { .parent = at, .key = field->name };
		uint64_t excluded = field->excludes & given;
		given |= (uint64_t)(values[i] != NULL) << i;
		if (!values[i] && excluded)
			value_default(field, into);
		else if (!values[i])
			value_absent(v, field, &member, fields, into);
		else if (excluded)
			validation_error(v, &member, P_INVALID_VALUE, "cannot be combined with %s",
					 fields[__builtin_ctzll(excluded)].name);
		else
			fill_member(v, fields, i, &member, values, into);
	}
}

const void *input_json_place(const void *parent, struct text key, bool *opaque)
{
	const struct field *row = parent, *found = NULL;

	if (row && key.at && row->kind == FIELD_OBJECT)
		for (size_t i = 0; i < row->field_count && !found; i++)
			found = is_member(&row->fields[i], key.at) ? &row->fields[i] : NULL;
	else if (row && (row->kind == FIELD_MAP || row->kind == FIELD_ARRAY))
		found = &row->fields[row->kind == FIELD_MAP];
	*opaque = found && found->kind == FIELD_ANY;
	return found;
}
