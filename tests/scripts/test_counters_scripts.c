/*
 * The counter scripts on a real Redis: exact within +-(2^53 - 1), all or nothing, and foreign keys
 * stay untouched.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define COUNTERS "p:counter:{a}"
#define RECORD "p:idem:{a}:k"
#define MOST "9007199254740991"
#define LEAST "-9007199254740991"

static int64_t add(const char *name, const char *by)
{
	run(&r, &counter_increment_script, KEYS(COUNTERS), ARGS(name, by));
	return outcome(&r);
}

/* The new value of the n-th counter of the call, from 0. */
static int64_t sum(size_t n)
{
	return item_int(&r, COUNTER_INCREMENT_SUMS + n);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(adding_answers_what_is)
{
	run(&r, &counter_increment_script, KEYS(COUNTERS), ARGS("likes", "1", "stock", "-2", "none", "0"));
	assert_int_equal(outcome(&r), COUNTER_INCREMENT_ADDED);
	assert_int_equal(r.reply->elements, COUNTER_INCREMENT_SUMS + 3);
	assert_int_equal(sum(0), 1);
	assert_int_equal(sum(1), -2);
	assert_int_equal(sum(2), 0);
	run(&r, &counter_increment_script, KEYS(COUNTERS), ARGS("stock", "42", "likes", "1"));
	assert_int_equal(sum(0), 40);
	assert_int_equal(sum(1), 2);
	assert_int_equal(redis_pttl_ms(&r, COUNTERS), -1);
	unchanged(&r, run(&r, &counter_get_script, KEYS(COUNTERS), ARGS()));
	run(&r, &counter_get_script, KEYS(COUNTERS), ARGS());
	assert_int_equal(r.reply->elements, COUNTER_STATE_COUNTERS + 3 * COUNTER_ITEMS);
	run(&r, &counter_get_script, KEYS("p:counter:{none}"), ARGS());
	assert_int_equal(r.reply->elements, COUNTER_STATE_COUNTERS);
}

/* Rows are a value, an amount and their sum, or NULL if the sum is out of range. */
TEST(sums_are_exact_to_the_last_digit)
{
	static const char *const rows[][3] = {
		{ "9007199254740990", "1", MOST },
		{ MOST, "0", MOST },
		{ MOST, "1", NULL },
		{ MOST, "2", NULL },
		{ MOST, "3", NULL },
		{ MOST, "-1", "9007199254740990" },
		{ MOST, MOST, NULL },
		{ MOST, LEAST, "0" },
		{ "-9007199254740990", "-1", LEAST },
		{ LEAST, "0", LEAST },
		{ LEAST, "-1", NULL },
		{ LEAST, "-2", NULL },
		{ LEAST, "1", "-9007199254740990" },
		{ LEAST, LEAST, NULL },
		{ LEAST, MOST, "0" },
		{ "4503599627370496", "4503599627370495", MOST },
		{ "4503599627370496", "4503599627370496", NULL },
		{ "0", LEAST, LEAST },
		{ "-1", LEAST, NULL },
		{ "1", "-1", "0" },
		{ "-1000000000", "1", "-999999999" },
		{ "-5", "1000000003", "999999998" },
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		server_command(&r, "HSET " COUNTERS " n %s", rows[i][0]);
		if (rows[i][2]) {
			assert_int_equal(add("n", rows[i][1]), COUNTER_INCREMENT_ADDED);
			assert_int_equal(sum(0), strtoll(rows[i][2], NULL, 10));
			run(&r, &counter_get_script, KEYS(COUNTERS), ARGS());
			assert_int_equal(item_int(&r, COUNTER_STATE_COUNTERS + COUNTER_VALUE),
					 strtoll(rows[i][2], NULL, 10));
			continue;
		}
		unchanged(&r, {
			assert_int_equal(add("n", rows[i][1]), COUNTER_INCREMENT_OVERFLOW);
			assert_string_equal(item_text(&r, COUNTER_INCREMENT_NAME), "n");
			assert_int_equal(item_int(&r, COUNTER_INCREMENT_VALUE), strtoll(rows[i][0], NULL, 10));
			assert_int_equal(item_int(&r, COUNTER_INCREMENT_BY), strtoll(rows[i][1], NULL, 10));
		});
	}
}

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

TEST(one_overflow_leaves_all_as_they_are)
{
	server_command(&r, "HSET " COUNTERS " full " MOST);
	unchanged(&r, {
		run_with_record(&r, &counter_increment_script, KEYS(COUNTERS),
				ARGS("new", "1", "full", "1", "other", "1"), RECORD, FINGERPRINT_A);
		assert_int_equal(outcome(&r), COUNTER_INCREMENT_OVERFLOW);
		assert_string_equal(item_text(&r, COUNTER_INCREMENT_NAME), "full");
	});
}

TEST(a_name_has_so_many_counters)
{
	char name[16];

	for (int i = 0; i < 499; i++)
		server_command(&r, "HSET " COUNTERS " c%d 1", i);
	unchanged(&r, {
		run(&r, &counter_increment_script, KEYS(COUNTERS), ARGS("c0", "1", "x", "1", "y", "1"));
		assert_int_equal(outcome(&r), COUNTER_INCREMENT_TOO_MANY);
		assert_int_equal(item_int(&r, COUNTER_INCREMENT_SIZE), 501);
	});
	assert_int_equal(add("x", "1"), COUNTER_INCREMENT_ADDED);
	assert_int_equal(add("y", "1"), COUNTER_INCREMENT_TOO_MANY);
	for (int i = 0; i < 499; i += 100) {
		snprintf(name, sizeof(name), "c%d", i);
		assert_int_equal(add(name, "1"), COUNTER_INCREMENT_ADDED);
	}
	run(&r, &counter_get_script, KEYS(COUNTERS), ARGS());
	assert_int_equal(r.reply->elements, COUNTER_STATE_COUNTERS + 500 * COUNTER_ITEMS);
}

TEST(a_replay_gets_the_first_answer)
{
	for (int i = 0; i < 2; i++) {
		run_with_record(&r, &counter_increment_script, KEYS(COUNTERS), ARGS("n", "9007199254740991"), RECORD,
				FINGERPRINT_A);
		assert_int_equal(sum(0), 9007199254740991);
	}
	add("n", "9");
	run_with_record(&r, &counter_increment_script, KEYS(COUNTERS), ARGS("n", "9007199254740991"), RECORD,
			FINGERPRINT_A);
	assert_int_equal(sum(0), 9007199254740991);
	unchanged(&r, run_with_record_fails(&r, &counter_increment_script, KEYS(COUNTERS), ARGS("n", "1"), RECORD,
					    FINGERPRINT_B, "IDEMPOTENCY_KEY_REUSED"));
}

/* Rows include values that HINCRBY would refuse only after other counters were changed. */
TEST(a_foreign_key_stays_as_it_is)
{
	static const char *const values[] = { "x",
					      "",
					      "1.5",
					      "01",
					      "-0",
					      "+1",
					      " 1",
					      "9007199254740992",
					      "-9007199254740992",
					      "9007199254740993",
					      "99999999999999999999" };

	for (size_t i = 0; i < COUNT(values); i++) {
		server_command(&r, "HSET " COUNTERS " good 1 bad %s", values[i]);
		unchanged(&r,
			  run_with_record_fails(&r, &counter_increment_script, KEYS(COUNTERS),
						ARGS("good", "1", "bad", "-1"), RECORD, FINGERPRINT_A, "WRONGTYPE"));
	}
	server_command(&r, "HSET " COUNTERS " bad x");
	unchanged(&r, {
		run_fails(&r, &counter_get_script, KEYS(COUNTERS), ARGS(), "WRONGTYPE");
		run_fails(&r, &counter_patch_script, KEYS(COUNTERS), ARGS("1"), "WRONGTYPE");
	});
	for (int i = 0; i < 501; i++)
		server_command(&r, "HSET p:counter:{many} f%d 1", i);
	run_fails(&r, &counter_get_script, KEYS("p:counter:{many}"), ARGS(), "WRONGTYPE");
	server_command(&r, "SET p:counter:{text} 5");
	unchanged(&r, {
		run_fails(&r, &counter_increment_script, KEYS("p:counter:{text}"), ARGS("n", "1"), "WRONGTYPE");
		run_fails(&r, &counter_get_script, KEYS("p:counter:{text}"), ARGS(), "WRONGTYPE");
		run_fails(&r, &counter_patch_script, KEYS("p:counter:{text}"), ARGS("1"), "WRONGTYPE");
		run_fails(&r, &counter_delete_script, KEYS("p:counter:{text}"), ARGS(), "WRONGTYPE");
	});
}

TEST(the_expiry_stays_until_it_is_changed)
{
	int64_t before = server_now_ms(&r), at;

	add("n", "1");
	run(&r, &counter_get_script, KEYS(COUNTERS), ARGS());
	assert_int_equal(item_int(&r, COUNTER_STATE_EXPIRES_AT_MS), -1);
	run(&r, &counter_patch_script, KEYS(COUNTERS), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
	at = item_int(&r, COUNTER_STATE_EXPIRES_AT_MS);
	assert_string_equal(item_text(&r, COUNTER_STATE_COUNTERS + COUNTER_NAME), "n");
	assert_in_range(at, before + 60000, server_now_ms(&r) + 60000);
	add("n", "1");
	add("m", "1");
	assert_int_equal(server_command(&r, "PEXPIRETIME " COUNTERS)->integer, at);
	run(&r, &counter_patch_script, KEYS(COUNTERS), ARGS(""));
	assert_int_equal(item_int(&r, COUNTER_STATE_EXPIRES_AT_MS), at);
	assert_int_equal(server_command(&r, "PEXPIRETIME " COUNTERS)->integer, at);
	run(&r, &counter_get_script, KEYS(COUNTERS), ARGS());
	assert_int_equal(item_int(&r, COUNTER_STATE_EXPIRES_AT_MS), at);
	run(&r, &counter_patch_script, KEYS(COUNTERS), ARGS("null"));
	assert_int_equal(item_int(&r, COUNTER_STATE_EXPIRES_AT_MS), -1);
	assert_int_equal(redis_pttl_ms(&r, COUNTERS), -1);
}

TEST(what_is_not_there_is_neither_changed_nor_removed)
{
	unchanged(&r, {
		run(&r, &counter_patch_script, KEYS(COUNTERS), ARGS("60000"));
		assert_int_equal(outcome(&r), COUNTER_PATCH_ABSENT);
		run(&r, &counter_delete_script, KEYS(COUNTERS), ARGS());
		assert_int_equal(outcome(&r), 0);
	});
	add("n", "1");
	run(&r, &counter_delete_script, KEYS(COUNTERS), ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(redis_exists(&r, COUNTERS), 0);
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

TEST(a_set_counter_keeps_expiry_and_bound)
{
	run(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("n", "5"));
	assert_int_equal(redis_pttl_ms(&r, COUNTERS), -1);
	server_command(&r, "PEXPIREAT " COUNTERS " 4102444800000");
	run(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("n", "6"));
	run(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("m", "6"));
	run(&r, &counter_field_delete_script, KEYS(COUNTERS), ARGS("n"));
	assert_int_equal(server_command(&r, "PEXPIRETIME " COUNTERS)->integer, 4102444800000);
	for (int i = 1; i < 500; i++)
		server_command(&r, "HSET " COUNTERS " c%d 1", i);
	unchanged(&r, {
		run(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("one more", "1"));
		assert_int_equal(outcome(&r), COUNTER_FIELD_PUT_TOO_MANY);
		assert_int_equal(item_int(&r, COUNTER_FIELD_PUT_SIZE), 501);
	});
	run(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("m", "7"));
	assert_int_equal(outcome(&r), COUNTER_FIELD_PUT_SET);
}

TEST(a_foreign_field_is_neither_read_nor_written)
{
	static const char *const values[] = { "x", "", "1.5", "01", "-0", "9007199254740992" };

	for (size_t i = 0; i < COUNT(values); i++) {
		server_command(&r, "HSET " COUNTERS " bad %s", values[i]);
		unchanged(&r, {
			run_fails(&r, &counter_field_get_script, KEYS(COUNTERS), ARGS("bad"), "WRONGTYPE");
			run_fails(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("bad", "1"), "WRONGTYPE");
			run_fails(&r, &counter_field_delete_script, KEYS(COUNTERS), ARGS("bad"), "WRONGTYPE");
		});
	}
	server_command(&r, "DEL " COUNTERS);
	server_command(&r, "SET " COUNTERS " 5");
	unchanged(&r, {
		run_fails(&r, &counter_field_get_script, KEYS(COUNTERS), ARGS("n"), "WRONGTYPE");
		run_fails(&r, &counter_field_put_script, KEYS(COUNTERS), ARGS("n", "1"), "WRONGTYPE");
		run_fails(&r, &counter_field_delete_script, KEYS(COUNTERS), ARGS("n"), "WRONGTYPE");
	});
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
