#include "queues/schedules/cron.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_LEN = 3, FIELDS = 5, MINUTE_FIELD = 0, HOUR_FIELD = 1, DAY_FIELD = 2, WEEKDAY_FIELD = 4 };

static const struct cron_field {
	const char *noun;
	int first, last;            /* the range of values that may be written */
	int count;                  /* number of values in the mask; 7 is Sunday as well as 0 */
	const char *names, *others; /* others: what else an element may be, in the words of the problem */
} fields[FIELDS] = {
	{ "minute", 0, 59, CRON_MINUTES, "", "" },
	{ "hour", 0, 23, CRON_HOURS, "", "" },
	{ "day of month", 1, 31, CRON_DAYS, "", ", L, L-3, 15W, LW" },
	{ "month", 1, 12, CRON_MONTHS, "janfebmaraprmayjunjulaugsepoctnovdec", "" },
	{ "day of week", 0, 7, CRON_WEEKDAYS, "sunmontuewedthufrisat", ", 5L, 5#2" },
};

/* Where the parts of a longer mask begin, from its character CRON_MASK_LEN on. */
enum { FROM_LAST, NEAREST = CRON_DAYS, NEAREST_FROM_LAST = 2 * CRON_DAYS, OF_WEEKDAY = 3 * CRON_DAYS };

static int value_of_name(const struct cron_field *f, struct text t)
{
	for (size_t i = 0; t.len == NAME_LEN && f->names[i]; i += NAME_LEN)
		if (strncasecmp(f->names + i, t.at, NAME_LEN) == 0)
			return f->first + (int)(i / NAME_LEN);
	return -1;
}

/* A number of at most two digits, or a name. Returns -1 if the field cannot have that value. */
static int value_of(const struct cron_field *f, struct text t)
{
	int value = 0;

	if (t.len == 0 || t.len > 2 || strspn(t.at, "0123456789") < t.len)
		return t.at ? value_of_name(f, t) : -1;
	for (size_t i = 0; i < t.len; i++)
		value = 10 * value + (t.at[i] - '0');
	return value >= f->first && value <= f->last ? value : -1;
}

/* The step after a slash, 1 to 99; 1 when there is no slash; -1 when it is not such a number. */
static int step_of(struct text t)
{
	static const struct cron_field steps = { "step", 1, 99, 0, "", "" };

	return t.at ? value_of(&steps, t) : 1;
}

static bool may_be_special(const struct cron_field *f)
{
	return *f->others;
}

/*
 * Cuts this letter, in either case, off the end of a longer text. False: the text does not end with
 * it.
 */
static bool cut_last(struct text *t, char letter)
{
	bool ends = t->len > 1 && (t->at[t->len - 1] | ' ') == letter;

	t->len -= ends;
	return ends;
}

/* The place of L, L-3, LW, L-3W or 15W in the longer part of a mask; -1: it is none of these. */
static int special_date(struct text t)
{
	static const struct cron_field offsets = { "offset", 0, CRON_DAYS - 1, 0, "", "" };
	bool is_nearest = cut_last(&t, 'w');

	if (t.len > 0 && (*t.at | ' ') == 'l') {
		int offset = t.len == 1 ? 0 : -1;
		if (t.len > 2 && t.at[1] == '-')
			offset = value_of(&offsets, (struct text){ t.at + 2, t.len - 2 });
		return offset < 0 ? -1 : offset + (is_nearest ? NEAREST_FROM_LAST : FROM_LAST);
	}
	int day = is_nearest ? value_of(&fields[DAY_FIELD], t) : -1;
	return day < 0 ? -1 : NEAREST + day - 1;
}

/* The place of 5L, 5#L, 5#2, or of the same with a name. */
static int special_weekday(struct text t)
{
	static const struct cron_field numbers = { "number", 1, CRON_OF_WEEKDAY - 1, 0, "", "" };
	struct text number_text = t, day_text = text_cut(&number_text, '#');
	bool is_last =
		number_text.at ? text_is(number_text, "L") || text_is(number_text, "l") : cut_last(&day_text, 'l');
	int number = is_last ? CRON_OF_WEEKDAY : number_text.at ? value_of(&numbers, number_text) : -1;
	int day = value_of(&fields[WEEKDAY_FIELD], day_text);

	return day < 0 || number < 0 ? -1 : OF_WEEKDAY + day % CRON_WEEKDAYS * CRON_OF_WEEKDAY + number - 1;
}

