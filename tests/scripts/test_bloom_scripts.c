/*
 * The Bloom filter scripts on a real Redis: bit for bit as the model does (bloom_model.h), the
 * promised error rate, segments, the bounds of a call, and lost segments.
 */
#include "bloom_filter.h"
#include "bloom_model.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

enum { SEGMENT_BYTES = 1048576, BITS_A_CALL = 160 };

#define LAYERS(count) (BLOOM_FILTER_LAYERS + BLOOM_LAYER_ITEMS * (count))
#define LAYER(number, item) (LAYERS((number)-1) + BLOOM_LAYER_##item)

static void layer_is(size_t number, int64_t bits, int64_t hash_count, int64_t capacity, int64_t items)
{
	assert_int_equal(item_int(&r, LAYER(number, BITS)), bits);
	assert_int_equal(item_int(&r, LAYER(number, HASHES)), hash_count);
	assert_int_equal(item_int(&r, LAYER(number, CAPACITY)), capacity);
	assert_int_equal(item_int(&r, LAYER(number, SIZE)), items);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* ---- Against the model ---- */

/* The bits in Redis equal the model's, layer by layer. `segment` counts through all layers. */
static void bits_are_the_models(const struct bloom_model *m)
{
	int segment = 0;

	run(&r, &bloom_get_script, KEYS(FILTER), ARGS());
	assert_int_equal(r.reply->elements, LAYERS(m->layer_count));
	for (size_t i = 0; i < m->layer_count; i++) {
		const struct bloom_layer *l = &m->layers[i];
		layer_is(i + 1, (int64_t)l->bits, l->hashes, (int64_t)l->capacity, (int64_t)l->items);
		assert_int_equal(item_int(&r, LAYER(i + 1, SET_BITS)), l->set);
	}
	for (size_t i = 0; i < m->layer_count; i++) {
		const struct bloom_layer *l = &m->layers[i];
		size_t bytes = (l->bits + 7) / 8;
		for (size_t at = 0; at < bytes; at += SEGMENT_BYTES) {
			size_t n = bytes - at < SEGMENT_BYTES ? bytes - at : SEGMENT_BYTES;
			redisReply *got = server_command(&r, "GET " FILTER ":%d", segment++);
			assert_int_equal(got->len, n);
			assert_memory_equal(got->str, l->bytes + at, n);
		}
	}
}

/*
 * Adds 1000 different items and 300 repeated ones to a filter for 60, which then has five layers.
 */
TEST(adding_is_what_the_model_does)
{
	struct bloom_model m = { .capacity = 60, .error_rate = 0.1 };
	char added[1300], hash[BLOOM_HASH + 1];

	assert_int_equal(filter_put("60", "0.1"), BLOOM_PUT_CREATED);
	filter_add(1, 0, 1000, added);
	filter_add(1, 200, 500, added + 1000);
	for (int i = 0; i < 1300; i++) {
		bloom_hash(1, (uint64_t)(i < 1000 ? i : i - 800), hash);
		assert_int_equal(added[i] == '1', bloom_model_add(&m, hash));
		assert_true(i < 1000 || added[i] == '0');
	}
	assert_int_equal(m.layer_count, 5);
	bits_are_the_models(&m);
	assert_int_equal(filter_found(1, 0, 1000), 1000);
	int wrong = 0;
	for (int i = 0; i < 2000; i++) {
		bloom_hash(2, (uint64_t)i, hash);
		wrong += bloom_model_has(&m, hash);
	}
	assert_true(wrong > 0);
	unchanged(&r, assert_int_equal(filter_found(2, 0, 2000), wrong));
	bloom_model_free(&m);
}

/* 30.2 million bits are four segments, the last one shorter. */
TEST(a_layer_may_have_several_segments)
{
	struct bloom_model m = { .capacity = 1000000, .error_rate = 0.000001 };
	char added[200], hash[BLOOM_HASH + 1];
	int again = 0;

	assert_int_equal(filter_put("1000000", "0.000001"), BLOOM_PUT_CREATED);
	for (int given = 0; given < 4; given++) {
		unchanged(&r, run(&r, &bloom_item_add_script, filter_keys(given), filter_hashes(3, 0, 1, "0")));
		run(&r, &bloom_item_add_script, filter_keys(given), filter_hashes(3, 0, 1, "0"));
		assert_int_equal(outcome(&r), BLOOM_ITEM_ADD_MORE_KEYS);
		assert_int_equal(item_int(&r, BLOOM_MORE_SEGMENTS), 4);
	}
	do {
		run(&r, &bloom_item_add_script, filter_keys(4), filter_hashes(3, 0, 1, "0"));
		assert_int_equal(server_keys(&r), 1 + (again < 4 ? again + 1 : 4));
		run(&r, &bloom_get_script, KEYS(FILTER), ARGS());
		again++;
	} while (item_int(&r, LAYER(1, SIZE)) == 0);
	assert_int_equal(again, 5); /* each call allocates one segment, and the last one adds the item */
	filter_add(3, 1, 200, added + 1);
	for (int i = 0; i < 200; i++) {
		bloom_hash(3, (uint64_t)i, hash);
		assert_true(bloom_model_add(&m, hash));
	}
	bits_are_the_models(&m);
	assert_int_equal(filter_found(3, 0, 200), 200);
	assert_int_equal(filter_found(4, 0, 200), 0);
	run(&r, &bloom_item_lookup_script, filter_keys(3), filter_hashes(3, 0, 1, NULL));
	assert_int_equal(outcome(&r), BLOOM_ITEM_LOOKUP_MORE_KEYS);
	assert_int_equal(item_int(&r, BLOOM_MORE_SEGMENTS), 4);
	bloom_model_free(&m);
}

/* ---- The promise ---- */

/*
 * Counts false positives among items that were never added, at capacity and at four times the
 * capacity.
 */
TEST(the_error_rate_is_kept)
{
	enum { CAPACITY = 5000, ASKED = 40000 };
	static char added[4 * CAPACITY];

	assert_int_equal(filter_put("5000", "0.01"), BLOOM_PUT_CREATED);
	filter_add(5, 0, CAPACITY, added);
	double at_capacity = (double)filter_found(6, 0, ASKED) / ASKED;
	filter_add(5, CAPACITY, 4 * CAPACITY, added);
	double at_four_times = (double)filter_found(6, 0, ASKED) / ASKED;
	print_message("promised 0.01, measured %.5f at capacity, %.5f at four times that\n", at_capacity,
		      at_four_times);
	assert_true(at_capacity > 0.001 && at_capacity <= 0.012);
	assert_true(at_four_times > at_capacity && at_four_times <= 0.012);
	assert_int_equal(filter_found(5, 0, 4 * CAPACITY), 4 * CAPACITY);
}

/*
 * The rate of false positives of the model. It equals the script bit for bit, and can test many
 * more items.
 */
static double measured(bool is_double, uint64_t capacity, uint64_t items, double error_rate, uint64_t asked)
{
	struct bloom_model m = { .capacity = capacity, .error_rate = error_rate, .is_double = is_double };
	char hash[BLOOM_HASH + 1];
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < items; i++) {
		bloom_hash(7, i, hash);
		bloom_model_add(&m, hash);
	}
	for (uint64_t i = 0; i < asked; i++) {
		bloom_hash(8, i, hash);
		wrong += bloom_model_has(&m, hash);
	}
	bloom_model_free(&m);
	return (double)wrong / (double)asked;
}

