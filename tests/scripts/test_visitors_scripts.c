/*
 * The visitor and view scripts on a real Redis: unions, merges, days, and which clock defines
 * today.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_script.h"
#include "script_stage.h"

#define A1 "p:uv:{a}:2026-11-19"
#define A2 "p:uv:{a}:2026-11-20"
#define B1 "p:uv:{b}:2026-11-19"
#define B2 "p:uv:{b}:2026-11-20"
#define C1 "p:uv:{c}:2026-11-19"
#define C2 "p:uv:{c}:2026-11-20"
#define PV1 "p:pv:{a}:2026-11-19"
#define PV2 "p:pv:{a}:2026-11-20"
#define RECORD "p:idem:{a}:k"
#define DAY_1 "20776"
#define DAY_2 "20777"
#define RETENTION_S "34560000"
#define RETENTION_MS 34560000000

/* 19 November: a has u1 and u2, b has u2. 20 November: a has u2, u3 and u4, b has none. */
static int two_days(void **state)
{
	script_stage_empty(state);
	run(&r, &uv_add_script, KEYS(A1), ARGS(DAY_1, "", RETENTION_S, "u1", "u2"));
	run(&r, &uv_add_script, KEYS(A2), ARGS(DAY_2, "", RETENTION_S, "u2", "u3", "u4"));
	run(&r, &uv_add_script, KEYS(B1), ARGS(DAY_1, "", RETENTION_S, "u2"));
	return 0;
}

/* Redis's day as text, `off` days away. Waits for midnight to pass when it is five seconds away. */
static const char *today(int off)
{
	static char text[32];

	wait_until(redis_now_ms(&r) % 86400000 < 86395000, 10000);
	snprintf(text, sizeof(text), "%lld", (long long)(redis_now_ms(&r) / 86400000 + off));
	return text;
}

static int64_t count_of(const char *key)
{
	return server_command(&r, "PFCOUNT %s", key)->integer;
}

static void adding_counts_each_visitor_once(void **state)
{
	(void)state;
	run(&r, &uv_add_script, KEYS(A1), ARGS(DAY_1, "", RETENTION_S, "u1", "u2"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, UV_ADD_IS_CHANGED), 1);
	assert_int_equal(item_int(&r, UV_ADD_DAY), 20776);
	assert_in_range(redis_pttl_ms(&r, A1), RETENTION_MS - 5000, RETENTION_MS);
	run(&r, &uv_add_script, KEYS(A1), ARGS(DAY_1, "", "1000", "u2", "u1"));
	assert_int_equal(item_int(&r, UV_ADD_IS_CHANGED), 0);
	assert_in_range(redis_pttl_ms(&r, A1), 995000, 1000000);
	assert_int_equal(count_of(A1), 2);
}

static void a_thousand_are_counted_at_once(void **state)
{
	(void)state;
	enum { VISITORS = 1000 };
	static char names[VISITORS][16];
	static const char *args[3 + VISITORS + 1] = { DAY_1, "", RETENTION_S };

	for (int i = 0; i < VISITORS; i++) {
		snprintf(names[i], sizeof(names[i]), "u%d", i);
		args[3 + i] = names[i];
	}
	run(&r, &uv_add_script, KEYS(A1), args);
	run(&r, &uv_get_script, KEYS(A1), ARGS("", "1"));
	assert_in_range(item_int(&r, UV_GET_COUNT), 1000 - 33, 1000 + 33); /* four times the standard error */
}

static void a_wrong_today_is_refused(void **state)
{
	(void)state;
	for (int off = -1; off <= 1; off += 2) {
		unchanged(&r, {
			run(&r, &uv_add_script, KEYS(A1), ARGS(today(off), today(off), RETENTION_S, "u"));
			assert_int_equal(outcome(&r), -1);
			run(&r, &uv_get_script, KEYS(A1), ARGS(today(off), "1"));
			assert_int_equal(outcome(&r), -1);
			run(&r, &uv_merge_script, KEYS(A1, B1), ARGS(today(off), "1", RETENTION_S, today(off)));
			assert_int_equal(outcome(&r), -1);
			run(&r, &pv_add_script, KEYS(PV1), ARGS(today(off), today(off), RETENTION_S, "1"));
			assert_int_equal(outcome(&r), -1);
			run(&r, &pv_get_script, KEYS(PV1), ARGS(today(off)));
			assert_int_equal(outcome(&r), -1);
			int64_t now_ms = item_int(&r, REPLY_NOW_MS);
			assert_in_range(redis_now_ms(&r), now_ms, now_ms + 5000);
		});
	}
}

