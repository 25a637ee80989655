/*
 * The visitor and view scripts on a real Redis: what one call bears, the steps of a deletion, and
 * how long a page's first key lives.
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

TEST(a_refused_day_is_not_kept_for_a_replay)
{
	run_with_record(&r, &pv_add_script, KEYS(PV, PV1, PV_TOTAL), ARGS(today(-1), today(-1), RETENTION_S, "1"),
			RECORD, FINGERPRINT_A);
	assert_int_equal(redis_exists(&r, RECORD), 0);
	run_with_record(&r, &pv_add_script, KEYS(PV, PV2, PV_TOTAL), ARGS(today(0), today(0), RETENTION_S, "1"), RECORD,
			FINGERPRINT_A);
	assert_int_equal(item_int(&r, PV_ADD_COUNT), 1);
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

/* ---- A total ---- */

static void patch(const char *page, const char *keep, const char *kind)
{
	char total[32];

	snprintf(total, sizeof(total), "%s:total", page);
	run(&r, &page_patch_script, KEYS(page, total), ARGS(keep, kind, RETENTION_S));
}

/* Only a change is an effect. */
TEST(a_patch_that_keeps_all_has_no_effect)
{
	static const char *const rows[][2] = { { "", "0" }, { "0", "0" }, { "1", "1" }, { "1", "0" }, { "0", "1" } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		patch(A, rows[i][0], "uv");
		assert_int_equal(outcome(&r), *rows[i][1] - '0');
	}
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