/*
 * Small filters with small rates are where plain double hashing fails. The test also shows that the
 * additional terms are needed.
 */
TEST(small_filters_keep_it_too)
{
	static const struct {
		uint64_t capacity;
		double error_rate;
		uint64_t asked;
	} rows[] = {
		{ 1, 0.01, 100000 },    { 1, 0.001, 200000 },    { 10, 0.01, 100000 },    { 100, 0.01, 100000 },
		{ 100, 0.001, 200000 }, { 100, 0.0001, 300000 }, { 50, 0.00002, 500000 },
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		double rate = rows[i].error_rate;
		double at_capacity = measured(false, rows[i].capacity, rows[i].capacity, rate, rows[i].asked);
		double later = measured(false, rows[i].capacity, 4 * rows[i].capacity, rate, rows[i].asked);
		if (at_capacity > 1.2 * rate || later > 1.2 * rate)
			fail_msg("for %d items %.6f was promised, %.6f and %.6f measured", (int)rows[i].capacity, rate,
				 at_capacity, later);
	}
	assert_true(measured(true, 50, 50, 0.00002, 200000) > 10 * 0.00002);
}

/* ---- Bounds of a call ---- */

static long long bits_asked(void)
{
	const char *info = server_command(&r, "INFO commandstats")->str;
	static const char *const names[] = { "cmdstat_getbit:calls=", "cmdstat_setbit:calls=" };
	long long sum = 0;

	for (int i = 0; i < 2; i++) {
		const char *at = strstr(info, names[i]);
		sum += at ? atoll(at + strlen(names[i])) : 0;
	}
	return sum;
}

