/*
 * random_walk: pseudo-random numbers that are the same in every run (Knuth's MMIX).
 *
 *	random_begin(7);
 *	int64_t delay_ms = ONE_OF(0, 0, 10, 300);
 */
#ifndef TEST_RANDOM_WALK_H
#define TEST_RANDOM_WALK_H

#include <stdint.h>

void random_begin(uint64_t seed);

/* A number from 0 to below - 1. */
int64_t random_below(int64_t below);

/* One of the given integers. */
#define ONE_OF(...) \
	(((const int[]){ __VA_ARGS__ })[random_below((int64_t)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)))])

#endif
