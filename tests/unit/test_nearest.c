/* Tests of nearest: the distance of two names, and which of several names is meant. */
#include "core/nearest.h"
#include "test.h"

TEST(edits)
{
	static const struct {
		const char *given, *known;
		unsigned wanted;
	} rows[] = {
		{ "body", "body", 0 },
		{ "BODY", "body", 0 },
		{ "bdy", "body", 1 },
		{ "bdoy", "body", 1 }, /* two neighbours swapped */
		{ "boddy", "body", 1 },
		{ "limt", "limit", 1 },
		{ "windwo_sm", "window_ms", 2 },
		{ "maxreceivs", "max_receives", 2 },
		{ "ttl", "ttl_ms", 1 }, /* the unit was left out */
		{ "pool", "pool-size", 1 },
		{ "poo", "pool-size", NEAREST_FAR },
		{ "", "ttl", NEAREST_FAR },
		{ "", "", 0 },
		{ "x", "id", NEAREST_FAR },
		{ "op", "id", NEAREST_FAR },
		{ "cost", "burst", NEAREST_FAR },
		{ "colour", "body", NEAREST_FAR },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned got = nearest_edits(text_of(rows[i].given), text_of(rows[i].known));
		if (got != rows[i].wanted)
			fail_msg("%s, %s: %u, not %u", rows[i].given, rows[i].known, got, rows[i].wanted);
	}
}

/* Names of any length are compared within bounds. */
TEST(long_names)
{
	static char a[1000], b[65];

	memset(a, 'a', sizeof(a));
	memset(b, 'a', 64);
	assert_int_equal(nearest_edits((struct text){ a, sizeof(a) }, text_of(b)), NEAREST_FAR);
	assert_int_equal(nearest_edits((struct text){ a, 65 }, text_of(b)), NEAREST_FAR);
	assert_int_equal(nearest_edits((struct text){ a, 64 }, text_of(b)), 0);
}

TEST(the_best_wins)
{
	char hint[NEAREST_HINT];
	struct nearest n = { .given = TEXT("limits") }, none = { .given = TEXT("zzz") };

	nearest_offer(&n, "lists");
	nearest_offer(&n, "limit");
	nearest_offer(&n, "limbs");
	assert_string_equal(nearest_hint(&n, hint), "; did you mean 'limit'?");
	nearest_offer(&n, "limits"); /* it is what was refused */
	assert_string_equal(nearest_hint(&n, hint), "; did you mean 'limit'?");
	nearest_offer(&none, "limit");
	assert_string_equal(nearest_hint(&none, hint), "");
}