TEST(a_call_ends_when_it_has_asked_for_enough)
{
	char added[FILTER_AT_ONCE];

	assert_int_equal(filter_put("1000", "0.000001"), BLOOM_PUT_CREATED); /* an item has 21 hashes */
	filter_add(9, 0, 1, added);
	server_command(&r, "CONFIG RESETSTAT");
	run(&r, &bloom_item_add_script, filter_keys(FILTER_SEGMENTS), filter_hashes(9, 1, FILTER_AT_ONCE, "0"));
	assert_int_equal(strlen(item_text(&r, BLOOM_STEP_DIGITS)), (BITS_A_CALL + 20) / 21);
	assert_int_equal(bits_asked(), (BITS_A_CALL + 20) / 21 * 21);
	filter_add(9, 1, FILTER_AT_ONCE, added);
	server_command(&r, "CONFIG RESETSTAT");
	run(&r, &bloom_item_lookup_script, filter_keys(FILTER_SEGMENTS), filter_hashes(9, 0, FILTER_AT_ONCE, NULL));
	assert_int_equal(strlen(item_text(&r, BLOOM_STEP_DIGITS)), (BITS_A_CALL + 20) / 21);
	assert_int_equal(bits_asked(), (BITS_A_CALL + 20) / 21 * 21);
}

TEST(a_full_layer_ends_a_call)
{
	assert_int_equal(filter_put("3", "0.01"), BLOOM_PUT_CREATED);
	run(&r, &bloom_item_add_script, filter_keys(4), filter_hashes(10, 0, 5, "0"));
	assert_int_equal(outcome(&r), BLOOM_ITEM_ADD_AGAIN); /* this call allocated bits */
	run(&r, &bloom_item_add_script, filter_keys(4), filter_hashes(10, 0, 5, "0"));
	assert_string_equal(item_text(&r, BLOOM_STEP_DIGITS), "111");
	run(&r, &bloom_item_add_script, filter_keys(4), filter_hashes(10, 3, 5, "0"));
	assert_int_equal(outcome(&r), BLOOM_ITEM_ADD_AGAIN); /* this call made a layer */
	run(&r, &bloom_item_add_script, filter_keys(4), filter_hashes(10, 3, 5, "0"));
	assert_int_equal(outcome(&r), BLOOM_ITEM_ADD_AGAIN); /* this call allocated the layer's bits */
	run(&r, &bloom_item_add_script, filter_keys(4), filter_hashes(10, 3, 5, "0"));
	assert_string_equal(item_text(&r, BLOOM_STEP_DIGITS), "11");
	run(&r, &bloom_get_script, KEYS(FILTER), ARGS());
	layer_is(1, 1024, 8, 3, 3);
	layer_is(2, 1024, 9, 6, 2);
}

/* ---- Deleting ---- */

