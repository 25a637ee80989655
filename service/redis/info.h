/* info: the fields of INFO's reply. Pure. */
#ifndef PATTERND_REDIS_INFO_H
#define PATTERND_REDIS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

/* Copies the value of "name:"; "" when it is absent. */
void info_value(struct text info, const char *name, char *out, size_t size);

/* True when the value of "name:" is `value`. */
bool info_is(struct text info, const char *name, const char *value);

/* The value as a number; -1 when it is absent or not a number of 0 or more. */
int64_t info_number(struct text info, const char *name);

#endif
