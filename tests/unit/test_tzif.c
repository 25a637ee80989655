/*
 * Tests of time zone files: what is read of each version, what is left out, and what is refused.
 */
#include "core/tzif.h"
#include "test.h"

enum { FILE_BYTES = 4096 };

struct given {
	size_t count;
	int64_t at[8];
	unsigned char type[8]; /* of the offsets 0, 3600 and 7200 s */
	const char *footer;    /* NULL: version 1 */
};

static unsigned char bytes[FILE_BYTES];
static size_t size;

static void put(int64_t n, int count)
{
	for (; count > 8; count--)
		bytes[size++] = 0;
	while (count-- > 0)
		bytes[size++] = (unsigned char)((uint64_t)n >> 8 * count);
}

static void put_part(const struct given *g, char version, int time_bytes)
{
	static const int32_t offsets[] = { 0, 3600, 7200 };

	memcpy(bytes + size, "TZif", 4);
	size += 4;
	bytes[size++] = (unsigned char)version;
	put(0, 15 + 4 * 3); /* no indicators, no leap seconds */
	put((int64_t)g->count, 4);
	put(COUNT(offsets), 4);
	put(4, 4);
	for (size_t i = 0; i < g->count; i++)
		put(g->at[i], time_bytes);
	memcpy(bytes + size, g->type, g->count);
	size += g->count;
	for (size_t i = 0; i < COUNT(offsets); i++) {
		put(offsets[i], 4);
		put(0, 2);
	}
	memcpy(bytes + size, "UTC", 4);
	size += 4;
}

static struct text file_of(const struct given *g)
{
	size = 0;
	memset(bytes, 0, sizeof(bytes));
	if (!g->footer) {
		put_part(g, '\0', 4);
	} else {
		put_part(&(struct given){ 0 }, '2', 4);
		put_part(g, '2', 8);
		size += (size_t)sprintf((char *)bytes + size, "\n%s\n", g->footer);
	}
	return (struct text){ (const char *)bytes, size };
}

static struct tzif zone;

static void read_it(const struct given *g)
{
	const char *wrong = tzif_read(&zone, file_of(g));

	if (wrong)
		fail_msg("a file %s", wrong);
}

TEST(both_versions_are_read)
{
	struct given g = { .count = 3, .at = { -100, 100, 200 }, .type = { 1, 2, 2 } };

	read_it(&g);
	assert_int_equal(zone.first_offset_s, 0);
	assert_int_equal(zone.count, 2); /* the last one shifts nothing */
	assert_int_equal(zone.changes[0].at, -100);
	assert_int_equal(zone.changes[1].offset_s, 7200);
	assert_false(zone.rule.changes);
	assert_int_equal(zone.rule.standard_s, 7200);
	g.footer = "CET-1CEST,M3.5.0,M10.5.0/3";
	g.at[0] = -(INT64_C(1) << 59);
	read_it(&g);
	assert_int_equal(zone.changes[0].at, g.at[0]);
	assert_true(zone.rule.changes);
}

/* A file that lists the changes of its rule is equal to a file that does not. */
TEST(what_the_rule_makes_is_left_out)
{
	/* Berlin: 2026-03-29 and 2026-10-25 at 01:00 UTC, and the changes of 2027. */
	static const int64_t at[] = { 1774746000, 1792890000, 1806195600, 1824944400 };
	struct given g = { .count = 4, .type = { 2, 1, 2, 1 }, .footer = "CET-1CEST,M3.5.0,M10.5.0/3" };

	memcpy(g.at, at, sizeof(at));
	read_it(&g);
	tzif_shorten(&zone, at[0] - 1, INT64_MAX);
	assert_int_equal(zone.count, 1); /* before it, the clock showed UTC, not the rule's standard time */
	read_it(&g);
	tzif_shorten(&zone, at[0], INT64_MAX);
	assert_int_equal(zone.count, 0);
	assert_int_equal(zone.first_offset_s, 7200);
	g.at[3]++; /* the rule does not make this change */
	read_it(&g);
	tzif_shorten(&zone, at[0], INT64_MAX);
	assert_int_equal(zone.count, 3);
	read_it(&g);
	tzif_shorten(&zone, at[0], at[3]); /* cut after a change to standard time */
	assert_int_equal(zone.count, 0);
}

/* A rule holds only from the file's last change on, even if that change shifts nothing. */
TEST(a_rule_begins_at_the_last_change)
{
	struct given g = {
		.count = 2, .at = { 1767225600, 1798761600 }, .type = { 1, 1 }, .footer = "CET-1CEST,M3.5.0,M10.5.0/3"
	};

	read_it(&g);
	assert_int_equal(zone.count, 2); /* all of 2026 has one offset */
	assert_int_equal(zone.changes[1].offset_s, 3600);
}

TEST(what_is_damaged_is_refused)
{
	static const struct {
		struct given given;
		size_t at; /* of a byte to be changed; 0: none */
		unsigned char byte;
		const char *why;
	} rows[] = {
		{ { .count = 2, .at = { 2, 1 }, .footer = "" }, 0, 0, "out of order" },
		{ { .count = 2, .at = { 1, 1 }, .footer = "" }, 0, 0, "out of order" },
		{ { .count = 1, .at = { 1 }, .type = { 3 }, .footer = "" }, 0, 0, "out of order" },
		{ { .count = 1, .at = { INT64_MIN }, .footer = "" }, 0, 0, "out of order" },
		{ { .count = 1, .at = { INT64_MAX }, .footer = "" }, 0, 0, "out of order" },
		{ { .count = 1, .at = { 1 }, .type = { 1 }, .footer = "EST5" }, 0, 0, "contradicts" },
		{ { .count = 1, .at = { 1 }, .type = { 1 }, .footer = "EST5EDT,M3.2.0,M11.1.0" }, 0, 0, "contradicts" },
		{ { .footer = "no rule" }, 0, 0, "not a rule" },
		{ { .count = 0 }, 0, 'X', "whole" },
		{ { .count = 0 }, 31, 1, "leap seconds" },
		{ { .count = 0 }, 35, 1, "whole" },
		{ { .count = 0 }, 32, 0xff, "whole" },
		{ { .count = 0 }, 44, 0x7f, "more than a day" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct text file = file_of(&rows[i].given);
		if (rows[i].byte)
			bytes[rows[i].at] = rows[i].byte;
		if (rows[i].byte == 1 && rows[i].at == 31)
			file.len += 8; /* room for the leap second */
		const char *why = tzif_read(&zone, file);
		if (!why || !strstr(why, rows[i].why))
			fail_msg("row %zu: %s, not %s", i, why ? why : "taken", rows[i].why);
	}
}

/* No prefix of a file is accepted, and none is read beyond its end. */
TEST(what_is_cut_is_refused)
{
	struct text file = file_of(&(struct given){ .count = 2, .at = { 1, 2 }, .type = { 1, 2 }, .footer = "EET-2" });

	assert_null(tzif_read(&zone, file));
	for (size_t len = 0; len < file.len; len++)
		assert_non_null(tzif_read(&zone, (struct text){ file.at, len }));
}
