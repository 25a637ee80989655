/*
 * The cache scripts on a real Redis: compared with a plain model of one key, and over time.
 * Invalidations are repeated, fences outlive their value, and versions never repeat.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define VALUE "p:cache:{a}"
#define FENCE "p:cache:{a}:fence"
#define FILL "p:cache:{a}:fill"
#define AGAIN "p:cache:{a}:again"
#define WAITERS "p:cache:{a}:waiters"
#define RECORD "p:idem:{a}:k"

#define DAY_MS INT64_C(86400000)

static const char *of_int(int64_t n)
{
	static char texts[8][24];
	static unsigned next;
	char *text = texts[next++ % 8];

	snprintf(text, sizeof(texts[0]), "%lld", (long long)n);
	return text;
}

static int64_t put_with(const char *value, int64_t ttl_ms, const char *fence, const char *ticket, const char *if_match,
			const char *if_none_match)
{
	run(&r, &cache_put_script, KEYS(VALUE, FENCE, FILL, AGAIN, WAITERS),
	    ARGS(value, of_int(ttl_ms), "00c0ffee", fence, ticket, if_match, if_none_match));
	return outcome(&r);
}

static int64_t put(const char *value, int64_t ttl_ms)
{
	return put_with(value, ttl_ms, "", "", "", "");
}

static int64_t delete_with(const char *fence, const char *if_match, const char *if_none_match)
{
	run(&r, &cache_delete_script, KEYS(VALUE, FENCE, FILL, WAITERS), ARGS(fence, if_match, if_none_match));
	return outcome(&r);
}

static int64_t get_with(const char *if_match, const char *if_none_match)
{
	run(&r, &cache_get_script, KEYS(VALUE), ARGS(if_match, if_none_match));
	return outcome(&r);
}

static int64_t fill(const char *ticket, int64_t fill_ms)
{
	run(&r, &cache_fill_script, KEYS(VALUE, FILL, AGAIN), ARGS(ticket, of_int(fill_ms)));
	return outcome(&r);
}

/* Returns when the invalidation is repeated. */
static int64_t invalidate(int64_t again_after_ms)
{
	run(&r, &cache_invalidate_script, KEYS(VALUE, FILL, AGAIN, WAITERS), ARGS(of_int(again_after_ms)));
	assert_int_equal(outcome(&r), 1);
	return item_int(&r, CACHE_INVALIDATE_AGAIN_AT_MS);
}

/* ---- A model of one key, as long as no time passes that matters ---- */

enum { TEXT_BYTES = 64 };

static struct {
	bool exists;
	char value[TEXT_BYTES], version[TEXT_BYTES], former[TEXT_BYTES];
	char ticket[TEXT_BYTES]; /* empty: there is no ticket */
	char last_ticket[TEXT_BYTES];
	int64_t highest; /* -1: none */
	int64_t ends_ms; /* the instant of the next repetition; 0: none */
	int64_t late_ms; /* by how much sharing that instant may delay a repetition */
} model;

/* A condition: none, any version, the current one, an earlier one, or a list of both and others. */
static const char *some_condition(void)
{
	static char text[4 * TEXT_BYTES];

	switch (rand() % 10) {
	case 0:
		return "*";
	case 1:
		snprintf(text, sizeof(text), " %s ", model.version);
		return text;
	case 2:
		snprintf(text, sizeof(text), " x  %s  y ", model.version);
		return text;
	case 3:
		snprintf(text, sizeof(text), " %s0  %.5s ", model.version, model.version);
		return text;
	case 4:
		snprintf(text, sizeof(text), " %s ", model.former);
		return text;
	case 5:
		return " ";
	default:
		return "";
	}
}

static bool is_listed(const char *condition)
{
	char wanted[TEXT_BYTES + 2];

	snprintf(wanted, sizeof(wanted), " %s ", model.version);
	return model.exists && (strcmp(condition, "*") == 0 || strstr(condition, wanted));
}

