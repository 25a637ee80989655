/*
 * day: calendar days of UTC as numbers, days since 1970-01-01, and as text, YYYY-MM-DD. Pure: it
 * must not know a clock.
 */
#ifndef PATTERND_DAY_H
#define PATTERND_DAY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

#define DAY_MS INT64_C(86400000)

enum { DAY_TEXT_SIZE = 11 }; /* YYYY-MM-DD and a NUL */

/* The days of the years 1 to 9999, which have a text. */
#define DAY_FIRST INT64_C(-719162)
#define DAY_LAST INT64_C(2932896)

/* Returns false if the text is not a day of the calendar in exactly this form. */
bool day_parse(struct text text, int64_t *day);

/* Prints a day. If it is outside the range, prints the nearest day that has a text. */
void day_print(int64_t day, char out[DAY_TEXT_SIZE]);

/* Convert days of any year to numbers and back. The month is 1 to 12. */
int64_t day_of_date(int64_t year, int64_t month, int64_t day);
void day_to_date(int64_t days, int64_t *year, int64_t *month, int64_t *day);

/* Returns the day of an instant, which may be before 1970. */
int64_t day_of_ms(int64_t instant_ms);

#endif
