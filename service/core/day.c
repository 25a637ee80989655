/*
 * day: see core/day.h.
 *
 * day_of_date and day_to_date are days_from_civil and civil_from_days of Howard Hinnant's
 * "chrono-Compatible Low-Level Date Algorithms"
 * (https://howardhinnant.github.io/date_algorithms.html). A year begins in March there, so that the
 * leap day is its last, and 400 years ("an era") always have 146097 days.
 */
#include "core/day.h"

enum { ERA_DAYS = 146097, ERA_YEARS = 400, EPOCH = 719468 }; /* EPOCH: days from 0000-03-01 to 1970-01-01 */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int64_t day_of_date(int64_t year, int64_t month, int64_t day)
{
	year -= month <= 2;
	int64_t era = floor_div(year, ERA_YEARS);
	int64_t year_of_era = year - era * ERA_YEARS;
	int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * ERA_DAYS + day_of_era - EPOCH;
}

void day_to_date(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	days += EPOCH;
	int64_t era = floor_div(days, ERA_DAYS);
	int64_t day_of_era = days - era * ERA_DAYS;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month_from_march = (5 * day_of_year + 2) / 153;
	*day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
	*month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
	*year = year_of_era + era * ERA_YEARS + (*month <= 2);
}

/* Returns the number that `count` digits make, or -1 if one is not a digit. */
static int64_t digits_at(const char *at, int count)
{
	int64_t n = 0;

	for (int i = 0; i < count; i++) {
		if (at[i] < '0' || at[i] > '9')
			return -1;
		n = n * 10 + (at[i] - '0');
	}
	return n;
}

bool day_parse(struct text text, int64_t *day)
{
	static const int month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	if (!text.at || text.len != DAY_TEXT_SIZE - 1 || text.at[4] != '-' || text.at[7] != '-')
		return false;
	int64_t y = digits_at(text.at, 4), m = digits_at(text.at + 5, 2), d = digits_at(text.at + 8, 2);
	if (y < 1 || m < 1 || m > 12 || d < 1)
		return false;
	bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
	if (d > month_days[m - 1] + (m == 2 && leap))
		return false;
	*day = day_of_date(y, m, d);
	return true;
}

static void print_digits(int64_t n, int count, char *out)
{
	for (int i = count; i-- > 0; n /= 10)
		out[i] = (char)('0' + n % 10);
}

void day_print(int64_t day, char out[DAY_TEXT_SIZE])
{
	int64_t y, m, d;

	if (day < DAY_FIRST)
		day = DAY_FIRST;
	if (day > DAY_LAST)
		day = DAY_LAST;
	day_to_date(day, &y, &m, &d);
	print_digits(y, 4, out);
	out[4] = '-';
	print_digits(m, 2, out + 5);
	out[7] = '-';
	print_digits(d, 2, out + 8);
	out[10] = '\0';
}

int64_t day_of_ms(int64_t instant_ms)
{
	return floor_div(instant_ms, DAY_MS);
}
