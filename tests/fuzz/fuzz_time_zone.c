/*
 * A file of a time zone. The changes of an accepted file are in order, and its rule continues for
 * ever. When it is shortened as a schedule keeps it, it has the same offsets from
 * ZONE_SHIFTS_SINCE_S on.
 */
#include "core/arena.h"
#include "core/tzif.h"
#include "fuzz.h"
#include "queues/schedules/zone_shifts.h"

enum { YEAR_S = 31556952, SAMPLES = 40 };

static void check_zone(const struct tzif *zone)
{
	CHECK(zone->count <= TZIF_CHANGES_MOST);
	for (size_t i = 0; i < zone->count; i++) {
		CHECK(i == 0 || zone->changes[i].at > zone->changes[i - 1].at);
		CHECK(zone->changes[i].offset_s > -90000 && zone->changes[i].offset_s < 93600);
	}
	int64_t at = ZONE_SHIFTS_SINCE_S;
	for (int i = 0; i < SAMPLES && zone->rule.changes; i++) {
		struct tz_change next = tz_rule_next(&zone->rule, at);
		CHECK(next.at > at && next.at - at < 2 * (int64_t)YEAR_S);
		CHECK(tz_rule_latest(&zone->rule, next.at).at == next.at);
		at = next.at;
	}
}

/*
 * The offset at an instant, by the latest change of the file, or of the rule after the last change
 * of the file.
 */
static int32_t shown_at(const struct tzif *zone, int64_t at)
{
	size_t passed = 0;

	while (passed < zone->count && zone->changes[passed].at <= at)
		passed++;
	int32_t offset_s = passed ? zone->changes[passed - 1].offset_s : zone->first_offset_s;
	if (passed < zone->count || !zone->rule.changes)
		return offset_s;
	struct tz_change of_rule = tz_rule_latest(&zone->rule, at);
	return passed == 0 || of_rule.at > zone->changes[passed - 1].at ? of_rule.offset_s : offset_s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tzif zone, shortened;
	struct arena arena = { 0 };
	char *file = malloc(size + 1);

	CHECK(file);
	memcpy(file, data, size);
	const char *wrong = tzif_read(&zone, (struct text){ file, size });
	if (!wrong) {
		check_zone(&zone);
		shortened = zone;
		struct text text = zone_shifts(&arena, &shortened, ZONE_SHIFTS_SINCE_S);
		CHECK(text.at && text.len == strlen(text.at) && text.len < 64 * 1024);
		shortened = zone;
		tzif_shorten(&shortened, ZONE_SHIFTS_SINCE_S, INT64_MAX);
		for (int64_t i = 0; i < SAMPLES; i++) {
			int64_t at = ZONE_SHIFTS_SINCE_S + i * i * 1234567;
			CHECK(shown_at(&zone, at) == shown_at(&shortened, at));
		}
	}
	free(file);
	arena_free(&arena);
	return 0;
}