/* True if the element has L, W or #, which is then set in the longer part of the mask. */
static bool set_special(const struct cron_field *f, struct text text, char *more)
{
	int place = !text.at || !may_be_special(f) ? -1
		    : f == &fields[DAY_FIELD]      ? special_date(text)
						   : special_weekday(text);

	if (place >= 0)
		more[place] = '1';
	return place >= 0;
}

static bool begins_with_star(struct text field)
{
	return *field.at == '*' || *field.at == '?';
}

/* One element of a list. `repeats`: it is `*` or has a step. */
struct element {
	int first, last, step;
	bool repeats;
};

/* Returns what is wrong with an element of a list, or NULL. */
static const char *read_element(const struct cron_field *f, struct text text, struct element *e)
{
	struct text step_text = text, range = text_cut(&step_text, '/'), last_text = range;
	struct text first_text = text_cut(&last_text, '-');
	bool is_all = text_is(range, "*") || (may_be_special(f) && text_is(range, "?"));

	e->repeats = is_all || step_text.at;
	e->step = step_of(step_text);
	e->first = is_all ? f->first : value_of(f, first_text);
	e->last = is_all ? f->first + f->count - 1 : last_text.at ? value_of(f, last_text) : e->first;
	if (e->first < 0 || e->last < 0)
		return "is not *, a value or a range of values";
	if (e->last < e->first)
		return "does not ascend";
	if (step_text.at && !is_all && !last_text.at)
		return "has a step, but is neither * nor a range";
	return e->step < 0 ? "has a step other than 1 to 99" : NULL;
}

/* Writes `why`. For a range that wraps around, such as 22-2, it suggests two ranges. */
static void refuse_element(const struct cron_field *f, struct text text, const struct element *e, const char *wrong,
			   char why[CRON_WHY_BYTES])
{
	const char *at = text.at ? text.at : "";
	int len = (int)(text.len < 20 ? text.len : 20);

	if (e->last >= 0 && e->last < e->first)
		snprintf(why, CRON_WHY_BYTES, "has the %s '%.*s', which %s; write two ranges: %d-%d,%d-%d", f->noun,
			 len, at, wrong, e->first, f->first + f->count - 1, f->first, e->last);
	else
		snprintf(why, CRON_WHY_BYTES, "has the %s '%.*s', which %s; values are %d to %d%s%s", f->noun, len, at,
			 wrong, f->first, f->last, *f->names ? ", names of three letters" : "", f->others);
}

static bool parse_field(const struct cron_field *f, struct text field, char *mask, char *more, bool *repeats,
			char why[CRON_WHY_BYTES])
{
	struct text rest = field;

	while (rest.at) {
		struct text text = text_cut(&rest, ',');
		struct element e;
		if (set_special(f, text, more))
			continue;
		const char *wrong = read_element(f, text, &e);
		if (wrong) {
			refuse_element(f, text, &e, wrong, why);
			return false;
		}
		*repeats = *repeats || e.repeats;
		for (int value = e.first; value <= e.last; value += e.step)
			mask[(value - f->first) % f->count] = '1';
	}
	return true;
}

/* Splits the expression at blanks. Returns the number of fields; only the first five are stored. */
static int split(struct text expression, struct text field[FIELDS])
{
	static const char blanks[] = " \t\n\v\f\r";
	const char *at = expression.at, *end = at + expression.len;
	int count = 0;

	for (;;) {
		while (at < end && memchr(blanks, *at, sizeof(blanks) - 1))
			at++;
		const char *begin = at;
		while (at < end && !memchr(blanks, *at, sizeof(blanks) - 1))
			at++;
		if (at == begin)
			return count;
		if (count < FIELDS)
			field[count] = (struct text){ begin, (size_t)(at - begin) };
		count++;
	}
}

/*
 * Returns the fields that a name of crontab(5) abbreviates; absent if the name is unknown. @reboot
 * has no fields.
 */
