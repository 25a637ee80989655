/*
 * The visitor and view scripts on a real Redis: unions, merges, days, and whose clock defines
 * today.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define A "p:uv:{a}"
#define B "p:uv:{b}"
#define C "p:uv:{c}"
#define PV "p:pv:{a}"
#define A_TOTAL A ":total"
#define B_TOTAL B ":total"
#define C_TOTAL C ":total"
#define PV_TOTAL PV ":total"
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
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u1", "u2"));
	run(&r, &uv_add_script, KEYS(A, A2, A_TOTAL), ARGS(DAY_2, "", RETENTION_S, "u2", "u3", "u4"));
	run(&r, &uv_add_script, KEYS(B, B1, B_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u2"));
	return 0;
}

/*
 * The day by Redis's clock, `off` days later, as text. If midnight is less than 5 s away, waits for
 * it to pass.
 */
static const char *today(int off)
{
	static char text[32];

	wait_until(server_now_ms(&r) % 86400000 < 86395000, 10000);
	snprintf(text, sizeof(text), "%lld", (long long)(server_now_ms(&r) / 86400000 + off));
	return text;
}

static int64_t count_of(const char *key)
{
	return server_command(&r, "PFCOUNT %s", key)->integer;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(adding_counts_each_visitor_once)
{
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u1", "u2"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, UV_ADD_IS_CHANGED), 1);
	assert_int_equal(item_int(&r, UV_ADD_DAY), 20776);
	assert_in_range(redis_pttl_ms(&r, A1), RETENTION_MS - 5000, RETENTION_MS);
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", "1000", "u2", "u1"));
	assert_int_equal(item_int(&r, UV_ADD_IS_CHANGED), 0);
	assert_in_range(redis_pttl_ms(&r, A1), 995000, 1000000);
	assert_int_equal(count_of(A1), 2);
}

TEST(a_thousand_are_counted_at_once)
{
	enum { VISITORS = 1000 };
	static char names[VISITORS][16];
	static const char *args[3 + VISITORS + 1] = { DAY_1, "", RETENTION_S };

	for (int i = 0; i < VISITORS; i++) {
		snprintf(names[i], sizeof(names[i]), "u%d", i);
		args[3 + i] = names[i];
	}
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), args);
	run(&r, &uv_get_script, KEYS(A1), ARGS("", "1", ""));
	assert_in_range(item_int(&r, UV_GET_COUNT), 1000 - 33, 1000 + 33); /* four times the standard error */
}

TEST(a_wrong_today_is_refused)
{
	for (int off = -1; off <= 1; off += 2) {
		unchanged(&r, {
			run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(today(off), today(off), RETENTION_S, "u"));
			assert_int_equal(outcome(&r), -1);
			run(&r, &uv_get_script, KEYS(A1), ARGS(today(off), "1", ""));
			assert_int_equal(outcome(&r), -1);
			run(&r, &uv_merge_script, KEYS(A, A1, B1, A_TOTAL),
			    ARGS(today(off), "1", RETENTION_S, today(off)));
			assert_int_equal(outcome(&r), -1);
			run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL),
			    ARGS(today(off), today(off), RETENTION_S, "1"));
			assert_int_equal(outcome(&r), -1);
			run(&r, &pv_get_script, KEYS(PV1, PV_TOTAL), ARGS(today(off)));
			assert_int_equal(outcome(&r), -1);
			int64_t now_ms = item_int(&r, REPLY_NOW_MS);
			assert_in_range(server_now_ms(&r), now_ms, now_ms + 5000);
		});
	}
}

TEST(the_right_today_is_taken)
{
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(today(0), today(0), RETENTION_S, "u"));
	assert_int_equal(outcome(&r), 1);
	int64_t day = item_int(&r, UV_ADD_DAY);
	assert_int_equal(day, strtoll(today(0), NULL, 10));
	run(&r, &uv_get_script, KEYS(A1), ARGS(today(0), "1", ""));
	assert_int_equal(item_int(&r, UV_GET_COUNT), 1);
	run(&r, &uv_merge_script, KEYS(B, B1, A1, B_TOTAL), ARGS(today(0), "1", RETENTION_S, today(0)));
	assert_int_equal(outcome(&r), 1);
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(today(0), today(0), RETENTION_S, "7"));
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 7);
	run(&r, &pv_get_script, KEYS(PV1, PV_TOTAL), ARGS(today(0)));
	assert_int_equal(item_int(&r, PV_GET_COUNTS), 7);
}