static void the_right_today_is_taken(void **state)
{
	(void)state;
	run(&r, &uv_add_script, KEYS(A1), ARGS(today(0), today(0), RETENTION_S, "u"));
	assert_int_equal(outcome(&r), 1);
	int64_t day = item_int(&r, UV_ADD_DAY);
	assert_int_equal(day, strtoll(today(0), NULL, 10));
	run(&r, &uv_get_script, KEYS(A1), ARGS(today(0), "1"));
	assert_int_equal(item_int(&r, UV_GET_COUNT), 1);
	run(&r, &uv_merge_script, KEYS(B1, A1), ARGS(today(0), "1", RETENTION_S, today(0)));
	assert_int_equal(outcome(&r), 1);
	run(&r, &pv_add_script, KEYS(PV1), ARGS(today(0), today(0), RETENTION_S, "7"));
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 7);
	run(&r, &pv_get_script, KEYS(PV1), ARGS(today(0)));
	assert_int_equal(item_int(&r, PV_GET_COUNTS), 7);
}

static void a_refused_day_is_not_kept_for_a_replay(void **state)
{
	(void)state;
	run_with_record(&r, &pv_add_script, KEYS(PV1), ARGS(today(-1), today(-1), RETENTION_S, "1"), RECORD,
			FINGERPRINT_A);
	assert_int_equal(redis_exists(&r, RECORD), 0);
	run_with_record(&r, &pv_add_script, KEYS(PV2), ARGS(today(0), today(0), RETENTION_S, "1"), RECORD,
			FINGERPRINT_A);
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 1);
}

static void days_are_a_union_not_a_sum(void **state)
{
	(void)state;
	run(&r, &uv_get_script, KEYS(A1, A2), ARGS("", "1"));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(r.reply->elements, UV_GET_COUNTS + 2);
	assert_int_equal(item_int(&r, UV_GET_COUNT), 4);
	assert_int_equal(item_int(&r, UV_GET_COUNTS), 2);
	assert_int_equal(item_int(&r, 1 + UV_GET_COUNTS), 3);
	run(&r, &uv_get_script, KEYS("p:uv:{none}:2026-11-20"), ARGS("", "1"));
	assert_int_equal(item_int(&r, UV_GET_COUNT), 0);
	assert_int_equal(item_int(&r, UV_GET_COUNTS), 0);
	assert_int_equal(redis_exists(&r, "p:uv:{none}:2026-11-20"), 0);
}

static void pages_are_a_union_over_their_days(void **state)
{
	(void)state;
	run(&r, &uv_add_script, KEYS(B2), ARGS(DAY_2, "", RETENTION_S, "u5"));
	run(&r, &uv_get_script, KEYS(A1, A2, B1, B2, C1, C2), ARGS("", "2"));
	assert_int_equal(r.reply->elements, UV_GET_COUNTS + 3);
	assert_int_equal(item_int(&r, UV_GET_COUNT), 5);
	assert_int_equal(item_int(&r, UV_GET_COUNTS), 4);
	assert_int_equal(item_int(&r, 1 + UV_GET_COUNTS), 2);
	assert_int_equal(item_int(&r, 2 + UV_GET_COUNTS), 0);
}