/* The 90.6 million bits are eleven segments. One step frees eight of them. */
TEST(deleting_goes_in_steps)
{
	char added[1];

	assert_int_equal(filter_put("3000000", "0.000001"), BLOOM_PUT_CREATED);
	filter_add(12, 0, 1, added);
	assert_int_equal(server_keys(&r), 12);
	run(&r, &bloom_delete_script, filter_keys(4), ARGS());
	assert_int_equal(outcome(&r), BLOOM_DELETE_MORE_KEYS);
	assert_int_equal(item_int(&r, BLOOM_MORE_SEGMENTS), 11);
	run(&r, &bloom_delete_script, filter_keys(11), ARGS());
	assert_int_equal(outcome(&r), BLOOM_DELETE_AGAIN);
	assert_int_equal(server_keys(&r), 4);
	unchanged(&r, { /* no call finds the filter any more */
			run(&r, &bloom_get_script, KEYS(FILTER), ARGS());
			assert_int_equal(outcome(&r), BLOOM_GET_ABSENT);
			assert_int_equal(filter_found(12, 0, 1), 0);
			run(&r, &bloom_item_add_script, filter_keys(2), filter_hashes(12, 0, 1, "0"));
			assert_int_equal(outcome(&r), BLOOM_ITEM_ADD_MORE_KEYS);
			assert_int_equal(item_int(&r, BLOOM_MORE_SEGMENTS), 3);
			run(&r, &bloom_put_script, filter_keys(2), ARGS("10", "0.01", "null"));
			assert_int_equal(outcome(&r), BLOOM_PUT_MORE_KEYS);
			assert_int_equal(item_int(&r, BLOOM_MORE_SEGMENTS), 3);
	});
	run(&r, &bloom_delete_script, filter_keys(3), ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(server_keys(&r), 0);
}

TEST(making_continues_with_a_deletion_that_broke_off)
{
	char added[2];

	assert_int_equal(filter_put("3000000", "0.000001"), BLOOM_PUT_CREATED);
	filter_add(12, 0, 1, added);
	run(&r, &bloom_delete_script, filter_keys(11), ARGS());
	assert_int_equal(outcome(&r), BLOOM_DELETE_AGAIN);
	assert_int_equal(filter_put("10", "0.01"), BLOOM_PUT_CREATED);
	layer_is(1, 1024, 8, 10, 0);
	assert_int_equal(server_keys(&r), 1);
	assert_int_equal(server_command(&r, "HEXISTS " FILTER " deleting")->integer, 0);
	filter_add(12, 0, 1, added);
	assert_int_equal(added[0], '1');
}

/* Another program removed the hash alone: the remaining bits are not used for the new filter. */
TEST(bits_left_behind_are_not_taken_over)
{
	char added[50];

	assert_int_equal(filter_put("100", "0.01"), BLOOM_PUT_CREATED);
	filter_add(13, 0, 50, added);
	server_command(&r, "DEL " FILTER);
	assert_int_equal(filter_put("100", "0.01"), BLOOM_PUT_CREATED);
	assert_int_equal(filter_found(13, 0, 50), 0);
	filter_add(13, 49, 50, added);
	assert_int_equal(added[0], '1');
	assert_int_equal(filter_found(13, 0, 49), 0);
}

/* ---- Lost segments ---- */

static void all_are_refused(void)
{
	unchanged(&r, {
		run_fails(&r, &bloom_item_add_script, filter_keys(2), filter_hashes(15, 0, 5, "0"), "WRONGTYPE");
		run_fails(&r, &bloom_item_lookup_script, filter_keys(2), filter_hashes(15, 0, 5, NULL), "WRONGTYPE");
		run_fails(&r, &bloom_patch_script, filter_keys(2), ARGS("60000"), "WRONGTYPE");
	});
}

/*
 * A filter that lost a segment would report added items as absent, so the scripts return an error.
 */
TEST(a_filter_that_lost_bits_is_an_error)
{
	static const char *const lost[] = { "DEL " FILTER ":0", "SET " FILTER ":0 short", "DEL " FILTER ":1" };
	char added[20];

	for (size_t i = 0; i < COUNT(lost); i++) {
		script_stage_empty(NULL);
		assert_int_equal(filter_put("10", "0.01"), BLOOM_PUT_CREATED);
		filter_add(15, 0, 20, added);
		server_command(&r, lost[i]);
		all_are_refused();
		run(&r, &bloom_delete_script, filter_keys(2), ARGS());
		assert_int_equal(outcome(&r), 1);
		assert_int_equal(server_keys(&r), 0);
	}
	assert_int_equal(filter_put("10", "0.01"), BLOOM_PUT_CREATED);
	filter_add(15, 0, 20, added);
	server_command(&r, "DEL " FILTER ":0");
	server_command(&r, "LPUSH " FILTER ":0 x");
	all_are_refused();
	unchanged(&r, run_fails(&r, &bloom_delete_script, filter_keys(2), ARGS(), "WRONGTYPE"));
}