TEST(a_refused_day_is_not_kept_for_a_replay)
{
	run_with_record(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(today(-1), today(-1), RETENTION_S, "1"),
			RECORD, FINGERPRINT_A);
	assert_int_equal(redis_exists(&r, RECORD), 0);
	run_with_record(&r, &pv_add_script, KEYS(PV, PV2, PV_TOTAL), ARGS(today(0), today(0), RETENTION_S, "1"), RECORD,
			FINGERPRINT_A);
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 1);
}

TEST(days_are_a_union_not_a_sum, .before = two_days)
{
	run(&r, &uv_get_script, KEYS(A1, A2), ARGS("", "1", ""));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(r.reply->elements, UV_GET_COUNTS + 2);
	assert_int_equal(item_int(&r, UV_GET_COUNT), 4);
	assert_int_equal(item_int(&r, UV_GET_COUNTS), 2);
	assert_int_equal(item_int(&r, 1 + UV_GET_COUNTS), 3);
	run(&r, &uv_get_script, KEYS("p:uv:{none}:2026-11-20"), ARGS("", "1", ""));
	assert_int_equal(item_int(&r, UV_GET_COUNT), 0);
	assert_int_equal(item_int(&r, UV_GET_COUNTS), 0);
	assert_int_equal(redis_exists(&r, "p:uv:{none}:2026-11-20"), 0);
}

TEST(pages_are_a_union_over_their_days, .before = two_days)
{
	run(&r, &uv_add_script, KEYS(B, B2, B_TOTAL), ARGS(DAY_2, "", RETENTION_S, "u5"));
	run(&r, &uv_get_script, KEYS(A1, A2, B1, B2, C1, C2), ARGS("", "2", ""));
	assert_int_equal(r.reply->elements, UV_GET_COUNTS + 3);
	assert_int_equal(item_int(&r, UV_GET_COUNT), 5);
	assert_int_equal(item_int(&r, UV_GET_COUNTS), 4);
	assert_int_equal(item_int(&r, 1 + UV_GET_COUNTS), 2);
	assert_int_equal(item_int(&r, 2 + UV_GET_COUNTS), 0);
}

TEST(four_hundred_sketches_are_one_call)
{
	enum { SKETCHES = 400 };
	static char names[SKETCHES][40];
	static const char *keys[1 + SKETCHES + 2] = { "p:uv:{d}" };
	char visitor[16];

	for (int i = 0; i < SKETCHES; i++) {
		snprintf(names[i], sizeof(names[i]), "p:uv:{d}:%d", i);
		keys[1 + i] = names[i];
		snprintf(visitor, sizeof(visitor), "u%d", i);
		run(&r, &uv_add_script, KEYS(keys[0], names[i], "p:uv:{d}:total"),
		    ARGS("1", "", RETENTION_S, visitor, "always"));
	}
	run(&r, &uv_get_script, keys + 1, ARGS("", "1", ""));
	assert_int_equal(r.reply->elements, UV_GET_COUNTS + SKETCHES);
	assert_in_range(item_int(&r, UV_GET_COUNT), 401 - 13, 401 + 13);
	assert_int_equal(item_int(&r, SKETCHES - 1 + UV_GET_COUNTS), 2);
	keys[1 + SKETCHES] = "p:uv:{d}:total";
	run(&r, &uv_merge_script, keys, ARGS("", "40", RETENTION_S, "1")); /* nine sources of forty days */
	assert_int_equal(item_int(&r, UV_MERGED_DAYS), 40);
	assert_int_equal(count_of(names[0]), 11);
	assert_int_equal(count_of(names[40]), 2);
}

