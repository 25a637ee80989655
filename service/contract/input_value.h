/*
 * input_value: one value into its slot of an input, if it is what its row allows. Knows neither JSON nor where it stood.
 */
#ifndef PATTERND_INPUT_VALUE_H
#define PATTERND_INPUT_VALUE_H

#include "contract/fault.h"
#include "request/operation.h"

/* Each stores `value` in `slot`; false: a fault was noted at `at`, and nothing stored. */
bool value_text(struct faults *f, const struct field *row, const struct spot *at, struct text value, void *slot);
bool value_int(struct faults *f, const struct field *row, const struct spot *at, int64_t value, void *slot);
bool value_real(struct faults *f, const struct field *row, const struct spot *at, double value, void *slot);
bool value_choice(struct faults *f, const struct field *row, const struct spot *at, struct text value, void *slot);

/* The whole text is a number within 64 bits. */
bool value_digits(struct text value, int64_t *out);

#endif
