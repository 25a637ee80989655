#include "process/sample_ring.h"

#include <stdlib.h>
#include <string.h>

struct sample_ring {
	size_t width;
	size_t added; /* samples since the start */
	int64_t at_ms[SAMPLE_RING_SIZE];
	double numbers[];
};

struct sample_ring *sample_ring_new(size_t width)
{
	struct sample_ring *r = calloc(1, sizeof(*r) + SAMPLE_RING_SIZE * width * sizeof(double));

	if (r)
		r->width = width;
	return r;
}

void sample_ring_add(struct sample_ring *r, int64_t at_ms, const double *numbers)
{
	size_t at = r->added++ % SAMPLE_RING_SIZE;

	r->at_ms[at] = at_ms;
	memcpy(r->numbers + at * r->width, numbers, r->width * sizeof(double));
}

size_t sample_ring_count(const struct sample_ring *r)
{
	return !r ? 0 : r->added < SAMPLE_RING_SIZE ? r->added : SAMPLE_RING_SIZE;
}

const double *sample_ring_at(const struct sample_ring *r, size_t i, int64_t *at_ms)
{
	size_t at = (r->added - sample_ring_count(r) + i) % SAMPLE_RING_SIZE;

	*at_ms = r->at_ms[at];
	return r->numbers + at * r->width;
}