TEST(merging_goes_day_by_day, .before = two_days)
{
	run(&r, &uv_add_script, KEYS(C, C1, C_TOTAL), ARGS(DAY_1, "", "1000", "u9"));
	run(&r, &uv_merge_script, KEYS(C, C1, C2, A1, A2, B1, B2, C_TOTAL), ARGS("", "2", RETENTION_S, DAY_1));
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

TEST(days_without_visitors_are_left_alone, .before = two_days)
{
	run(&r, &uv_add_script, KEYS(C, C2, C_TOTAL), ARGS(DAY_2, "", "1000", "u9"));
	run(&r, &uv_merge_script, KEYS(C, C1, C2, B1, B2, C_TOTAL), ARGS("", "2", RETENTION_S, DAY_1));
	assert_int_equal(item_int(&r, UV_MERGED_DAYS), 1);
	assert_int_equal(count_of(C2), 1);
	assert_in_range(redis_pttl_ms(&r, C2), 995000, 1000000);
	unchanged(&r, {
		run_with_record(&r, &uv_merge_script, KEYS(C, C2, B2, C_TOTAL), ARGS("", "1", RETENTION_S, DAY_2),
				RECORD, FINGERPRINT_A);
		assert_int_equal(outcome(&r), 0);
		assert_int_equal(item_int(&r, UV_MERGED_DAYS), 0);
		assert_int_equal(item_int(&r, UV_MERGED_FIRST_DAY), 20777);
	});
}

TEST(views_add_up)
{
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "1"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 1);
	assert_int_equal(item_int(&r, PV_ADD_DAY), 20776);
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", "1000", "41"));
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 42);
	assert_in_range(redis_pttl_ms(&r, PV1), 995000, 1000000);
	run(&r, &pv_add_script, KEYS(PV, PV2, PV_TOTAL), ARGS(DAY_2, "", RETENTION_S, "17"));
	unchanged(&r, run(&r, &pv_get_script, KEYS(PV1, "p:pv:{a}:2026-01-01", PV2, PV_TOTAL), ARGS("")));
	run(&r, &pv_get_script, KEYS(PV1, "p:pv:{a}:2026-01-01", PV2, PV_TOTAL), ARGS(""));
	assert_int_equal(r.reply->elements, PV_GET_COUNTS + 3);
	assert_int_equal(item_int(&r, PV_GET_COUNTS), 42);
	assert_int_equal(item_int(&r, 1 + PV_GET_COUNTS), 0);
	assert_int_equal(item_int(&r, 2 + PV_GET_COUNTS), 17);
}

TEST(views_are_exact_to_the_end_and_stop_there)
{
	server_command(&r, "SET " PV1 " 9007199254740990 EX 1000");
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "1"));
	assert_int_equal(item_int(&r, PV_ADD_COUNT), INT64_C(9007199254740991));
	run(&r, &pv_get_script, KEYS(PV1, PV_TOTAL), ARGS(""));
	assert_int_equal(item_int(&r, PV_GET_COUNTS), INT64_C(9007199254740991));
	unchanged(&r, {
		run_with_record(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "1"), RECORD,
				FINGERPRINT_A);
		assert_int_equal(outcome(&r), -2);
		assert_int_equal(item_int(&r, PV_ADD_COUNT), INT64_C(9007199254740991));
	});
	static const char *const foreign[] = { "9007199254740992", "9223372036854775807", "-1", "1.5", "x", "" };
	for (size_t i = 0; i < COUNT(foreign); i++) {
		server_command(&r, "SET " PV1 " %s EX 1000", foreign[i]);
		unchanged(&r, {
			run_with_record_fails(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL),
					      ARGS(DAY_1, "", RETENTION_S, "1"), RECORD, FINGERPRINT_A, "WRONGTYPE");
			run_fails(&r, &pv_get_script, KEYS(PV1, PV_TOTAL), ARGS(""), "WRONGTYPE");
		});
	}
}

