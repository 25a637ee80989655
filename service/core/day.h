/*
 * day: calendar days of UTC as numbers, days since 1970-01-01, and as text, YYYY-MM-DD. Pure:
 * knows no clock.
 */
#ifndef PATTERND_DAY_H
#define PATTERND_DAY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

#define DAY_MS INT64_C(86400000)

enum { DAY_TEXT_SIZE = 11 }; /* YYYY-MM-DD and a NUL */

/* Days of the years 1 to 9999 have a text. */
#define DAY_FIRST INT64_C(-719162)
#define DAY_LAST INT64_C(2932896)

/* False when the text is not a day of the calendar in just this form. */
bool day_parse(struct text text, int64_t *day);

/* A day outside the range is printed as the nearest that has a text. */
void day_print(int64_t day, char out[DAY_TEXT_SIZE]);

/* Days of any year as numbers; the month is 1 to 12. */
int64_t day_of_date(int64_t year, int64_t month, int64_t day);
void day_to_date(int64_t days, int64_t *year, int64_t *month, int64_t *day);

/* The day of an instant, also of one before 1970. */
int64_t day_of_ms(int64_t instant_ms);

#endif
