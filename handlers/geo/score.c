/*
 * geo_score: see geo/score.h. It computes step by step as geohash.c of Redis, so that both round
 * alike. A score has 26 bits of longitude and 26 bits of latitude, which alternate, longitude
 * first.
 */
#include "geo/score.h"

enum { STEP_BITS = 26, DIGIT_BITS = 5 };

static const double highest_latitude = 85.05112878;

static double middle(uint64_t step, double low, double high)
{
	const double steps = (double)(1 << STEP_BITS), scale = high - low;
	double from = low + (double)step / steps * scale, to = low + (double)(step + 1) / steps * scale;
	double found = (from + to) / 2;

	if (found > high)
		return high;
	return found < low ? low : found;
}

/* Returns every second bit, from the lowest on. A longitude of 180 needs a 27th bit. */
static uint64_t every_second(uint64_t bits)
{
	uint64_t found = 0;

	for (int i = 0; i < 32; i++)
		found |= (bits >> (2 * i) & 1) << i;
	return found;
}

void geo_score_position(int64_t score, double *longitude, double *latitude)
{
	*longitude = middle(every_second((uint64_t)score >> 1), -180, 180);
	*latitude = middle(every_second((uint64_t)score), -highest_latitude, highest_latitude);
}

static uint64_t step_of(double degrees, double low, double high)
{
	return (uint64_t)((degrees - low) / (high - low) * (double)(1 << STEP_BITS));
}

void geo_score_geohash(double longitude, double latitude, char geohash[GEOHASH_BYTES])
{
	static const char digits[] = "0123456789bcdefghjkmnpqrstuvwxyz";
	uint64_t x = step_of(longitude, -180, 180), y = step_of(latitude, -90, 90), bits = 0;

	for (int i = 0; i < STEP_BITS; i++)
		bits |= (x >> i & 1) << (2 * i + 1) | (y >> i & 1) << (2 * i);
	for (int i = 0; i < GEOHASH_BYTES - 2; i++)
		geohash[i] = digits[bits >> (2 * STEP_BITS - (i + 1) * DIGIT_BITS) & 31];
	geohash[GEOHASH_BYTES - 2] = '0'; /* 52 bits are 10 digits; Redis prints one more */
	geohash[GEOHASH_BYTES - 1] = '\0';
}
