/*
 * Tests that positions and geohashes are computed from scores as Redis does, also at the ends of
 * the range.
 */
#include <math.h>

#include "geo/score.h"
#include "test.h"

/* GEOPOS prints 17 decimals. */
static const double WITHIN = 1e-13;

/* Scores by GEOADD, positions by GEOPOS, geohashes by GEOHASH of Redis 7.0. */
static const struct {
	int64_t score;
	const char *longitude, *latitude, *geohash;
} rows[] = {
	{ 3479099956230698, "13.36138933897018433", "38.11555639549629859", "sqc8b49rny0" },
	{ 3479447370796909, "15.08726745843887329", "37.50266842333162032", "sqdtr74hyu0" },
	{ 3377699720527872, "0.00000268220901489", "0.00000126736058093", "s0000000000" },
	{ 0, "-179.99999731779098511", "-85.05112751263942528", "00bh0hbj200" },
	{ 4503599627370495, "179.99999731779098511", "85.05112751263942528", "zzpgzgpfxz0" },
	{ 13510798882111488, "180", "85.0511287799999991", "bp05b5048p0" },
	{ 1876499844737709, "-0.00000804662704468", "0.00000887152405227", "ebpbpbpbpc0" },
	{ 4069880884423902, "116.3299986720085144", "40.01999886079634194", "wx4exjkvmk0" },
	{ 929318040721643, "-77.03999787569046021", "-12.04999975610781604", "6mc5qym5tv0" },
	{ 3663832779122514, "2.35219806432723999", "48.8565995303492997", "u09tvw0f640" },
	{ 3252046264549320, "151.19999796152114868", "-33.86000036747633857", "r3gx2eurpq0" },
	{ 1478843424855111, "-179.99999195337295532", "66.50000015278486387", "b5b421bn840" },
	{ 2627099782632789, "0.00000268220901489", "-0.00000126736058093", "kpbpbpbpbp0" },
};

TEST(places_equal_redis_own)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		double longitude, latitude;
		char geohash[GEOHASH_BYTES];

		geo_score_position(rows[i].score, &longitude, &latitude);
		assert_true(fabs(longitude - strtod(rows[i].longitude, NULL)) < WITHIN);
		assert_true(fabs(latitude - strtod(rows[i].latitude, NULL)) < WITHIN);
		geo_score_geohash(longitude, latitude, geohash);
		assert_string_equal(geohash, rows[i].geohash);
	}
}
