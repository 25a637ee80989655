/*
 * The expiry of a Bloom filter on a real Redis: its hash and all its segments, including later
 * ones.
 */
#include "bloom_filter.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

/* All keys expire at that instant, but segments beyond eight expire later. -1: no key expires. */
static void all_expire_at(int segments, int64_t at)
{
	assert_int_equal(server_keys(&r), 1 + segments);
	assert_int_equal(server_command(&r, "PEXPIRETIME " FILTER)->integer, at);
	for (int i = 0; i < segments; i++)
		assert_int_equal(server_command(&r, "PEXPIRETIME " FILTER ":%d", i)->integer,
				 at < 0 ? at : at + i / 8 * 100);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* The filter has eleven segments, but the call names only ten of them. */
TEST(all_keys_expire_together)
{
	char added[1];

	assert_int_equal(filter_put("3000000", "0.000001"), BLOOM_PUT_CREATED);
	filter_add(16, 0, 1, added);
	unchanged(&r, {
		assert_int_equal(filter_patch(10, "60000"), BLOOM_PATCH_MORE_KEYS);
		assert_int_equal(item_int(&r, BLOOM_MORE_SEGMENTS), 11);
		assert_int_equal(filter_patch(11, ""), 0);
		assert_int_equal(item_int(&r, BLOOM_FILTER_EXPIRES_AT_MS), -1);
	});
	assert_int_equal(filter_patch(11, "60000"), 1);
	int64_t at = item_int(&r, BLOOM_FILTER_EXPIRES_AT_MS);
	assert_int_equal(at - item_int(&r, REPLY_NOW_MS), 60000);
	all_expire_at(11, at);
	run(&r, &bloom_get_script, KEYS(FILTER), ARGS());
	assert_int_equal(item_int(&r, BLOOM_FILTER_EXPIRES_AT_MS), at);
	assert_int_equal(filter_patch(11, ""), 0);
	assert_int_equal(item_int(&r, BLOOM_FILTER_EXPIRES_AT_MS), at);
	assert_int_equal(filter_patch(11, "null"), 1);
	assert_int_equal(item_int(&r, BLOOM_FILTER_EXPIRES_AT_MS), -1);
	all_expire_at(11, -1);
}

/* Segments of the first layer and of a later one are allocated after the expiry was set. */
TEST(later_segments_expire_with_the_filter)
{
	char added[20];

	run(&r, &bloom_put_script, filter_keys(1), ARGS("10", "0.01", "60000"));
	assert_int_equal(outcome(&r), BLOOM_PUT_CREATED);
	int64_t at = item_int(&r, BLOOM_FILTER_EXPIRES_AT_MS);
	assert_int_equal(at - item_int(&r, REPLY_NOW_MS), 60000);
	filter_add(17, 0, 5, added);
	all_expire_at(1, at);
	filter_add(17, 5, 20, added);
	all_expire_at(2, at);
}
