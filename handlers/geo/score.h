/*
 * geo_score: the position and the geohash of a member, from its score in the sorted set. Searches
 * return scores, because Redis takes longer to print a position than to find it. Pure: it must not
 * know a set.
 */
#ifndef PATTERND_GEO_SCORE_H
#define PATTERND_GEO_SCORE_H

#include <stdint.h>

enum { GEOHASH_BYTES = 12 }; /* including the final NUL */

/* Returns the centre of the square of a GEOADD score, as GEOPOS does. */
void geo_score_position(int64_t score, double *longitude, double *latitude);

/* Writes the geohash of a position, as GEOHASH does: 11 characters, the last one always '0'. */
void geo_score_geohash(double longitude, double latitude, char geohash[GEOHASH_BYTES]);

#endif