static struct text fields_of_name(struct text name)
{
	static const struct {
		const char *name, *fields;
	} rows[] = {
		{ "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
		{ "@weekly", "0 0 * * 0" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
		{ "@annually", "0 0 1 1 *" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (name.len == strlen(rows[i].name) && strncasecmp(name.at, rows[i].name, name.len) == 0)
			return text_of(rows[i].fields);
	return (struct text){ 0 };
}

static bool refuse_count(const struct text *first, int count, char why[CRON_WHY_BYTES])
{
	static const char five[] = "minute, hour, day of month, month, day of week";

	if (count && *first->at == '@')
		snprintf(
			why, CRON_WHY_BYTES,
			"has an unknown name; names are @hourly, @daily, @weekly, @monthly and @yearly, without fields");
	else if (count > FIELDS)
		snprintf(why, CRON_WHY_BYTES, "has %d fields; it takes five, without seconds and years: %s", count,
			 five);
	else
		snprintf(why, CRON_WHY_BYTES, "has %d of five fields: %s", count, five);
	return false;
}

static bool has_nearest(const char *more, int date, int month_days)
{
	return date >= 1 && date <= month_days &&
	       (more[NEAREST + date - 1] == '1' || more[NEAREST_FROM_LAST + month_days - date] == '1');
}

/* Does what is_near of lua/queues/schedules/lib_queue_recurrence.lua does. */
static bool is_nearest(const char *more, int date, int weekday, int month_days)
{
	bool matches = has_nearest(more, date, month_days);

	if (weekday == 5) /* Friday */
		matches = matches || has_nearest(more, date + 1, month_days) ||
			  (date == month_days - 2 && has_nearest(more, month_days, month_days));
	if (weekday == 1)
		matches = matches || has_nearest(more, date - 1, month_days) ||
			  (date == 3 && has_nearest(more, 1, month_days));
	return matches && weekday >= 1 && weekday <= 5;
}

/* True if both day fields match this date on this weekday, in a month of so many days. */
static bool both_match(const char *days, const char *more, int date, int weekday, int month_days)
{
	const char *weekdays = days + CRON_DAYS + CRON_MONTHS, *of = more + OF_WEEKDAY + weekday * CRON_OF_WEEKDAY;
	bool by_date = days[date - 1] == '1' || more[FROM_LAST + month_days - date] == '1' ||
		       is_nearest(more, date, weekday, month_days);
	bool is_last = date > month_days - CRON_WEEKDAYS;

	return by_date && (weekdays[weekday] == '1' || of[(date - 1) / CRON_WEEKDAYS] == '1' ||
			   (is_last && of[CRON_OF_WEEKDAY - 1] == '1'));
}

static bool names_a_day_of(const char *days, const char *more, int month_days)
{
	for (int date = 1; date <= month_days; date++)
		for (int weekday = 0; weekday < CRON_WEEKDAYS; weekday++)
			if (both_match(days, more, date, weekday, month_days))
				return true;
	return false;
}

static bool names_a_day(const char *days, const char *more)
{
	static const int most[CRON_MONTHS] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const char *months = days + CRON_DAYS;

	for (int month = 0; month < CRON_MONTHS; month++)
		if (months[month] == '1' &&
		    (names_a_day_of(days, more, most[month]) || (most[month] == 29 && names_a_day_of(days, more, 28))))
			return true;
	return false;
}

bool cron_parse(struct text expression, char mask[CRON_MASK_MOST + 1], char why[CRON_WHY_BYTES])
{
	struct text field[FIELDS];
	char *of_field[FIELDS], *at = mask, *more = mask + CRON_MASK_LEN;
	int count = split(expression, field);
	struct text of_name = count == 1 ? fields_of_name(field[0]) : (struct text){ 0 };
	bool repeats[FIELDS] = { false };

	if (of_name.at)
		count = split(of_name, field);
	if (count != FIELDS)
		return refuse_count(field, count, why);
	memset(mask, '0', CRON_MASK_MOST);
	mask[CRON_MASK_MOST] = '\0';
	for (int i = 0; i < FIELDS; i++, at += fields[i - 1].count) {
		of_field[i] = at;
		if (!parse_field(&fields[i], field[i], at, more, &repeats[i], why))
			return false;
	}
	/* crontab(5): a field that begins with * restricts nothing */
	bool is_either = !begins_with_star(field[DAY_FIELD]) && !begins_with_star(field[WEEKDAY_FIELD]);
	*at++ = is_either ? '1' : '0';
	*at = repeats[MINUTE_FIELD] || repeats[HOUR_FIELD] ? '1' : '0';
	if (!is_either && !names_a_day(of_field[DAY_FIELD], more)) {
		snprintf(why, CRON_WHY_BYTES, "names a day that no month of it has");
		return false;
	}
	if (!strchr(more, '1'))
		*more = '\0';
	return true;
}