TEST(a_step_of_a_delete_is_all_or_nothing, .before = two_days)
{
	unchanged(&r, {
		run(&r, &page_delete_script, KEYS(B2, C1), ARGS("^HYLL", "1"));
		assert_int_equal(outcome(&r), 0);
	});
	run(&r, &page_delete_script, KEYS(A1, B2, A2), ARGS("^HYLL", "1"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(redis_exists(&r, A1) + redis_exists(&r, A2), 0);
	assert_int_equal(count_of(B1), 1);
	server_command(&r, "SET " PV1 " 9007199254740991");
	server_command(&r, "SET " PV2 " 1x");
	unchanged(&r, {
		run_fails(&r, &page_delete_script, KEYS(PV1, B1), ARGS("^%d+$", "1"), "WRONGTYPE");
		run_fails(&r, &page_delete_script, KEYS(PV1, PV2), ARGS("^%d+$", "1"), "WRONGTYPE");
		run_fails(&r, &page_delete_script, KEYS(B1, PV1), ARGS("^HYLL", "1"), "WRONGTYPE");
	});
	run(&r, &page_delete_script, KEYS(PV1), ARGS("^%d+$", "1"));
	assert_int_equal(redis_exists(&r, PV1), 0);
}

/* ---- A page's first key, and its name in the index ---- */

#define INDEX "p:names:{}:uv"

static int64_t page_expires_ms(const char *page)
{
	return server_command(&r, "PEXPIRETIME %s", page)->integer;
}

/* The first key exists for as long as any day does, however the days are written. */
static void assert_outlives(const char *page, const char *day)
{
	assert_true(page_expires_ms(page) >= page_expires_ms(day));
	assert_true(page_expires_ms(page) <= page_expires_ms(day) + 2 * 86400000LL);
}

TEST(a_page_is_listed_as_long_as_a_day_exists)
{
	char day[32];

	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(today(0), "", "1000", "u1"));
	assert_outlives(A, A1);
	assert_int_equal(server_command(&r, "ZCARD " INDEX)->integer, 1);
	/* A repeated visitor extends the sketch of today. The first key has a day to spare. */
	const int64_t at_ms = page_expires_ms(A);
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(today(0), "", "1500", "u1"));
	assert_int_equal(page_expires_ms(A), at_ms);
	assert_outlives(A, A1);
	/* A past day is written again with a longer retention. The first key follows each time. */
	run(&r, &uv_add_script, KEYS(A, A2, A_TOTAL), ARGS(today(-9), "", "2000", "u1"));
	run(&r, &uv_add_script, KEYS(A, A2, A_TOTAL), ARGS(today(-9), "", "900000", "u1"));
	assert_outlives(A, A2);
	/* A shorter retention does not end the first key before the existing days. */
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(today(0), "", "10", "u2"));
	assert_outlives(A, A2);
	/* A write to a future day keeps the first key as if it had been written on that day. */
	snprintf(day, sizeof(day), "%s", today(7));
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(day, "", "1000", "1"));
	int64_t then_ms = server_now_ms(&r) + 7 * 86400000LL + 1000000;
	assert_in_range(page_expires_ms(PV), then_ms + 86400000LL - 5000, then_ms + 86400000LL);
	assert_int_equal(server_command(&r, "ZCARD p:names:{}:pv")->integer, 1);
}

TEST(views_make_the_page_once_a_day)
{
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(today(0), "", RETENTION_S, "1"));
	server_command(&r, "DEL " PV);
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(today(0), "", RETENTION_S, "1"));
	assert_int_equal(redis_exists(&r, PV), 0); /* a further view writes nothing for the list */
	run(&r, &pv_add_script, KEYS(PV, PV2, PV_TOTAL), ARGS(today(-1), "", RETENTION_S, "1"));
	assert_outlives(PV, PV2);
}

TEST(a_merge_makes_the_page, .before = two_days)
{
	run(&r, &uv_merge_script, KEYS(C, C1, "p:uv:{none}:2026-11-19", C_TOTAL), ARGS("", "1", RETENTION_S, DAY_1));
	assert_int_equal(redis_exists(&r, C), 0);
	run(&r, &uv_merge_script, KEYS(C, C1, A1, C_TOTAL), ARGS("", "1", RETENTION_S, today(0)));
	assert_outlives(C, C1);
	assert_string_equal(server_command(&r, "ZRANGE " INDEX " 2 2")->element[0]->str, "c");
}

