/*
 * geo_score: the position and the geohash of a member, read from its score in the sorted set. A
 * search returns scores: Redis takes longer to print a position than to find it.
 */
#ifndef PATTERND_GEO_SCORE_H
#define PATTERND_GEO_SCORE_H

#include <stdint.h>

enum { GEOHASH_BYTES = 12 }; /* with the zero at the end */

/* The middle of the square that a score of GEOADD means, as GEOPOS returns it. */
void geo_score_position(int64_t score, double *longitude, double *latitude);

/* The geohash of a position, as GEOHASH returns it: 11 characters, the last one always '0'. */
void geo_score_geohash(double longitude, double latitude, char geohash[GEOHASH_BYTES]);

#endif