static bool conditions_hold(const char *if_match, const char *if_none_match)
{
	return (!*if_match || is_listed(if_match)) && !is_listed(if_none_match);
}

static void model_value_gone(void)
{
	model.exists = false;
	model.ticket[0] = '\0';
}

/* After a condition that did not hold, item `at` of the reply is the version. */
static void expect_version(size_t at)
{
	assert_string_equal(item_text(&r, at), model.exists ? model.version : "");
}

/* The value ends at the next repeated invalidation if that comes first. */
static void expect_end(int64_t ends_ms, int64_t life_ms)
{
	int64_t free_ms = item_int(&r, REPLY_NOW_MS) + life_ms;

	if (!model.ends_ms || free_ms < model.ends_ms)
		assert_int_equal(ends_ms, free_ms);
	else
		assert_in_range(ends_ms, model.ends_ms, model.ends_ms + model.late_ms);
}

static void model_put(int64_t number)
{
	int64_t fence = rand() % 3 ? -1 : rand() % 50, ttl_ms = 1000000 + rand() % 1000000;
	const char *ticket = rand() % 3 ? "" : rand() % 4 ? model.last_ticket : "another";
	char if_match[4 * TEXT_BYTES], if_none_match[4 * TEXT_BYTES], value[TEXT_BYTES];

	strcpy(if_match, some_condition());
	strcpy(if_none_match, some_condition());
	snprintf(value, sizeof(value), "{\"n\":%lld}", (long long)number);
	int64_t got = put_with(value, ttl_ms, fence < 0 ? "" : of_int(fence), ticket, if_match, if_none_match);
	if (fence >= 0 && fence < model.highest) {
		assert_int_equal(got, CACHE_PUT_STALE_FENCE);
		assert_int_equal(item_int(&r, CACHE_PUT_HIGHEST), model.highest);
		return;
	}
	if (*ticket && strcmp(ticket, model.ticket) != 0) {
		assert_int_equal(got, CACHE_PUT_STALE_TICKET);
		return;
	}
	if (!conditions_hold(if_match, if_none_match)) {
		assert_int_equal(got, CACHE_PUT_PRECONDITION_FAILED);
		expect_version(CACHE_PUT_VERSION);
		return;
	}
	assert_int_equal(got, model.exists ? 2 : 1);
	expect_end(item_int(&r, CACHE_ENTRY_EXPIRES_AT_MS), ttl_ms);
	strcpy(model.former, model.version);
	snprintf(model.version, sizeof(model.version), "%s", item_text(&r, CACHE_ENTRY_VERSION));
	assert_string_not_equal(model.version, model.former);
	strcpy(model.value, value);
	model_value_gone();
	model.exists = true;
	if (fence >= 0)
		model.highest = fence;
	assert_int_equal(redis_exists(&r, FENCE), model.highest >= 0);
}

static void model_delete(void)
{
	int64_t fence = rand() % 3 ? -1 : rand() % 50;
	char if_match[4 * TEXT_BYTES], if_none_match[4 * TEXT_BYTES];

	strcpy(if_match, some_condition());
	strcpy(if_none_match, some_condition());
	int64_t got = delete_with(fence < 0 ? "" : of_int(fence), if_match, if_none_match);
	if (fence >= 0 && fence < model.highest) {
		assert_int_equal(got, CACHE_DELETE_STALE_FENCE);
		assert_int_equal(item_int(&r, CACHE_DELETE_HIGHEST), model.highest);
	} else if (!model.exists && !*model.ticket) {
		assert_int_equal(got, 0);
	} else if (!conditions_hold(if_match, if_none_match)) {
		assert_int_equal(got, CACHE_DELETE_PRECONDITION_FAILED);
		expect_version(CACHE_DELETE_VERSION);
	} else {
		assert_int_equal(got, 1);
		model_value_gone();
		if (fence >= 0)
			model.highest = fence;
	}
}

