/* cron: see cron.h. */
#include "queues/cron.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_LEN = 3, FIELDS = 5, DAY_FIELD = 2, MONTH_FIELD = 3, WEEKDAY_FIELD = 4 };

static const struct cron_field {
	const char *noun;
	int first, last; /* of what may be written */
	int count;       /* of what the mask has: 7 is Sunday, too */
	const char *names;
} fields[FIELDS] = {
	{ "minute", 0, 59, CRON_MINUTES, "" },
	{ "hour", 0, 23, CRON_HOURS, "" },
	{ "day of month", 1, 31, CRON_DAYS, "" },
	{ "month", 1, 12, CRON_MONTHS, "janfebmaraprmayjunjulaugsepoctnovdec" },
	{ "day of week", 0, 7, CRON_WEEKDAYS, "sunmontuewedthufrisat" },
};

static int value_of_name(const struct cron_field *f, struct text t)
{
	for (size_t i = 0; t.len == NAME_LEN && f->names[i]; i += NAME_LEN)
		if (strncasecmp(f->names + i, t.at, NAME_LEN) == 0)
			return f->first + (int)(i / NAME_LEN);
	return -1;
}

/* A number of at most two digits, or a name; -1 when it is none that the field may have. */
static int value_of(const struct cron_field *f, struct text t)
{
	int value = 0;

	if (t.len == 0 || t.len > 2 || strspn(t.at, "0123456789") < t.len)
		return t.at ? value_of_name(f, t) : -1;
	for (size_t i = 0; i < t.len; i++)
		value = 10 * value + (t.at[i] - '0');
	return value >= f->first && value <= f->last ? value : -1;
}

/* The step behind a slash: 1 to 99; 1 when there is none; -1 when it is no number. */
static int step_of(struct text t)
{
	static const struct cron_field steps = { "step", 1, 99, 0, "" };

	return t.at ? value_of(&steps, t) : 1;
}

/* What is wrong with an element of a list; NULL: nothing, and its values are in the mask. */
static const char *add_element(const struct cron_field *f, struct text element, char *mask)
{
	struct text step_text = element, range = text_cut(&step_text, '/'), last_text = range;
	struct text first_text = text_cut(&last_text, '-');
	bool is_all = text_is(range, "*");
	int step = step_of(step_text);
	int first = is_all ? f->first : value_of(f, first_text);
	int last = is_all ? f->first + f->count - 1 : last_text.at ? value_of(f, last_text) : first;

	if (first < 0 || last < 0)
		return "is not a value, a range or * of";
	if (last < first)
		return "ends before it begins, in";
	if (step_text.at && !is_all && !last_text.at)
		return "has a step but is neither * nor a range of";
	if (step < 0)
		return "has a step that is not 1 to 99, in";
	for (int value = first; value <= last; value += step)
		mask[(value - f->first) % f->count] = '1';
	return NULL;
}

static bool parse_field(const struct cron_field *f, struct text field, char *mask, char why[CRON_WHY_BYTES])
{
	struct text rest = field;

	while (rest.at) {
		struct text element = text_cut(&rest, ',');
		const char *wrong = add_element(f, element, mask);
		if (!wrong)
			continue;
		snprintf(why, CRON_WHY_BYTES, "has the %s '%.*s', which %s %d to %d%s", f->noun,
			 (int)(element.len < 20 ? element.len : 20), element.at ? element.at : "", wrong, f->first,
			 f->last, *f->names ? ", or names of three letters" : "");
		return false;
	}
	return true;
}

/* The fields, between blanks and tabs. Returns how many there are; the first five are taken. */
static int split(struct text expression, struct text field[FIELDS])
{
	static const char blanks[] = " \t";
	const char *at = expression.at, *end = at + expression.len;
	int count = 0;

	for (;;) {
		while (at < end && memchr(blanks, *at, 2))
			at++;
		const char *begin = at;
		while (at < end && !memchr(blanks, *at, 2))
			at++;
		if (at == begin)
			return count;
		if (count < FIELDS)
			field[count] = (struct text){ begin, (size_t)(at - begin) };
		count++;
	}
}

static bool refuse_count(struct text expression, int count, char why[CRON_WHY_BYTES])
{
	static const char five[] = "minute, hour, day of month, month, day of week";

	if (expression.len && *expression.at == '@')
		snprintf(why, CRON_WHY_BYTES, "has a name with @; write five fields, such as 0 0 * * *: %s", five);
	else if (count > FIELDS)
		snprintf(why, CRON_WHY_BYTES, "has %d fields; it takes five, without seconds and years: %s", count,
			 five);
	else
		snprintf(why, CRON_WHY_BYTES, "has %d of five fields: %s", count, five);
	return false;
}

/* February has 29 days in some years. */
static bool names_a_day(const char *days, const char *months)
{
	static const int most[CRON_MONTHS] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	for (int month = 0; month < CRON_MONTHS; month++)
		if (months[month] == '1' && memchr(days, '1', (size_t)most[month]))
			return true;
	return false;
}

bool cron_parse(struct text expression, char mask[CRON_MASK_LEN + 1], char why[CRON_WHY_BYTES])
{
	struct text field[FIELDS];
	char *of_field[FIELDS], *at = mask;
	int count = split(expression, field);

	if (count != FIELDS)
		return refuse_count(expression, count, why);
	memset(mask, '0', CRON_MASK_LEN);
	mask[CRON_MASK_LEN] = '\0';
	for (int i = 0; i < FIELDS; i++, at += fields[i - 1].count) {
		of_field[i] = at;
		if (!parse_field(&fields[i], field[i], at, why))
			return false;
	}
	/* crontab(5): a field that begins with * restricts nothing */
	bool is_either = *field[DAY_FIELD].at != '*' && *field[WEEKDAY_FIELD].at != '*';
	*at = is_either ? '1' : '0';
	if (!is_either && !names_a_day(of_field[DAY_FIELD], of_field[MONTH_FIELD])) {
		snprintf(why, CRON_WHY_BYTES, "names a day that no month of it has");
		return false;
	}
	return true;
}
