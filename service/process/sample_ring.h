/*
 * sample_ring: the latest SAMPLE_RING_SIZE samples of some figures, each a row of numbers. It must
 * not know what they mean, or when they are taken.
 */
#ifndef PATTERND_SAMPLE_RING_H
#define PATTERND_SAMPLE_RING_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_RING_SIZE = 60 };

struct sample_ring;

/* Makes a ring with rows of `width` numbers. Free it with free(). NULL: memory ran out. */
struct sample_ring *sample_ring_new(size_t width);

/* Adds a sample. If the ring is full, it replaces the oldest one. */
void sample_ring_add(struct sample_ring *r, int64_t at_ms, const double *numbers);

size_t sample_ring_count(const struct sample_ring *r); /* 0 for NULL */
/*
 * Returns the numbers of sample `i`, counted from the oldest one. They are valid until the next
 * sample is added.
 */
const double *sample_ring_at(const struct sample_ring *r, size_t i, int64_t *at_ms);

#endif