static void model_get(void)
{
	char if_match[4 * TEXT_BYTES], if_none_match[4 * TEXT_BYTES];

	strcpy(if_match, some_condition());
	strcpy(if_none_match, some_condition());
	run(&r, &cache_item_get_script, KEYS(VALUE), ARGS("")); /* the names that GET /cache lists */
	assert_int_equal(outcome(&r), model.exists ? 0 : CACHE_ITEM_GET_ABSENT);
	if (model.exists)
		assert_string_equal(item_text(&r, CACHE_ENTRY_VERSION), model.version);
	int64_t got = get_with(if_match, if_none_match);
	if (!model.exists) {
		assert_int_equal(got, CACHE_GET_ABSENT);
		return;
	}
	if (*if_match && !is_listed(if_match)) {
		assert_int_equal(got, CACHE_GET_PRECONDITION_FAILED);
		expect_version(CACHE_GET_VERSION);
		return;
	}
	assert_int_equal(got, is_listed(if_none_match) ? CACHE_GET_NOT_MODIFIED : 0);
	assert_string_equal(item_text(&r, CACHE_ENTRY_VERSION), model.version);
	if (got == 0)
		assert_string_equal(item_text(&r, CACHED_VALUE), model.value);
}

static void model_fill(int64_t number)
{
	char ticket[TEXT_BYTES];

	snprintf(ticket, sizeof(ticket), "ticket%lld", (long long)number);
	int64_t got = fill(ticket, 3600000);
	if (model.exists) {
		assert_int_equal(got, 0);
		assert_string_equal(item_text(&r, CACHED_VALUE), model.value);
	} else if (*model.ticket) {
		assert_int_equal(got, CACHE_FILL_IN_PROGRESS);
		assert_true(item_int(&r, CACHE_FILL_RETRY_AT_MS) > item_int(&r, REPLY_NOW_MS));
	} else {
		assert_int_equal(got, 1);
		assert_string_equal(item_text(&r, CACHE_FILL_TICKET), ticket);
		expect_end(item_int(&r, CACHE_FILL_EXPIRES_AT_MS), 3600000);
		strcpy(model.ticket, ticket);
		strcpy(model.last_ticket, ticket);
	}
}