TEST(a_delete_removes_the_page_first, .before = two_days)
{
	run(&r, &page_delete_script, KEYS(A, A1, B2), ARGS("^HYLL", "2"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(redis_exists(&r, A) + redis_exists(&r, A1), 0);
	/* A visitor between two steps makes the page again. The next step leaves it. */
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u1"));
	run(&r, &page_delete_script, KEYS(A2), ARGS("^HYLL", "1"));
	assert_int_equal(redis_exists(&r, A), 1);
	unchanged(&r, run_fails(&r, &page_delete_script, KEYS(A, A1), ARGS("^%d+$", "2"), "WRONGTYPE"));
}

TEST(a_foreign_first_key_refuses_nothing)
{
	server_command(&r, "RPUSH " A " x");
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u1"));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(server_command(&r, "LLEN " A)->integer, 1);
}

TEST(replays_get_the_first_answer, .before = two_days)
{
	run_with_record(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "5"), RECORD "1",
			FINGERPRINT_A);
	run_with_record(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u9"), RECORD "2",
			FINGERPRINT_A);
	run_with_record(&r, &uv_merge_script, KEYS(C, C1, A1, C_TOTAL), ARGS("", "1", RETENTION_S, DAY_1), RECORD "3",
			FINGERPRINT_A);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS);
	wait_until(server_now_ms(&r) > now_ms, 5000);
	unchanged(&r, {
		/*
		 * Another day and other arguments, as if midnight had passed. The replay returns
		 * the first day.
		 */
		run_with_record(&r, &pv_add_script, KEYS(PV, PV2, PV_TOTAL), ARGS("1", "1", RETENTION_S, "5"),
				RECORD "1", FINGERPRINT_A);
		assert_int_equal(item_int(&r, PV_ADD_COUNT), 5);
		assert_int_equal(item_int(&r, PV_ADD_DAY), 20776);
		assert_true(item_int(&r, REPLY_NOW_MS) > now_ms);
		run_with_record(&r, &uv_add_script, KEYS(A, A2, A_TOTAL), ARGS("1", "1", RETENTION_S, "u9"), RECORD "2",
				FINGERPRINT_A);
		assert_int_equal(item_int(&r, UV_ADD_IS_CHANGED), 1);
		assert_int_equal(item_int(&r, UV_ADD_DAY), 20776);
		run_with_record(&r, &uv_merge_script, KEYS(C, C2, A2, C_TOTAL), ARGS("1", "1", RETENTION_S, "1"),
				RECORD "3", FINGERPRINT_A);
		assert_int_equal(item_int(&r, UV_MERGED_DAYS), 1);
		assert_int_equal(item_int(&r, UV_MERGED_FIRST_DAY), 20776);
		run_with_record_fails(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "6"),
				      RECORD "1", FINGERPRINT_B, "IDEMPOTENCY_KEY_REUSED");
	});
}

/* Each key in turn is foreign. The others, and the record, do not change. */
TEST(foreign_keys_stay_as_they_are)
{
	static const char *const places[] = { C1, C2, A1, A2, B1, B2 };
	static const char *const plants[] = { "SET %s x", "RPUSH %s x" };

	for (size_t i = 0; i < COUNT(places) * 2; i++) {
		two_days(state);
		server_command(&r, "DEL %s", places[i / 2]);
		server_command(&r, plants[i % 2], places[i / 2]);
		unchanged(&r, {
			run_with_record_fails(&r, &uv_merge_script, KEYS(C, C1, C2, A1, A2, B1, B2, C_TOTAL),
					      ARGS("", "2", RETENTION_S, DAY_1), RECORD, FINGERPRINT_A, "WRONGTYPE");
			run_with_record_fails(&r, &uv_add_script, KEYS(A, places[i / 2], A_TOTAL),
					      ARGS(DAY_1, "", RETENTION_S, "u1"), RECORD, FINGERPRINT_A, "WRONGTYPE");
			run_with_record_fails(&r, &pv_add_script, KEYS(PV, places[i / 2], PV_TOTAL),
					      ARGS(DAY_1, "", RETENTION_S, "1"), RECORD, FINGERPRINT_A, "WRONGTYPE");
			run_fails(&r, &uv_get_script, KEYS(C1, C2, A1, A2, B1, B2), ARGS("", "2", ""), "WRONGTYPE");
			run_fails(&r, &pv_get_script, KEYS(PV1, places[i / 2], PV_TOTAL), ARGS(""), "WRONGTYPE");
		});
	}
}

