/*
 * sample_ring: the latest SAMPLE_RING_SIZE samples of some figures, one row of numbers each. Knows
 * neither what they mean nor when they are taken.
 */
#ifndef PATTERND_SAMPLE_RING_H
#define PATTERND_SAMPLE_RING_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_RING_SIZE = 60 };

struct sample_ring;

/* Of `width` numbers each; freed by free(). NULL without memory. */
struct sample_ring *sample_ring_new(size_t width);

/* One more, in place of the oldest one when it is full. */
void sample_ring_add(struct sample_ring *r, int64_t at_ms, const double *numbers);

size_t sample_ring_count(const struct sample_ring *r); /* 0 for NULL */
/* The numbers of sample `i`, the oldest first; valid until the next one is added. */
const double *sample_ring_at(const struct sample_ring *r, size_t i, int64_t *at_ms);

#endif
