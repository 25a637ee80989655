/*
 * The scripts of check-ins on a real Redis: days against a plain table, and how they are stored.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define KEY "p:checkin:{u}"
#define MOST "36600", "366"

enum { DIGITS = 24 };

static int64_t put(const struct script *s, int64_t day)
{
	char text[DIGITS];

	snprintf(text, sizeof(text), "%lld", (long long)day);
	run(&r, s, KEYS(KEY), ARGS(text));
	return outcome(&r);
}

/* Reads a range, whose days is_marked then reads. */
static void look(int64_t from, int64_t to)
{
	char first[DIGITS], last[DIGITS];

	snprintf(first, sizeof(first), "%lld", (long long)from);
	snprintf(last, sizeof(last), "%lld", (long long)to);
	run(&r, &checkin_get_script, KEYS(KEY), ARGS(first, last, MOST));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(item_int(&r, CHECKIN_GET_FROM_DAY), from);
	assert_int_equal(item_int(&r, CHECKIN_GET_TO_DAY), to);
}

static bool is_marked(int64_t day)
{
	const redisReply *bits = r.reply->element[CHECKIN_GET_BITS];
	int64_t at = day - item_int(&r, CHECKIN_GET_BITS_DAY);

	assert_true(at >= 0 && (size_t)at < bits->len * 8);
	return (unsigned char)bits->str[at / 8] >> (7 - at % 8) & 1;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* Days around 1970, where their numbers change sign, in several blocks. */
TEST(days_match_a_plain_table)
{
	enum { DAYS = 3000, FIRST = -1400 };
	static bool noted[DAYS];
	unsigned seed = 11;

	for (int i = 0; i < 4000; i++) {
		int at = (i % 3 ? 1200 : 0) + rand_r(&seed) % (i % 3 ? 300 : DAYS);
		bool takes_back = rand_r(&seed) % 3 == 0;
		int64_t outcome = put(takes_back ? &checkin_day_delete_script : &checkin_day_put_script, FIRST + at);
		assert_int_equal(outcome, noted[at] == takes_back);
		noted[at] = !takes_back;
	}
	for (int i = 0; i < 20; i++) {
		int from = rand_r(&seed) % DAYS, to = from + rand_r(&seed) % (DAYS - from);
		look(FIRST + from, FIRST + to);
		for (int at = from; at <= to; at++)
			assert_int_equal(is_marked(FIRST + at), noted[at]);
	}
	/* A block has its bits in the order of SETBIT, so that other programs can read them. */
	for (int at = 0; at < DAYS; at++)
		if (noted[at])
			put(&checkin_day_delete_script, FIRST + at);
	assert_int_equal(redis_exists(&r, KEY), 0); /* an unmarked day leaves nothing behind */
	put(&checkin_day_put_script, 368 + 9);
	redisReply *field = server_command(&r, "HGET " KEY " 1");
	assert_int_equal(field->len, 2);
	assert_memory_equal(field->str, "\0\x40", 2);
}

/* A hash of a century has 46 bytes per year. The script reads only the fields of the range. */
TEST(a_century_is_one_call)
{
	for (int64_t day = 0; day < 36600; day += 61)
		put(&checkin_day_put_script, day);
	look(0, 36599);
	for (int64_t day = 0; day < 36600; day++)
		assert_int_equal(is_marked(day), day % 61 == 0);
	redisReply *fields = server_command(&r, "HVALS " KEY);
	assert_int_equal(fields->elements, 100);
	for (size_t i = 0; i < fields->elements; i++)
		assert_true(fields->element[i]->len <= 46);
	assert_string_equal(server_command(&r, "OBJECT ENCODING " KEY)->str, "listpack");
}

TEST(a_full_redis_still_looks_and_forgets)
{
	put(&checkin_day_put_script, 1);
	server_command(&r, "CONFIG SET maxmemory 1");
	run_fails(&r, &checkin_day_put_script, KEYS(KEY), ARGS("2"), "OOM");
	look(1, 1);
	assert_true(is_marked(1));
	run(&r, &checkin_patch_script, KEYS(KEY), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(put(&checkin_day_delete_script, 1), 1);
}