/* ---- A total ---- */

static void patch(const char *page, const char *keep, const char *kind)
{
	char total[32];

	snprintf(total, sizeof(total), "%s:total", page);
	run(&r, &page_patch_script, KEYS(page, total), ARGS(keep, kind, RETENTION_S));
}

TEST(a_total_is_of_all_that_is_counted, .before = two_days)
{
	unchanged(&r, {
		patch(A, "", "uv");
		assert_int_equal(outcome(&r), 0);
		assert_int_equal(item_int(&r, PAGE_PATCH_TOTAL), -1);
		patch(A, "0", "uv");
	});
	patch(A, "1", "uv");
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(item_int(&r, PAGE_PATCH_TOTAL), 0);
	/* The total also counts a visitor that the day already has. */
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u1", "u9"));
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u1"));
	run(&r, &uv_get_script, KEYS(A1, A_TOTAL), ARGS("", "1", "1"));
	assert_int_equal(item_int(&r, UV_GET_TOTAL), 2);
	assert_int_equal(item_int(&r, UV_GET_COUNT), 3); /* u2 was there before */
	unchanged(&r, {
		patch(A, "1", "uv");
		assert_int_equal(item_int(&r, PAGE_PATCH_TOTAL), 2);
	});
	/* The total counts merged days, even days of the page itself. */
	run(&r, &uv_merge_script, KEYS(A, A1, A2, A1, A2, A_TOTAL), ARGS("", "2", RETENTION_S, DAY_1));
	assert_int_equal(count_of(A_TOTAL), 5); /* u1 u2 u3 u4 u9 */
	patch(C, "1", "uv");
	run(&r, &uv_merge_script, KEYS(C, C1, B1, C_TOTAL), ARGS("", "1", RETENTION_S, DAY_1));
	assert_int_equal(count_of(C_TOTAL), 1);
	/* The days expire, but the total does not, and the page stays in the list. */
	server_command(&r, "DEL " A1 " " A2);
	assert_int_equal(redis_pttl_ms(&r, A), -1);
	assert_int_equal(redis_pttl_ms(&r, A_TOTAL), -1);
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u1"));
	assert_int_equal(redis_pttl_ms(&r, A), -1);
	run(&r, &uv_get_script, KEYS(A1, A_TOTAL), ARGS("", "1", "1"));
	assert_int_equal(item_int(&r, UV_GET_TOTAL), 5);
	assert_int_equal(item_int(&r, UV_GET_COUNT), 1);
	/* Without the total, the page is listed as long as a day may exist. */
	patch(A, "0", "uv");
	assert_int_equal(item_int(&r, PAGE_PATCH_TOTAL), -1);
	assert_int_equal(redis_exists(&r, A_TOTAL), 0);
	assert_outlives(A, A1);
	run(&r, &uv_get_script, KEYS(A1, A_TOTAL), ARGS("", "1", "1"));
	assert_int_equal(item_int(&r, UV_GET_TOTAL), -1);
}

