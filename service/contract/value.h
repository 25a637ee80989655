/*
 * value: stores one value in its slot of an input, if its field descriptor allows it. It must not
 * know JSON, or where the value was.
 */
#ifndef PATTERND_VALUE_H
#define PATTERND_VALUE_H

#include "contract/validation.h"
#include "request/operation.h"

/* Notes that `field` cannot have `count` of these bytes, items or members. Always returns false. */
bool value_count_error(struct validation *v, const struct json_pointer *at, enum problem p, const struct field *field,
		       const char *noun, size_t count);

/* Each stores `value` in `slot`. False: an error was noted at `at`, and nothing was stored. */
bool value_text(struct validation *v, const struct field *field, const struct json_pointer *at, struct text value,
		void *slot);
bool value_int(struct validation *v, const struct field *field, const struct json_pointer *at, int64_t value,
	       void *slot);
bool value_real(struct validation *v, const struct field *field, const struct json_pointer *at, double value,
		void *slot);
bool value_choice(struct validation *v, const struct field *field, const struct json_pointer *at, struct text value,
		  void *slot);

/* Returns true if the whole text is a number within 64 bits. */
bool value_digits(struct text value, int64_t *out);

/*
 * Returns true if the whole text is a number. A number that is too large becomes infinite, which no
 * range has.
 */
bool value_parse_real(struct text value, double *real);

/* Returns true for "true" or "false". */
bool value_is_truth(struct text value);

/* Stores the default of a field that was not given; zero if it has none. */
void value_default(const struct field *field, void *into);

/* Does what value_default does, but notes an error if the field, one of `fields`, is required. */
void value_absent(struct validation *v, const struct field *field, const struct json_pointer *at,
		  const struct field *fields, void *into);

/* Sets has_<name>; for a null, sets reset_<name>, which follows it. */
void value_note_presence(const struct field *field, void *into, bool is_null);

#endif
