/*
 * bloom_filter: a Bloom filter on the scripts' stage, called as the daemon calls it.
 *
 *	assert_int_equal(filter_put("1000", "0.01"), BLOOM_PUT_CREATED);
 *	filter_add(1, 0, 100, added);
 *	assert_int_equal(filter_found(1, 0, 100), 100);
 */
#ifndef TEST_BLOOM_FILTER_H
#define TEST_BLOOM_FILTER_H

#include <stdint.h>

#define FILTER "p:bloom:{f}"

enum { FILTER_SEGMENTS = 40, FILTER_AT_ONCE = 100 };

/* The filter's keys with this many segments, ended by NULL. */
const char *const *filter_keys(int segments);

/* Returns the outcome. filter_put sets no expiry. */
int64_t filter_put(const char *capacity, const char *error_rate);
int64_t filter_patch(int segments, const char *ttl_ms);

/*
 * The arguments of a step: hashes `from` to `to` of a family and, to add them, the name of the
 * part.
 */
const char *const *filter_hashes(uint64_t family, int from, int to, const char *part);

/* Adds items until the script has accepted all of them. `added` receives a digit per item. */
void filter_add(uint64_t family, int from, int to, char *added);

/* Returns how many of the items the filter contains. */
int filter_found(uint64_t family, int from, int to);

#endif
