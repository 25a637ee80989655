/* Tests of the five fields of crontab(5): their masks, and which expressions are refused. */
#include "queues/schedules/cron.h"
#include "test.h"

/* The values of one field that match, as a text such as "0 15 30". */
static void assert_field(const char *mask, int at, int count, int first, const char *wanted)
{
	char expected[CRON_MINUTES + 1] = "";

	memset(expected, '0', (size_t)count);
	for (const char *s = wanted; *s; s += strcspn(s, " ") + (s[strcspn(s, " ")] == ' '))
		expected[(*s - '0') * (s[1] && s[1] != ' ' ? 10 : 1) + (s[1] && s[1] != ' ' ? s[1] - '0' : 0) - first] =
			'1';
	if (strncmp(mask + at, expected, (size_t)count) != 0)
		fail_msg("'%s' is %.*s", wanted, count, mask + at);
}

TEST(fields_are_read)
{
	char mask[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES];

	assert_true(cron_parse(TEXT("*/20 8-12/2,23 1,15 jan,JUN-aug Sun,fri-7"), mask, why));
	assert_field(mask, 0, CRON_MINUTES, 0, "0 20 40");
	assert_field(mask, 60, CRON_HOURS, 0, "8 10 12 23");
	assert_field(mask, 84, CRON_DAYS, 1, "1 15");
	assert_field(mask, 115, CRON_MONTHS, 1, "1 6 7 8");
	assert_field(mask, 127, CRON_WEEKDAYS, 0, "0 5 6");
	assert_int_equal(mask[134], '1');
	assert_int_equal(strlen(mask), CRON_MASK_LEN);
}

/* What follows in the mask: the places of its `1`, counted from its character CRON_MASK_LEN. */
TEST(special_days_follow)
{
	static const struct {
		const char *expression;
		int places[4]; /* plus 1, so that 0 ends them */
	} rows[] = {
		{ "0 0 L * *", { 1 } },
		{ "0 0 l-0,L-30 * *", { 1, 31 } },
		{ "0 0 1w,31W * *", { 32, 62 } },
		{ "0 0 LW,L-1w * *", { 63, 64 } },
		{ "0 0 * * 0#1,sun#5,7L", { 94, 98, 99 } },
		{ "0 0 ? * sat#L,FRI#2", { 94 + 31, 94 + 41 } },
		{ "0 0 1,L * mon,5L", { 1, 94 + 35 } },
	};
	char mask[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES], wanted[CRON_MASK_MOST - CRON_MASK_LEN + 1];

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (!cron_parse(text_of(rows[i].expression), mask, why))
			fail_msg("'%s' %s", rows[i].expression, why);
		memset(wanted, '0', sizeof(wanted) - 1);
		wanted[sizeof(wanted) - 1] = '\0';
		for (const int *place = rows[i].places; *place; place++)
			wanted[*place - 1] = '1';
		assert_string_equal(mask + CRON_MASK_LEN, wanted);
	}
	assert_true(cron_parse(TEXT("0 0 ? * ?"), mask, why));
	assert_int_equal(strlen(mask), CRON_MASK_LEN);
}

/*
 * crontab(5): two day fields that begin with a digit match if either does; with a * both must
 * match.
 */
TEST(either_day_field_or_both)
{
	static const struct {
		const char *expression;
		char either;
	} rows[] = {
		{ "0 0 * * *", '0' },  { "0 0 1 * *", '0' },        { "0 0 * * 1", '0' },
		{ "0 0 1 * 1", '1' },  { "0 0 */2 * 1", '0' },      { "0 0 1 * */2", '0' },
		{ "0 0 ? * 1", '0' },  { "0 0 L * 5L", '1' },       { "0 0 L * ?", '0' },
		{ "0 0 30 2 1", '1' }, { "  0  0 31  12 * ", '0' }, { "\t0\n\v0 1 *\r\f1\n", '1' },
	};
	char mask[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES];

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (!cron_parse(text_of(rows[i].expression), mask, why))
			fail_msg("'%s' %s", rows[i].expression, why);
		assert_int_equal(mask[CRON_MASK_LEN - 2], rows[i].either);
	}
}

/*
 * When a local time comes twice, an expression with `*` or a step in the minute or hour is due both
 * times.
 */
TEST(a_star_or_a_step_repeats)
{
	static const struct {
		const char *expression;
		char repeats;
	} rows[] = {
		{ "30 2 * * *", '0' },   { "0,30 1-3 * * */2", '0' },  { "* 2 * * *", '1' }, { "30 * * * *", '1' },
		{ "30 */2 * * *", '1' }, { "5,0-30/10 2 * * *", '1' }, { "@hourly", '1' },   { "@daily", '0' },
	};
	char mask[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES];

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(cron_parse(text_of(rows[i].expression), mask, why));
		if (mask[CRON_MASK_LEN - 1] != rows[i].repeats)
			fail_msg("'%s' is %c", rows[i].expression, mask[CRON_MASK_LEN - 1]);
	}
}