static void four_hundred_sketches_are_one_call(void **state)
{
	(void)state;
	enum { SKETCHES = 400 };
	static char names[SKETCHES][40];
	static const char *keys[SKETCHES + 1];
	char visitor[16];

	for (int i = 0; i < SKETCHES; i++) {
		snprintf(names[i], sizeof(names[i]), "p:uv:{d}:%d", i);
		keys[i] = names[i];
		snprintf(visitor, sizeof(visitor), "u%d", i);
		run(&r, &uv_add_script, KEYS(keys[i]), ARGS("1", "", RETENTION_S, visitor, "always"));
	}
	run(&r, &uv_get_script, keys, ARGS("", "1"));
	assert_int_equal(r.reply->elements, UV_GET_COUNTS + SKETCHES);
	assert_in_range(item_int(&r, UV_GET_COUNT), 401 - 13, 401 + 13);
	assert_int_equal(item_int(&r, SKETCHES - 1 + UV_GET_COUNTS), 2);
	run(&r, &uv_merge_script, keys, ARGS("", "40", RETENTION_S, "1")); /* nine sources of forty days */
	assert_int_equal(item_int(&r, UV_MERGED_DAYS), 40);
	assert_int_equal(count_of(keys[0]), 11);
	assert_int_equal(count_of(keys[40]), 2);
}

static void merging_goes_day_by_day(void **state)
{
	(void)state;
	run(&r, &uv_add_script, KEYS(C1), ARGS(DAY_1, "", "1000", "u9"));
	run(&r, &uv_merge_script, KEYS(C1, C2, A1, A2, B1, B2), ARGS("", "2", RETENTION_S, DAY_1));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, UV_MERGED_DAYS), 2);
	assert_int_equal(item_int(&r, UV_MERGED_FIRST_DAY), 20776);
	assert_int_equal(item_int(&r, UV_MERGED_RANGE_DAYS), 2);
	assert_int_equal(count_of(C1), 3);
	assert_int_equal(count_of(C2), 3);
	assert_int_equal(count_of(A1), 2);
	assert_int_equal(count_of(B1), 1);
	assert_int_equal(redis_exists(&r, B2), 0);
	assert_in_range(redis_pttl_ms(&r, C1), RETENTION_MS - 5000, RETENTION_MS);
	assert_in_range(redis_pttl_ms(&r, C2), RETENTION_MS - 5000, RETENTION_MS);
}

static void days_without_visitors_are_left_alone(void **state)
{
	(void)state;
	run(&r, &uv_add_script, KEYS(C2), ARGS(DAY_2, "", "1000", "u9"));
	run(&r, &uv_merge_script, KEYS(C1, C2, B1, B2), ARGS("", "2", RETENTION_S, DAY_1));
	assert_int_equal(item_int(&r, UV_MERGED_DAYS), 1);
	assert_int_equal(count_of(C2), 1);
	assert_in_range(redis_pttl_ms(&r, C2), 995000, 1000000);
	unchanged(&r, {
		run_with_record(&r, &uv_merge_script, KEYS(C2, B2), ARGS("", "1", RETENTION_S, DAY_2), RECORD,
				FINGERPRINT_A);
		assert_int_equal(outcome(&r), 0);
		assert_int_equal(item_int(&r, UV_MERGED_DAYS), 0);
		assert_int_equal(item_int(&r, UV_MERGED_FIRST_DAY), 20777);
	});
}

static void views_add_up(void **state)
{
	(void)state;
	run(&r, &pv_add_script, KEYS(PV1), ARGS(DAY_1, "", RETENTION_S, "1"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 1);
	assert_int_equal(item_int(&r, PV_ADD_DAY), 20776);
	run(&r, &pv_add_script, KEYS(PV1), ARGS(DAY_1, "", "1000", "41"));
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 42);
	assert_in_range(redis_pttl_ms(&r, PV1), 995000, 1000000);
	run(&r, &pv_add_script, KEYS(PV2), ARGS(DAY_2, "", RETENTION_S, "17"));
	unchanged(&r, run(&r, &pv_get_script, KEYS(PV1, "p:pv:{a}:2026-01-01", PV2), ARGS("")));
	run(&r, &pv_get_script, KEYS(PV1, "p:pv:{a}:2026-01-01", PV2), ARGS(""));
	assert_int_equal(r.reply->elements, PV_GET_COUNTS + 3);
	assert_int_equal(item_int(&r, PV_GET_COUNTS), 42);
	assert_int_equal(item_int(&r, 1 + PV_GET_COUNTS), 0);
	assert_int_equal(item_int(&r, 2 + PV_GET_COUNTS), 17);
}

