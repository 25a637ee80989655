/*
 * Tests of the age of a replica's data, computed from the offsets and histories that INFO reports.
 */
#include "test.h"
#include "topology/replica_age.h"

static char buffer[512];

static void sample(struct replica_age *age, const char *history, int64_t offset, int64_t at_us)
{
	snprintf(buffer, sizeof(buffer),
		 "# Replication\r\nrole:master\r\nmaster_replid:%s\r\nmaster_repl_offset:%lld\r\n", history,
		 (long long)offset);
	replica_age_sample(age, text_of(buffer), at_us);
}

static const char *compare(struct replica_age *age, const char *role, const char *link, const char *history,
			   const char *offset)
{
	snprintf(buffer, sizeof(buffer),
		 "role:%s\r\nmaster_link_status:%s\r\nslave_read_repl_offset:999999\r\nslave_repl_offset:%s\r\n"
		 "master_replid:%s\r\nmaster_repl_offset:999999\r\n",
		 role, link, offset, history);
	return replica_age_compare(age, text_of(buffer));
}

TEST(it_is_as_fresh_as_the_newest_offset_it_has)
{
	struct replica_age age = { 0 };

	for (int i = 1; i <= 40; i++) /* more than the ring holds */
		sample(&age, "h", i * 10, i * 1000);
	assert_null(compare(&age, "slave", "up", "h", "399"));
	assert_int_equal(age.fresh_us, 39000);
	assert_null(compare(&age, "slave", "up", "h", "400"));
	assert_int_equal(age.fresh_us, 40000);
	assert_null(compare(&age, "slave", "up", "h", "100000")); /* it has later writes, too */
	assert_int_equal(age.fresh_us, 40000);
}

TEST(idle_primaries_make_nothing_older)
{
	struct replica_age age = { 0 };

	for (int i = 1; i <= 5; i++) {
		sample(&age, "h", 70, i * 1000);
		assert_null(compare(&age, "slave", "up", "h", "70"));
		assert_int_equal(age.fresh_us, i * 1000);
	}
}

/* A replica keeps the data that it has. Only the age of the data grows. */
TEST(too_far_behind_is_not_fresher)
{
	struct replica_age age = { 0 };

	sample(&age, "h", 10, 1000);
	assert_null(compare(&age, "slave", "up", "h", "10"));
	for (int i = 2; i < 40; i++)
		sample(&age, "h", i * 10, i * 1000);
	assert_null(compare(&age, "slave", "up", "h", "11"));
	assert_int_equal(age.fresh_us, 1000);
}

TEST(what_cannot_be_compared_is_not_fresh)
{
	static const char *const rows[][4] = {
		{ "master", "up", "h", "10" },
		{ "slave", "down", "h", "10" },
		{ "slave", "up", "other", "10" },
		{ "slave", "up", "", "10" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct replica_age age = { 0 };
		sample(&age, "h", 10, 1000);
		assert_null(compare(&age, "slave", "up", "h", "10"));
		assert_non_null(compare(&age, rows[i][0], rows[i][1], rows[i][2], rows[i][3]));
		assert_int_equal(age.fresh_us, 0);
	}
}

TEST(offsets_that_are_none_make_nothing_fresh)
{
	static const char *const offsets[] = { "", "x", "-1", "10x", "99999999999999999999" };
	struct replica_age age = { 0 };

	sample(&age, "h", 0, 1000);
	for (size_t i = 0; i < COUNT(offsets); i++) {
		assert_null(compare(&age, "slave", "up", "h", offsets[i]));
		assert_int_equal(age.fresh_us, 0);
	}
	assert_non_null(replica_age_compare(&age, TEXT("")));
	replica_age_sample(&age, TEXT(""), 2000);
	assert_non_null(compare(&age, "slave", "up", "", "10"));
}

/* Offsets of another history mean nothing, whether larger or smaller. */
TEST(a_new_history_forgets_the_old_one)
{
	struct replica_age age = { 0 };

	sample(&age, "h", 10, 1000);
	sample(&age, "other", 500, 2000);
	assert_null(compare(&age, "slave", "up", "other", "20"));
	assert_int_equal(age.fresh_us, 0);
	assert_null(compare(&age, "slave", "up", "other", "500"));
	assert_int_equal(age.fresh_us, 2000);
}

/* A primary that reports the role of a replica gives nothing to compare with. */
TEST(only_a_master_is_a_sample)
{
	struct replica_age age = { 0 };

	replica_age_sample(&age, TEXT("role:slave\r\nmaster_replid:h\r\nmaster_repl_offset:1\r\n"), 1000);
	assert_null(compare(&age, "slave", "up", "h", "10"));
	assert_int_equal(age.fresh_us, 0);
}
