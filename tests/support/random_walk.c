#include "random_walk.h"

static uint64_t state;

void random_begin(uint64_t seed)
{
	state = seed;
}

int64_t random_below(int64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)((state >> 24) % (uint64_t)below);
}
