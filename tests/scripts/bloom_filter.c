#include "bloom_filter.h"

#include "bloom_model.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

const char *const *filter_keys(int segments)
{
	static char text[FILTER_SEGMENTS][32];
	static const char *list[FILTER_SEGMENTS + 2] = { FILTER };

	for (int i = 0; i < segments; i++) {
		snprintf(text[i], sizeof(text[i]), FILTER ":%d", i);
		list[i + 1] = text[i];
	}
	list[segments + 1] = NULL;
	return list;
}

int64_t filter_put(const char *capacity, const char *error_rate)
{
	run(&r, &bloom_put_script, filter_keys(FILTER_SEGMENTS), ARGS(capacity, error_rate, "null"));
	return outcome(&r);
}

int64_t filter_patch(int segments, const char *ttl_ms)
{
	run(&r, &bloom_patch_script, filter_keys(segments), ARGS(ttl_ms));
	return outcome(&r);
}

const char *const *filter_hashes(uint64_t family, int from, int to, const char *part)
{
	static char text[FILTER_AT_ONCE][BLOOM_HASH + 1];
	static const char *list[FILTER_AT_ONCE + 2];
	int n = 0;

	assert_in_range(to - from, 1, FILTER_AT_ONCE);
	for (int i = from; i < to; i++, n++) {
		bloom_hash(family, (uint64_t)i, text[n]);
		list[n] = text[n];
	}
	list[n++] = part;
	list[n] = NULL;
	return list;
}

void filter_add(uint64_t family, int from, int to, char *added)
{
	while (from < to) {
		int end = to - from > 20 ? from + 20 : to;
		run(&r, &bloom_item_add_script, filter_keys(FILTER_SEGMENTS), filter_hashes(family, from, end, "0"));
		if (outcome(&r) == BLOOM_ITEM_ADD_AGAIN || outcome(&r) == BLOOM_ITEM_ADD_CREATED)
			continue;
		assert_int_equal(outcome(&r), 1);
		size_t n = strlen(item_text(&r, BLOOM_STEP_DIGITS));
		assert_in_range(n, 1, end - from);
		memcpy(added, item_text(&r, BLOOM_STEP_DIGITS), n);
		added += n;
		from += (int)n;
	}
}

int filter_found(uint64_t family, int from, int to)
{
	int there = 0;

	while (from < to) {
		int end = to - from > FILTER_AT_ONCE ? from + FILTER_AT_ONCE : to;
		run(&r, &bloom_item_lookup_script, filter_keys(FILTER_SEGMENTS),
		    filter_hashes(family, from, end, NULL));
		assert_int_equal(outcome(&r), 0);
		const char *digits = item_text(&r, BLOOM_STEP_DIGITS);
		for (const char *c = digits; *c; c++)
			there += *c == '1';
		assert_in_range(strlen(digits), 1, end - from);
		from += (int)strlen(digits);
	}
	return there;
}