static void views_are_exact_to_the_end_and_stop_there(void **state)
{
	(void)state;
	server_command(&r, "SET " PV1 " 9007199254740990 EX 1000");
	run(&r, &pv_add_script, KEYS(PV1), ARGS(DAY_1, "", RETENTION_S, "1"));
	assert_int_equal(item_int(&r, PV_ADD_COUNT), INT64_C(9007199254740991));
	run(&r, &pv_get_script, KEYS(PV1), ARGS(""));
	assert_int_equal(item_int(&r, PV_GET_COUNTS), INT64_C(9007199254740991));
	unchanged(&r, {
		run_with_record(&r, &pv_add_script, KEYS(PV1), ARGS(DAY_1, "", RETENTION_S, "1"), RECORD,
				FINGERPRINT_A);
		assert_int_equal(outcome(&r), -2);
		assert_int_equal(item_int(&r, PV_ADD_COUNT), INT64_C(9007199254740991));
	});
	static const char *const foreign[] = { "9007199254740992", "9223372036854775807", "-1", "1.5", "x", "" };
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		server_command(&r, "SET " PV1 " %s EX 1000", foreign[i]);
		unchanged(&r, {
			run_with_record_fails(&r, &pv_add_script, KEYS(PV1), ARGS(DAY_1, "", RETENTION_S, "1"), RECORD,
					      FINGERPRINT_A, "WRONGTYPE");
			run_fails(&r, &pv_get_script, KEYS(PV1), ARGS(""), "WRONGTYPE");
		});
	}
}

static void a_step_of_a_delete_is_all_or_nothing(void **state)
{
	(void)state;
	unchanged(&r, {
		run(&r, &page_delete_script, KEYS(B2, C1), ARGS("^HYLL"));
		assert_int_equal(outcome(&r), 0);
	});
	run(&r, &page_delete_script, KEYS(A1, B2, A2), ARGS("^HYLL"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(redis_exists(&r, A1) + redis_exists(&r, A2), 0);
	assert_int_equal(count_of(B1), 1);
	server_command(&r, "SET " PV1 " 9007199254740991");
	server_command(&r, "SET " PV2 " 1x");
	unchanged(&r, {
		run_fails(&r, &page_delete_script, KEYS(PV1, B1), ARGS("^%d+$"), "WRONGTYPE");
		run_fails(&r, &page_delete_script, KEYS(PV1, PV2), ARGS("^%d+$"), "WRONGTYPE");
		run_fails(&r, &page_delete_script, KEYS(B1, PV1), ARGS("^HYLL"), "WRONGTYPE");
	});
	run(&r, &page_delete_script, KEYS(PV1), ARGS("^%d+$"));
	assert_int_equal(redis_exists(&r, PV1), 0);
}

static void replays_get_the_first_answer(void **state)
{
	(void)state;
	run_with_record(&r, &pv_add_script, KEYS(PV1), ARGS(DAY_1, "", RETENTION_S, "5"), RECORD "1", FINGERPRINT_A);
	run_with_record(&r, &uv_add_script, KEYS(A1), ARGS(DAY_1, "", RETENTION_S, "u9"), RECORD "2", FINGERPRINT_A);
	run_with_record(&r, &uv_merge_script, KEYS(C1, A1), ARGS("", "1", RETENTION_S, DAY_1), RECORD "3",
			FINGERPRINT_A);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS);
	wait_until(redis_now_ms(&r) > now_ms, 5000);
	unchanged(&r, {
		/*
		 * Another day and other words, as when midnight came between: the first day is
		 * answered.
		 */
		run_with_record(&r, &pv_add_script, KEYS(PV2), ARGS("1", "1", RETENTION_S, "5"), RECORD "1",
				FINGERPRINT_A);
		assert_int_equal(item_int(&r, PV_ADD_COUNT), 5);
		assert_int_equal(item_int(&r, PV_ADD_DAY), 20776);
		assert_true(item_int(&r, REPLY_NOW_MS) > now_ms);
		run_with_record(&r, &uv_add_script, KEYS(A2), ARGS("1", "1", RETENTION_S, "u9"), RECORD "2",
				FINGERPRINT_A);
		assert_int_equal(item_int(&r, UV_ADD_IS_CHANGED), 1);
		assert_int_equal(item_int(&r, UV_ADD_DAY), 20776);
		run_with_record(&r, &uv_merge_script, KEYS(C2, A2), ARGS("1", "1", RETENTION_S, "1"), RECORD "3",
				FINGERPRINT_A);
		assert_int_equal(item_int(&r, UV_MERGED_DAYS), 1);
		assert_int_equal(item_int(&r, UV_MERGED_FIRST_DAY), 20776);
		run_with_record_fails(&r, &pv_add_script, KEYS(PV1), ARGS(DAY_1, "", RETENTION_S, "6"), RECORD "1",
				      FINGERPRINT_B, "IDEMPOTENCY_KEY_REUSED");
	});
}

/* Each of the keys in turn is foreign; the others, and the record, stay as they are. */
static void foreign_keys_stay_as_they_are(void **state)
{
	static const char *const places[] = { C1, C2, A1, A2, B1, B2 };
	static const char *const plants[] = { "SET %s x", "RPUSH %s x" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) * 2; i++) {
		two_days(state);
		server_command(&r, "DEL %s", places[i / 2]);
		server_command(&r, plants[i % 2], places[i / 2]);
		unchanged(&r, {
			run_with_record_fails(&r, &uv_merge_script, KEYS(C1, C2, A1, A2, B1, B2),
					      ARGS("", "2", RETENTION_S, DAY_1), RECORD, FINGERPRINT_A, "WRONGTYPE");
			run_with_record_fails(&r, &uv_add_script, KEYS(places[i / 2]),
					      ARGS(DAY_1, "", RETENTION_S, "u1"), RECORD, FINGERPRINT_A, "WRONGTYPE");
			run_with_record_fails(&r, &pv_add_script, KEYS(places[i / 2]),
					      ARGS(DAY_1, "", RETENTION_S, "1"), RECORD, FINGERPRINT_A, "WRONGTYPE");
			run_fails(&r, &uv_get_script, KEYS(C1, C2, A1, A2, B1, B2), ARGS("", "2"), "WRONGTYPE");
			run_fails(&r, &pv_get_script, KEYS(PV1, places[i / 2]), ARGS(""), "WRONGTYPE");
		});
	}
}

