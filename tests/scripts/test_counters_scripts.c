/*
 * The scripts of counters on a real Redis, beside the processor's sums and Redis's own commands.
 * What a client sees is in tests/examples/counters.txt.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define COUNTERS "p:counter:{a}"
#define MOST "9007199254740991"
#define LEAST "-9007199254740991"

static int64_t add(const char *name, const char *by)
{
	run(&r, &counter_increment_script, KEYS(COUNTERS), ARGS(name, by));
	return outcome(&r);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(random_sums_are_the_processors)
{
	static const int64_t most = (INT64_C(1) << 53) - 1;
	char from[24], by[24];
	uint64_t random = 88172645463325252;
	int overflows = 0;

	for (int i = 0; i < 400; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		int64_t a = (int64_t)random / 1025 >> (i % 3 ? 0 : random % 40);
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		int64_t b = (int64_t)random / 1025 >> (i % 5 ? 10 : 0);
		if (i % 2) /* near the ends */
			a = a < 0 ? a / 1500 - most + most / 1500 : a / 1500 + most - most / 1500;
		snprintf(from, sizeof(from), "%lld", (long long)a);
		snprintf(by, sizeof(by), "%lld", (long long)b);
		server_command(&r, "HSET " COUNTERS " n %s", from);
		bool fits = a + b <= most && a + b >= -most;
		overflows += !fits;
		assert_int_equal(add("n", by), fits ? COUNTER_INCREMENT_ADDED : COUNTER_INCREMENT_OVERFLOW);
		assert_int_equal(item_int(&r, fits ? COUNTER_INCREMENT_SUMS : COUNTER_INCREMENT_VALUE),
				 fits ? a + b : a);
	}
	assert_in_range(overflows, 20, 380);
}

/* ---- One counter: the twin gets HGET, HSET and HDEL themselves ---- */

#define TWIN "twin"

/* Runs one operation on both. The results and the hashes must be equal. */
static void both_do(const char *what, const char *field, const char *value)
{
	if (*what == 'g') {
		redisReply *plain = server_command(&r, "HGET " TWIN " %s", field);
		bool is_there = plain->type != REDIS_REPLY_NIL;
		int64_t is = is_there ? strtoll(plain->str, NULL, 10) : 0;
		unchanged(&r, run(&r, &counter_field_get_script, KEYS(COUNTERS), ARGS(field)));
		run(&r, &counter_field_get_script, KEYS(COUNTERS), ARGS(field));
		assert_int_equal(outcome(&r), is_there ? 0 : COUNTER_FIELD_GET_ABSENT);
		if (is_there)
			assert_int_equal(item_int(&r, COUNTER_FIELD_GET_VALUE), is);
	} else if (*what == 's') {
		int64_t made = server_command(&r, "HSET " TWIN " %s %s", field, value)->integer;
		run(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS(field, value));
		assert_int_equal(outcome(&r), made ? COUNTER_FIELD_PUT_CREATED : COUNTER_FIELD_PUT_SET);
	} else {
		int64_t removed = server_command(&r, "HDEL " TWIN " %s", field)->integer;
		run(&r, &counter_field_delete_script, KEYS(COUNTERS), ARGS(field));
		assert_int_equal(outcome(&r), removed);
	}
	assert_int_equal(redis_exists(&r, COUNTERS), redis_exists(&r, TWIN));
	assert_int_equal(server_command(&r, "HLEN " COUNTERS)->integer, server_command(&r, "HLEN " TWIN)->integer);
}

TEST(one_counter_is_as_hget_hset_and_hdel_have_it)
{
	static const char *const fields[] = { "likes", "a b", "\xc3\xa9", "*", "1" };
	static const char *const values[] = { MOST, LEAST, "0", "-1", "42" };
	uint64_t random = 88172645463325252;

	for (int i = 0; i < 600; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		both_do(&"gsd"[random % 3], fields[random / 3 % 5], values[random / 15 % 5]);
	}
}

/* Calls that free memory work when there is none. */
TEST(a_full_redis_still_reads_and_removes_one)
{
	run(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("n", "5"));
	server_command(&r, "CONFIG SET maxmemory 1");
	run_fails(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("n", "6"), "OOM");
	run(&r, &counter_field_get_script, KEYS(COUNTERS), ARGS("n"));
	assert_int_equal(item_int(&r, COUNTER_FIELD_GET_VALUE), 5);
	run(&r, &counter_field_delete_script, KEYS(COUNTERS), ARGS("n"));
	assert_int_equal(outcome(&r), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
}