static void model_invalidate(void)
{
	int64_t after_ms = 500000 + rand() % 2000000, at_ms = invalidate(after_ms),
		wanted_ms = item_int(&r, REPLY_NOW_MS) + after_ms;

	assert_in_range(at_ms, wanted_ms, wanted_ms + after_ms / 32);
	assert_int_equal(item_int(&r, CACHE_INVALIDATE_DELETED), model.exists);
	model_value_gone();
	if (!model.ends_ms || wanted_ms < model.ends_ms) {
		model.ends_ms = wanted_ms;
		model.late_ms = after_ms / 32;
	}
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(a_key_does_as_its_model)
{
	unsigned seed = (unsigned)monotonic_us();

	print_message("seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 20; round++) {
		script_stage_empty(NULL);
		memset(&model, 0, sizeof(model));
		model.highest = -1;
		for (int i = 0; i < 400; i++) {
			switch (rand() % 12) {
			case 0:
				model_delete();
				break;
			case 1:
			case 2:
			case 3:
				model_fill(i);
				break;
			case 4:
			case 5:
				model_get();
				break;
			case 6:
				if (round % 2 && rand() % 4 == 0)
					model_invalidate();
				break;
			default:
				model_put(i);
			}
		}
	}
}

/* ---- Effects of time ---- */

SUITE(.name = "by clock", .open = script_stage_open_by_clock, .close = script_stage_close,
      .before = script_stage_empty);

TEST(an_invalidation_is_repeated_by_redis_itself)
{
	put("1", 60000);
	int64_t first_ms = invalidate(300), second_ms = invalidate(1500);
	assert_int_equal(redis_exists(&r, VALUE), 0);
	assert_int_equal(put("2", 60000), 1);
	assert_int_equal(item_int(&r, CACHE_ENTRY_EXPIRES_AT_MS), first_ms);
	*script_clock_us = first_ms * 1000 - 1;
	assert_int_equal(redis_exists(&r, VALUE), 1);
	*script_clock_us += 1001;
	assert_int_equal(redis_exists(&r, VALUE), 0); /* no script ran since */
	assert_int_equal(put("3", 60000), 1);
	assert_int_equal(item_int(&r, CACHE_ENTRY_EXPIRES_AT_MS), second_ms);
	assert_int_equal(put("4", 1), 2); /* a shorter expiry stays unchanged */
	assert_int_equal(item_int(&r, CACHE_ENTRY_EXPIRES_AT_MS), 1 + item_int(&r, REPLY_NOW_MS));
	*script_clock_us = (second_ms + 1) * 1000;
	assert_int_equal(redis_exists(&r, AGAIN), 0);
	put("5", 60000);
	assert_int_equal(item_int(&r, CACHE_ENTRY_EXPIRES_AT_MS), 60000 + item_int(&r, REPLY_NOW_MS));
}

TEST(a_ticket_ends_with_the_repeated_invalidation)
{
	int64_t at_ms = invalidate(400);
	assert_int_equal(fill("t", 60000), 1);
	assert_int_equal(item_int(&r, CACHE_FILL_EXPIRES_AT_MS), at_ms);
	*script_clock_us = (at_ms + 1) * 1000;
	assert_int_equal(put_with("1", 60000, "", "t", "", ""), CACHE_PUT_STALE_TICKET);
	assert_int_equal(fill("u", 60000), 1);
	assert_int_equal(item_int(&r, CACHE_FILL_EXPIRES_AT_MS), 60000 + item_int(&r, REPLY_NOW_MS));
	assert_int_equal(put_with("1", 60000, "", "u", "", ""), 1);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* A PUT in the millisecond of the second deletion counts as later than it. */
TEST(the_instant_itself_has_ended)
{
	for (int i = 0; i < 20; i++) {
		int64_t at_ms = invalidate(3), now_ms;
		do {
			put("1", 60000);
			now_ms = item_int(&r, REPLY_NOW_MS);
			assert_int_equal(item_int(&r, CACHE_ENTRY_EXPIRES_AT_MS),
					 now_ms < at_ms ? at_ms : now_ms + 60000);
		} while (now_ms <= at_ms);
	}
}

static int64_t last_instant_ms(void)
{
	return strtoll(server_command(&r, "ZRANGE " AGAIN " -1 -1 WITHSCORES")->element[1]->str, NULL, 10);
}

/*
 * A key has few instants of repetition, however often it is invalidated. An instant that several
 * share is slightly late, never early.
 */
TEST(repeated_invalidations_are_few)
{
	for (int i = 0; i < 3000; i++) {
		int64_t at_ms = invalidate(100000 + i), wanted_ms = item_int(&r, REPLY_NOW_MS) + 100000 + i;
		assert_in_range(at_ms, wanted_ms, wanted_ms + 100000 / 32);
	}
	for (int64_t i = 0, last_ms = 0; i < 300; i++) {
		int64_t at_ms = invalidate(130000 - 20 * i);
		assert_true(last_instant_ms() >= last_ms);
		last_ms = at_ms > last_ms ? at_ms : last_ms;
	}
	assert_in_range(server_command(&r, "ZCARD " AGAIN)->integer, 1, 65);
	srand(7);
	for (int i = 0; i < 6000; i++)
		invalidate(1 + rand() % (INT64_C(1) << (1 + rand() % 26)) % DAY_MS);
	assert_in_range(server_command(&r, "ZCARD " AGAIN)->integer, 1, 1430);
	wait_until(server_command(&r, "ZCOUNT " AGAIN " -inf %s", of_int(server_now_ms(&r)))->integer > 0, 5000);
	int64_t last_ms = invalidate(DAY_MS);
	assert_int_equal(server_command(&r, "ZCOUNT " AGAIN " -inf %s", of_int(item_int(&r, REPLY_NOW_MS)))->integer,
			 0);
	invalidate(10);
	assert_in_range(server_now_ms(&r) + redis_pttl_ms(&r, AGAIN), last_ms - 5, last_ms + 5);
}

TEST(a_fence_outlives_its_value_by_a_day)
{
	put_with("1", 60000, "5", "", "", "");
	assert_in_range(redis_pttl_ms(&r, FENCE), DAY_MS + 55000, DAY_MS + 60000);
	put("2", 5000); /* the fence does not expire earlier */
	assert_in_range(redis_pttl_ms(&r, FENCE), DAY_MS + 50000, DAY_MS + 60000);
	put("3", 90000); /* a PUT without a fence does not end it earlier either */
	assert_in_range(redis_pttl_ms(&r, FENCE), DAY_MS + 85000, DAY_MS + 90000);
	assert_string_equal(server_command(&r, "GET " FENCE)->str, "5");
	assert_int_equal(delete_with("7", "", ""), 1);
	assert_in_range(redis_pttl_ms(&r, FENCE), DAY_MS + 85000, DAY_MS + 90000);
	assert_int_equal(put_with("4", 1000, "6", "", "", ""), CACHE_PUT_STALE_FENCE);
	assert_int_equal(item_int(&r, CACHE_PUT_HIGHEST), 7);
	unchanged(&r, assert_int_equal(delete_with("6", "", ""), CACHE_DELETE_STALE_FENCE));
	unchanged(&r, assert_int_equal(delete_with("8", "", ""), 0));
	assert_int_equal(put_with("4", 1000, "9007199254740991", "", "", ""), 1);
	assert_int_equal(put_with("4", 1000, "9007199254740990", "", "", ""), CACHE_PUT_STALE_FENCE);
	assert_int_equal(item_int(&r, CACHE_PUT_HIGHEST), INT64_C(9007199254740991));
	assert_string_equal(server_command(&r, "GET " FENCE)->str, "9007199254740991");
}

/* The random digits are the same each time, so that only the time differs. */
TEST(no_version_comes_again)
{
	char former[TEXT_BYTES] = "";

	for (int i = 0; i < 2000; i++) {
		assert_int_equal(put("1", 60000), i % 2 ? 2 : 1);
		assert_true(strcmp(item_text(&r, CACHE_ENTRY_VERSION), former) > 0);
		snprintf(former, sizeof(former), "%s", item_text(&r, CACHE_ENTRY_VERSION));
		assert_string_equal(former + strlen(former) - 9, "-00c0ffee");
		if (i % 2)
			delete_with("", "", "");
	}
}

/* ---- No memory ---- */

static void all_fail(const char *part)
{
	unchanged(&r, run_fails(&r, &cache_put_script, KEYS(VALUE, FENCE, FILL, AGAIN, WAITERS),
				ARGS("1", "60000", "00c0ffee", "1", "", "", ""), part));
	unchanged(&r, run_with_record_fails(&r, &cache_fill_script, KEYS(VALUE, FILL, AGAIN), ARGS("t", "5000"), RECORD,
					    FINGERPRINT_A, part));
}

/* An old value must go even when Redis has no memory for a new one. */
TEST(a_full_redis_stores_nothing_and_still_forgets)
{
	put("1", 60000);
	server_command(&r, "CONFIG SET maxmemory 1");
	all_fail("OOM");
	assert_int_equal(get_with("", ""), 0);
	invalidate(5000);
	assert_int_equal(get_with("", ""), CACHE_GET_ABSENT);
	server_command(&r, "CONFIG SET maxmemory 0");
	put("1", 60000);
	server_command(&r, "CONFIG SET maxmemory 1");
	assert_int_equal(delete_with("5", "", ""), 1);
}