TEST(a_total_of_views_adds_up)
{
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "5"));
	patch(PV, "1", "pv");
	assert_int_equal(item_int(&r, PAGE_PATCH_TOTAL), 0);
	run(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "2"));
	run(&r, &pv_add_script, KEYS(PV, PV2, PV_TOTAL), ARGS(DAY_2, "", RETENTION_S, "3"));
	run(&r, &pv_get_script, KEYS(PV1, PV2, PV_TOTAL), ARGS(""));
	assert_int_equal(item_int(&r, PV_GET_TOTAL), 5);
	assert_int_equal(item_int(&r, PV_GET_COUNTS), 7);
	assert_int_equal(redis_pttl_ms(&r, PV), -1);
	assert_int_equal(redis_pttl_ms(&r, PV_TOTAL), -1);
	/* A view beyond the largest total is counted neither in the total nor in the day. */
	server_command(&r, "SET " PV_TOTAL " 9007199254740991");
	unchanged(&r, {
		run(&r, &pv_add_script, KEYS(PV, PV2, PV_TOTAL), ARGS(DAY_2, "", RETENTION_S, "1"));
		assert_int_equal(outcome(&r), -2);
		assert_int_equal(item_int(&r, PV_ADD_COUNT), INT64_C(9007199254740991));
	});
	patch(PV, "0", "pv");
	assert_int_equal(redis_exists(&r, PV_TOTAL), 0);
	run(&r, &pv_get_script, KEYS(PV1, PV_TOTAL), ARGS(""));
	assert_int_equal(item_int(&r, PV_GET_TOTAL), -1);
}

TEST(a_page_of_a_total_alone_is_listed)
{
	patch(A, "1", "uv");
	assert_int_equal(redis_pttl_ms(&r, A), -1);
	assert_int_equal(server_command(&r, "ZCARD " INDEX)->integer, 1);
	/* A counted day gives the page no expiry. */
	run(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(today(0), "", "1000", "u1"));
	assert_int_equal(redis_pttl_ms(&r, A), -1);
	run(&r, &page_delete_script, KEYS(A, A_TOTAL, A1), ARGS("^HYLL", "2"));
	assert_int_equal(server_keys(&r), 0);
}

TEST(a_foreign_total_changes_nothing)
{
	static const char *const plants[] = { "SET %s x", "RPUSH %s x" };

	for (size_t i = 0; i < 2; i++) {
		two_days(state);
		server_command(&r, plants[i], A_TOTAL);
		server_command(&r, plants[i], PV_TOTAL);
		unchanged(&r, {
			run_fails(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u9"),
				  "WRONGTYPE");
			run_fails(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(DAY_1, "", RETENTION_S, "1"),
				  "WRONGTYPE");
			run_fails(&r, &uv_merge_script, KEYS(A, A1, B1, A_TOTAL), ARGS("", "1", RETENTION_S, DAY_1),
				  "WRONGTYPE");
			run_fails(&r, &uv_get_script, KEYS(A1, A_TOTAL), ARGS("", "1", "1"), "WRONGTYPE");
			run_fails(&r, &pv_get_script, KEYS(PV1, PV_TOTAL), ARGS(""), "WRONGTYPE");
			run_fails(&r, &page_patch_script, KEYS(A, A_TOTAL), ARGS("0", "uv", RETENTION_S), "WRONGTYPE");
			run_fails(&r, &page_patch_script, KEYS(PV, PV_TOTAL), ARGS("1", "pv", RETENTION_S),
				  "WRONGTYPE");
			run_fails(&r, &page_delete_script, KEYS(A, A_TOTAL, A1), ARGS("^HYLL", "2"), "WRONGTYPE");
		});
	}
}

TEST(a_full_redis_still_counts, .before = two_days)
{
	server_command(&r, "CONFIG SET maxmemory 1");
	run_fails(&r, &uv_add_script, KEYS(A, A1, A_TOTAL), ARGS(DAY_1, "", RETENTION_S, "u5"), "OOM");
	run(&r, &uv_get_script, KEYS(A1), ARGS("", "1", ""));
	assert_int_equal(item_int(&r, UV_GET_COUNT), 2);
	run(&r, &pv_get_script, KEYS(PV1, PV_TOTAL), ARGS(""));
	assert_int_equal(item_int(&r, PV_GET_COUNTS), 0);
	server_command(&r, "CONFIG SET maxmemory 0");
}