static void a_full_redis_still_counts(void **state)
{
	(void)state;
	server_command(&r, "CONFIG SET maxmemory 1");
	run_fails(&r, &uv_add_script, KEYS(A1), ARGS(DAY_1, "", RETENTION_S, "u5"), "OOM");
	run(&r, &uv_get_script, KEYS(A1), ARGS("", "1"));
	assert_int_equal(item_int(&r, UV_GET_COUNT), 2);
	run(&r, &pv_get_script, KEYS(PV1), ARGS(""));
	assert_int_equal(item_int(&r, PV_GET_COUNTS), 0);
	server_command(&r, "CONFIG SET maxmemory 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(adding_counts_each_visitor_once, script_stage_empty),
		cmocka_unit_test_setup(a_thousand_are_counted_at_once, script_stage_empty),
		cmocka_unit_test_setup(a_wrong_today_is_refused, script_stage_empty),
		cmocka_unit_test_setup(the_right_today_is_taken, script_stage_empty),
		cmocka_unit_test_setup(a_refused_day_is_not_kept_for_a_replay, script_stage_empty),
		cmocka_unit_test_setup(days_are_a_union_not_a_sum, two_days),
		cmocka_unit_test_setup(pages_are_a_union_over_their_days, two_days),
		cmocka_unit_test_setup(four_hundred_sketches_are_one_call, script_stage_empty),
		cmocka_unit_test_setup(merging_goes_day_by_day, two_days),
		cmocka_unit_test_setup(days_without_visitors_are_left_alone, two_days),
		cmocka_unit_test_setup(views_add_up, script_stage_empty),
		cmocka_unit_test_setup(views_are_exact_to_the_end_and_stop_there, script_stage_empty),
		cmocka_unit_test_setup(a_step_of_a_delete_is_all_or_nothing, two_days),
		cmocka_unit_test_setup(replays_get_the_first_answer, two_days),
		cmocka_unit_test_setup(foreign_keys_stay_as_they_are, script_stage_empty),
		cmocka_unit_test_setup(a_full_redis_still_counts, two_days),
	};
	return cmocka_run_group_tests(tests, script_stage_open, script_stage_close);
}