TEST(names_are_fields)
{
	static const struct {
		const char *name, *fields;
	} rows[] = {
		{ "@hourly", "0 * * * *" },     { " @Daily ", "0 0 * * *" }, { "@midnight", "0 0 * * *" },
		{ "@weekly", "0 0 * * sun" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 jan *" },
		{ "\t@annually", "0 0 1 1 *" },
	};
	char mask[CRON_MASK_MOST + 1], wanted[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES];

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(cron_parse(text_of(rows[i].name), mask, why));
		assert_true(cron_parse(text_of(rows[i].fields), wanted, why));
		assert_string_equal(mask, wanted);
	}
}

struct refused {
	const char *expression, *named;
};

static void assert_refused(const struct refused *rows, size_t count)
{
	char mask[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES];

	for (size_t i = 0; i < count; i++) {
		assert_false(cron_parse(text_of(rows[i].expression), mask, why));
		if (!strstr(why, rows[i].named))
			fail_msg("'%s' %s, not %s", rows[i].expression, why, rows[i].named);
	}
}

TEST(what_is_wrong_is_named)
{
	static const struct refused rows[] = {
		{ "", "0 of five fields" },
		{ "* * * *", "4 of five fields" },
		{ "* * * * * *", "6 fields; it takes five, without seconds" },
		{ "0 30 2 * * * 2026", "7 fields" },
		{ "60 * * * *", "minute '60'" },
		{ "* 24 * * *", "hour '24'" },
		{ "* * 0 * *", "day of month '0'" },
		{ "* * 32 * *", "day of month '32'" },
		{ "* * * 13 *", "month '13'" },
		{ "* * * * 8", "day of week '8'" },
		{ "* * * january *", "month 'january'" },
		{ "* * * mon *", "month 'mon'" },
		{ "5/15 * * * *", "minute '5/15', which has a step, but is neither * nor a range" },
		{ "*/0 * * * *", "minute '*/0', which has a step other than 1 to 99" },
		{ "*/100 * * * *", "minute '*/100', which has a step" },
		{ "*/x * * * *", "minute '*/x', which has a step" },
		{ "5-1 * * * *", "minute '5-1', which does not ascend; write two ranges: 5-59,0-1" },
		{ "* * * * fri-mon", "day of week 'fri-mon', which does not ascend; write two ranges: 5-6,0-1" },
		{ "1- * * * *", "minute '1-'" },
		{ "-1 * * * *", "minute '-1'" },
		{ "1,,2 * * * *", "minute ''" },
		{ "1, * * * *", "minute ''" },
		{ "+1 * * * *", "minute '+1'" },
		{ "1.5 * * * *", "minute '1.5'" },
		{ "* 22-5 * * *", "write two ranges: 22-23,0-5" },
		{ "@reboot", "unknown name; names are @hourly, @daily" },
		{ "@daily 5", "without fields" },
		{ "@", "unknown name" },
		{ "*\n* * *", "4 of five fields" },
		{ "0 0 30 2 *", "names a day that no month of it has" },
		{ "0 0 31 4,6,9,11 *", "names a day that no month of it has" },
	};

	assert_refused(rows, COUNT(rows));
}

TEST(what_is_wrong_with_a_special_day)
{
	static const struct refused rows[] = {
		{ "0 0 L-31 * *",
		  "day of month 'L-31', which is not *, a value or a range of values; values are 1 to 31, L" },
		{ "0 0 W * *", "day of month 'W'" },
		{ "0 0 32W * *", "day of month '32W'" },
		{ "0 0 1-5W * *", "day of month '1-5W'" },
		{ "0 0 L/2 * *", "day of month 'L/2'" },
		{ "0 0 LL * *", "day of month 'LL'" },
		{ "0 0 * * L",
		  "day of week 'L', which is not *, a value or a range of values; values are 0 to 7, names of "
		  "three letters, 5L, 5#2" },
		{ "0 0 * * 5#6", "day of week '5#6'" },
		{ "0 0 * * 5#0", "day of week '5#0'" },
		{ "0 0 * * 8#1", "day of week '8#1'" },
		{ "0 0 * * 1-5L", "day of week '1-5L'" },
		{ "0 L * * *", "hour 'L'" },
		{ "? * * * *", "minute '?'" },
		{ "0 0 LW * */6", "names a day that no month of it has" },
		{ "0 0 31W 2,4 *", "names a day that no month of it has" },
		{ "0 0 L-30 11 ?", "names a day that no month of it has" },
		{ "0 0 */30 4 sun#2", "names a day that no month of it has" },
	};

	assert_refused(rows, COUNT(rows));
}
