#include "bloom_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Reads `bytes` bytes of a hash, from `at` on, as a number. */
static uint64_t number_at(const char *hash, int at, int bytes)
{
	uint64_t n = 0;

	for (int i = at; i < at + bytes; i++)
		n = n << 8 | (unsigned char)hash[i];
	return n;
}

enum { TERMS = 6, MOST_HASHES = 64 };

/* Fills in i over k for every i and k that is needed (Pascal's triangle). */
static void fill_triangle(uint64_t triangle[MOST_HASHES][TERMS])
{
	for (size_t i = 0; i < MOST_HASHES; i++) {
		triangle[i][0] = 1;
		for (size_t k = 1; i > 0 && k < TERMS; k++)
			triangle[i][k] = triangle[i - 1][k] + triangle[i - 1][k - 1];
	}
}

/* The position of an item's i-th bit. */
static uint64_t place_of(const struct bloom_model *m, const struct bloom_layer *l, const char *hash, uint64_t i)
{
	uint64_t a = number_at(hash, 0, 5), b = number_at(hash, 5, 5), c = number_at(hash, 10, 6);
	static uint64_t triangle[MOST_HASHES][TERMS];
	uint64_t terms[TERMS] = { a, b, c, c / l->bits, b / l->bits, a / l->bits }, sum = 0;

	if (!triangle[0][0])
		fill_triangle(triangle);
	for (uint64_t k = 0; k < (m->is_double ? 2 : TERMS); k++)
		sum += triangle[i][k] * (terms[k] % l->bits) % l->bits;
	return sum % l->bits;
}

static bool layer_has(const struct bloom_model *m, const struct bloom_layer *l, const char *hash)
{
	for (uint64_t i = 0; i < l->hashes; i++) {
		uint64_t at = place_of(m, l, hash, i);
		if (!(l->bytes[at / 8] & 0x80 >> at % 8))
			return false;
	}
	return true;
}

static void grow(struct bloom_model *m)
{
	assert(m->layer_count < BLOOM_LAYERS);
	struct bloom_layer *l = &m->layers[m->layer_count++];
	double rate = m->error_rate / pow(2, (double)m->layer_count), ln2 = log(2);

	l->capacity = m->capacity << (m->layer_count - 1);
	l->bits = (uint64_t)ceil((double)l->capacity * -log(rate) / (ln2 * ln2));
	l->bits = l->bits < 1024 ? 1024 : l->bits;
	l->hashes = (unsigned)lround(-log2(rate));
	l->bytes = calloc(l->bits / 8 + 1, 1);
	assert(l->bytes);
}

bool bloom_model_has(const struct bloom_model *m, const char hash[BLOOM_HASH])
{
	for (size_t i = 0; i < m->layer_count; i++)
		if (layer_has(m, &m->layers[i], hash))
			return true;
	return false;
}

bool bloom_model_add(struct bloom_model *m, const char hash[BLOOM_HASH])
{
	if (m->layer_count == 0 || m->layers[m->layer_count - 1].items == m->layers[m->layer_count - 1].capacity)
		grow(m);
	if (bloom_model_has(m, hash))
		return false;
	struct bloom_layer *l = &m->layers[m->layer_count - 1];
	for (uint64_t i = 0; i < l->hashes; i++) {
		uint64_t at = place_of(m, l, hash, i);
		unsigned char bit = (unsigned char)(0x80 >> at % 8);
		l->set += !(l->bytes[at / 8] & bit);
		l->bytes[at / 8] |= bit;
	}
	l->items++;
	return true;
}

void bloom_model_free(struct bloom_model *m)
{
	for (size_t i = 0; i < m->layer_count; i++)
		free(m->layers[i].bytes);
	m->layer_count = 0;
}

/* splitmix64 */
static uint64_t mixed(uint64_t n)
{
	n += 0x9e3779b97f4a7c15;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
	n = (n ^ n >> 27) * 0x94d049bb133111eb;
	return n ^ n >> 31;
}

void bloom_hash(uint64_t family, uint64_t n, char out[BLOOM_HASH + 1])
{
	for (int i = 0; i < BLOOM_HASH; i++)
		out[i] = (char)(1 + mixed(mixed(family << 40 | n) + (uint64_t)i) % 255);
	out[BLOOM_HASH] = '\0';
}
