#include "core/tz_rule.h"

#include "core/day.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400, NAME_LEN_LEAST = 3 };
enum { OFFSET_HOURS_MOST = 24, TIME_HOURS_MOST = 167 }; /* RFC 9636, 3.3.2 */
enum { TWO_O_CLOCK_S = 2 * HOUR_S, DAYS_OF_WEEK = 7, THURSDAY = 4 };

/* ---- Reading: each step cuts what it reads off the text; false: it is not there ---- */

static bool take(struct text *t, char c)
{
	if (t->len == 0 || *t->at != c)
		return false;
	t->at++;
	t->len--;
	return true;
}

static bool take_number(struct text *t, int most, int *n)
{
	size_t digits = 0;

	for (*n = 0; digits < t->len && digits < 3 && t->at[digits] >= '0' && t->at[digits] <= '9'; digits++)
		*n = *n * 10 + (t->at[digits] - '0');
	t->at += digits;
	t->len -= digits;
	return digits > 0 && *n <= most;
}

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* A name has letters; or, in angle brackets, letters, digits and signs. */
static bool take_name(struct text *t)
{
	bool is_quoted = take(t, '<');
	size_t len = 0;

	while (len < t->len && (is_letter(t->at[len]) || (is_quoted && strchr("+-0123456789", t->at[len]))))
		len++;
	t->at += len;
	t->len -= len;
	return len >= NAME_LEN_LEAST && (!is_quoted || take(t, '>'));
}

/* The form is [+-]hours[:minutes[:seconds]]. */
static bool take_time(struct text *t, int hours_most, int32_t *seconds)
{
	int hours, minutes = 0, rest = 0;
	bool is_negative = take(t, '-');

	if (!is_negative)
		take(t, '+');
	if (!take_number(t, hours_most, &hours) ||
	    (take(t, ':') && (!take_number(t, 59, &minutes) || (take(t, ':') && !take_number(t, 59, &rest)))))
		return false;
	*seconds = hours * HOUR_S + minutes * MINUTE_S + rest;
	if (is_negative)
		*seconds = -*seconds;
	return true;
}

/* The form is Mm.w.d, Jn or n, and the time of a clock that is `offset_s` ahead of UTC. */
static bool take_day(struct text *t, int32_t offset_s, struct tz_day *day)
{
	int32_t time_s = TWO_O_CLOCK_S;
	bool is_day;

	*day = (struct tz_day){ .kind = 'D' };
	if (take(t, 'M')) {
		day->kind = 'M';
		is_day = take_number(t, 12, &day->month) && day->month > 0 && take(t, '.') &&
			 take_number(t, 5, &day->week) && day->week > 0 && take(t, '.') && take_number(t, 6, &day->day);
	} else if (take(t, 'J')) {
		day->kind = 'J';
		is_day = take_number(t, 365, &day->day) && day->day > 0;
	} else {
		is_day = take_number(t, 365, &day->day);
	}
	if (!is_day || (take(t, '/') && !take_time(t, TIME_HOURS_MOST, &time_s)))
		return false;
	day->utc_s = time_s - offset_s;
	return true;
}

/* ---- The instants of a year ---- */

static int64_t first_of_week(int64_t day_of_month_1, int weekday)
{
	int64_t first = (day_of_month_1 % DAYS_OF_WEEK + DAYS_OF_WEEK + THURSDAY) % DAYS_OF_WEEK;

	return day_of_month_1 + (weekday - first + DAYS_OF_WEEK) % DAYS_OF_WEEK;
}

static int64_t instant_of(const struct tz_day *d, int64_t year)
{
	int64_t day;

	if (d->kind == 'M') {
		int64_t next_month = d->month < 12 ? day_of_date(year, d->month + 1, 1) : day_of_date(year + 1, 1, 1);
		day = first_of_week(day_of_date(year, d->month, 1), d->day) + (int64_t)DAYS_OF_WEEK * (d->week - 1);
		day -= day >= next_month ? DAYS_OF_WEEK : 0; /* week 5 is the last one */
	} else {
		day = day_of_date(year, 1, 1) + d->day;
		if (d->kind == 'J')
			day -= day_of_date(year, 3, 1) - day_of_date(year, 1, 1) == 60 && d->day >= 60 ? 0 : 1;
	}
	return day * DAY_S + d->utc_s;
}

/*
 * If summer time ends when the next year's begins, or later, it never ends: RFC 9636 writes
 * permanent summer time as 0/0,J365/25. If its length is 0, it never begins.
 */
static void settle(struct tz_rule *rule)
{
	enum { ANY_YEAR = 2001 };

	if (instant_of(&rule->ends, ANY_YEAR) >= instant_of(&rule->begins, ANY_YEAR + 1))
		*rule = (struct tz_rule){ .standard_s = rule->summer_s };
	else if (rule->standard_s == rule->summer_s ||
		 instant_of(&rule->ends, ANY_YEAR) == instant_of(&rule->begins, ANY_YEAR))
		*rule = (struct tz_rule){ .standard_s = rule->standard_s };
}

bool tz_rule_read(struct tz_rule *rule, struct text text)
{
	int32_t west_s, summer_west_s;

	*rule = (struct tz_rule){ 0 };
	if (!take_name(&text) || !take_time(&text, OFFSET_HOURS_MOST, &west_s))
		return false;
	rule->standard_s = -west_s;
	if (text.len == 0)
		return true;
	summer_west_s = west_s - HOUR_S;
	if (!take_name(&text) ||
	    (text.len > 0 && *text.at != ',' && !take_time(&text, OFFSET_HOURS_MOST, &summer_west_s)))
		return false;
	rule->changes = true;
	rule->summer_s = -summer_west_s;
	if (!take(&text, ',') || !take_day(&text, rule->standard_s, &rule->begins) || !take(&text, ',') ||
	    !take_day(&text, rule->summer_s, &rule->ends) || text.len > 0)
		return false;
	settle(rule);
	return true;
}

/* ---- Changes ---- */

static int64_t year_of(int64_t at)
{
	int64_t year, month, day;

	day_to_date(at / DAY_S - (at % DAY_S < 0), &year, &month, &day);
	return year;
}

/* A time of up to 167 hours may be a week outside the year of its day. */
struct tz_change tz_rule_latest(const struct tz_rule *rule, int64_t at)
{
	struct tz_change latest = { INT64_MIN, rule->standard_s };

	for (int64_t year = year_of(at) - 2; year <= year_of(at) + 1; year++) {
		int64_t begins = instant_of(&rule->begins, year), ends = instant_of(&rule->ends, year);
		if (begins <= at && begins > latest.at)
			latest = (struct tz_change){ begins, rule->summer_s };
		if (ends <= at && ends > latest.at)
			latest = (struct tz_change){ ends, rule->standard_s };
	}
	return latest;
}

struct tz_change tz_rule_next(const struct tz_rule *rule, int64_t at)
{
	struct tz_change next = { INT64_MAX, rule->standard_s };

	for (int64_t year = year_of(at) - 1; year <= year_of(at) + 2; year++) {
		int64_t begins = instant_of(&rule->begins, year), ends = instant_of(&rule->ends, year);
		if (begins > at && begins < next.at)
			next = (struct tz_change){ begins, rule->summer_s };
		if (ends > at && ends < next.at)
			next = (struct tz_change){ ends, rule->standard_s };
	}
	return next;
}
