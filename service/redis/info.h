/* info: reads the fields of INFO's reply. Pure. */
#ifndef PATTERND_REDIS_INFO_H
#define PATTERND_REDIS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

/* Copies the value of "name:"; "" if it is absent. */
void info_value(struct text info, const char *name, char *out, size_t size);

/* Returns true if the value of "name:" is `value`. */
bool info_is(struct text info, const char *name, const char *value);

/* Returns the value as a number; -1 if it is absent, or not a number from 0. */
int64_t info_number(struct text info, const char *name);

#endif
