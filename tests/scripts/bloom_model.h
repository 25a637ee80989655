/*
 * bloom_model: a growing Bloom filter in plain C. It computes by formulas what lua/bloom_*.lua must
 * do step by step.
 *
 *	struct bloom_model m = { .capacity = 100, .error_rate = 0.01 };
 *	bool added = bloom_model_add(&m, hash);
 *	bloom_model_free(&m);
 *
 * It also makes hashes for tests: 16 bytes, none of them 0, so that they can be sent as C strings.
 */
#ifndef TEST_BLOOM_MODEL_H
#define TEST_BLOOM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOOM_HASH = 16, BLOOM_LAYERS = 32 };

struct bloom_layer {
	uint64_t bits, capacity, items, set;
	unsigned hashes;
	unsigned char *bytes; /* the first bit is the highest of the first byte, as for SETBIT */
};

struct bloom_model {
	uint64_t capacity;
	double error_rate;
	bool is_double; /* plain double hashing, which must be worse than the script */
	struct bloom_layer layers[BLOOM_LAYERS];
	size_t layer_count; /* 0: no item was added yet */
};

bool bloom_model_add(struct bloom_model *m, const char hash[BLOOM_HASH]);
bool bloom_model_has(const struct bloom_model *m, const char hash[BLOOM_HASH]);
void bloom_model_free(struct bloom_model *m);

/* The n-th hash of a family, NUL-terminated. The same numbers always give the same hash. */
void bloom_hash(uint64_t family, uint64_t n, char out[BLOOM_HASH + 1]);

#endif
