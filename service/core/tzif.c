/* tzif: see core/tzif.h. Numbers are big-endian. */
#include "core/tzif.h"

enum { HEADER_BYTES = 44, VERSION_AT = 4, COUNTS_AT = 20, TYPE_BYTES = 6, BYTE_BITS = 8 };
enum { TIME_BYTES_OF_1 = 4, TIME_BYTES_OF_2 = 8, LEAP_BYTES = 4 };
enum { OFFSET_S_LEAST = -89999, OFFSET_S_MOST = 93599 };
/*
 * The earliest instant in a file. The text of a date has four digits for the year, so earlier
 * changes are of no use.
 */
#define BIG_BANG_S (-(INT64_C(1) << 59))
#define YEAR_9999_S INT64_C(253402300799)

/* The counts in a header. */
struct sizes {
	uint32_t of_utc, of_standard, leaps, times, types, names;
};

static int64_t number_at(const char *at, size_t bytes)
{
	uint64_t n = (unsigned char)*at & 0x80 ? UINT64_MAX : 0;

	for (size_t i = 0; i < bytes; i++)
		n = n << BYTE_BITS | (unsigned char)at[i];
	return (int64_t)n;
}

/* Cuts a header off the file. */
static bool take_header(struct text *file, struct sizes *sizes, char *version)
{
	uint32_t *counts[] = { &sizes->of_utc, &sizes->of_standard, &sizes->leaps,
			       &sizes->times,  &sizes->types,       &sizes->names };

	if (file->len < HEADER_BYTES || memcmp(file->at, "TZif", VERSION_AT) != 0)
		return false;
	*version = file->at[VERSION_AT];
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		*counts[i] = (uint32_t)number_at(file->at + COUNTS_AT + 4 * i, 4);
	file->at += HEADER_BYTES;
	file->len -= HEADER_BYTES;
	return true;
}

/* Cuts the data after a header off the file. */
static bool take_data(struct text *file, const struct sizes *sizes, size_t time_bytes, struct text *data)
{
	uint64_t bytes = (uint64_t)sizes->times * (time_bytes + 1) + (uint64_t)sizes->types * TYPE_BYTES +
			 sizes->names + (uint64_t)sizes->leaps * (time_bytes + LEAP_BYTES) + sizes->of_standard +
			 sizes->of_utc;

	if (bytes > file->len)
		return false;
	*data = (struct text){ file->at, (size_t)bytes };
	file->at += bytes;
	file->len -= bytes;
	return true;
}

/* False: the offset is out of range. */
static bool read_offset(const char *types, size_t type, int32_t *offset_s)
{
	int64_t n = number_at(types + type * TYPE_BYTES, 4);

	*offset_s = (int32_t)n;
	return n >= OFFSET_S_LEAST && n <= OFFSET_S_MOST;
}

/*
 * A change of an abbreviation alone, which does not shift the clock, is left out, but counts in
 * `*last_at`.
 */
static const char *read_data(struct tzif *zone, const char *data, const struct sizes *sizes, size_t time_bytes,
			     int64_t *last_at)
{
	const char *of_type = data + sizes->times * time_bytes, *types = of_type + sizes->times;
	int32_t offset_s;

	if (sizes->leaps > 0)
		return "counts leap seconds";
	if (sizes->types == 0 || sizes->types > 256 || sizes->times > TZIF_CHANGES_MOST)
		return "has no type of time, or too many changes";
	if (!read_offset(types, 0, &zone->first_offset_s))
		return "has an offset of more than a day";
	offset_s = zone->first_offset_s;
	zone->count = 0;
	*last_at = INT64_MIN;
	for (size_t i = 0; i < sizes->times; i++) {
		struct tz_change change = { .at = number_at(data + i * time_bytes, time_bytes) };
		size_t type = (unsigned char)of_type[i];
		if (change.at <= *last_at || change.at < BIG_BANG_S || change.at > YEAR_9999_S || type >= sizes->types)
			return "has changes out of order";
		*last_at = change.at;
		if (!read_offset(types, type, &change.offset_s))
			return "has an offset of more than a day";
		if (change.offset_s != offset_s)
			zone->changes[zone->count++] = change;
		offset_s = change.offset_s;
	}
	return NULL;
}

static struct tz_change last_of(const struct tzif *zone)
{
	return zone->count ? zone->changes[zone->count - 1] : (struct tz_change){ INT64_MIN, zone->first_offset_s };
}

/* Returns the rule's first change after `after` that shifts the clock. */
static struct tz_change next_shift(const struct tz_rule *rule, struct tz_change after)
{
	struct tz_change next = tz_rule_next(rule, after.at);

	return next.offset_s == after.offset_s ? tz_rule_next(rule, next.at) : next;
}

/*
 * Reads the line after the data of version 2 and later; if it is empty, there is no rule. The
 * rule's own changes after the last listed one count, but not its offset before them: zic lets a
 * law that was passed in autumn begin in the summer time of a rule that did not exist yet
 * (America/Ojinaga, 2022).
 */
static const char *read_footer(struct tzif *zone, struct text file, int64_t last_at)
{
	const char *end = file.len > 1 && *file.at == '\n' ? memchr(file.at + 1, '\n', file.len - 1) : NULL;
	struct tz_change last = last_of(zone);

	if (!end)
		return "has no footer";
	if (end == file.at + 1)
		return NULL;
	if (!tz_rule_read(&zone->rule, (struct text){ file.at + 1, (size_t)(end - file.at - 1) }))
		return "has a footer that is not a rule";
	if (!zone->rule.changes)
		return zone->rule.standard_s == last.offset_s ? NULL : "has a footer that contradicts its last change";
	if (zone->count > 0 && last.offset_s != zone->rule.standard_s && last.offset_s != zone->rule.summer_s)
		return "has a footer that contradicts its last change";
	if (last_at > last.at && zone->count > 0 && next_shift(&zone->rule, last).at <= last_at)
		zone->changes[zone->count++] = (struct tz_change){ last_at, last.offset_s };
	return NULL;
}

const char *tzif_read(struct tzif *zone, struct text file)
{
	static const char too_short[] = "is not a whole TZif file";
	struct sizes sizes;
	struct text data;
	int64_t last_at;
	char version;

	zone->rule = (struct tz_rule){ 0 };
	if (!take_header(&file, &sizes, &version) || !take_data(&file, &sizes, TIME_BYTES_OF_1, &data))
		return too_short;
	if (version == '\0') {
		const char *wrong = read_data(zone, data.at, &sizes, TIME_BYTES_OF_1, &last_at);
		zone->rule.standard_s = wrong ? 0 : last_of(zone).offset_s;
		return wrong;
	}
	if (!take_header(&file, &sizes, &version) || !take_data(&file, &sizes, TIME_BYTES_OF_2, &data))
		return too_short;
	const char *wrong = read_data(zone, data.at, &sizes, TIME_BYTES_OF_2, &last_at);
	if (wrong)
		return wrong;
	zone->rule.standard_s = last_of(zone).offset_s;
	return read_footer(zone, file, last_at);
}

/* Returns true if the rule, followed from the change before the last, makes the last change. */
static bool is_of_rule(const struct tzif *zone, int64_t since)
{
	const struct tz_change *last = &zone->changes[zone->count - 1];
	struct tz_change before = zone->count > 1 ? last[-1] : (struct tz_change){ since, zone->first_offset_s };
	struct tz_change next = next_shift(&zone->rule, before);

	if (zone->count == 1 && tz_rule_latest(&zone->rule, since).offset_s != before.offset_s)
		return false;
	return next.at == last->at && next.offset_s == last->offset_s;
}

/* Returns how many seconds clocks are ahead of UTC. */
static int32_t offset_at(const struct tzif *zone, int64_t at)
{
	struct tz_change latest = { INT64_MIN, zone->first_offset_s };

	for (size_t i = 0; i < zone->count && zone->changes[i].at <= at; i++)
		latest = zone->changes[i];
	if (!zone->rule.changes || at < last_of(zone).at)
		return latest.offset_s;
	struct tz_change of_rule = tz_rule_latest(&zone->rule, at);
	return of_rule.at > latest.at ? of_rule.offset_s : latest.offset_s;
}

static void forget_past(struct tzif *zone, int64_t since)
{
	int32_t offset_s = offset_at(zone, since);
	size_t past = 0;

	while (past < zone->count && zone->changes[past].at <= since)
		past++;
	zone->count -= past;
	memmove(zone->changes, zone->changes + past, zone->count * sizeof(*zone->changes));
	zone->first_offset_s = offset_s;
	/* The rule has not made a change yet. */
	if (zone->rule.changes && zone->count == 0 && tz_rule_latest(&zone->rule, since).offset_s != offset_s)
		zone->changes[zone->count++] = (struct tz_change){ since, offset_s };
}

void tzif_shorten(struct tzif *zone, int64_t since, int64_t until)
{
	bool is_cut = zone->count > 0 && last_of(zone).at >= until;

	while (is_cut && zone->count > 0 &&
	       (last_of(zone).at >= until || last_of(zone).offset_s != zone->rule.standard_s))
		zone->count--;
	forget_past(zone, since);
	while (zone->rule.changes && zone->count > 0 && is_of_rule(zone, since))
		zone->count--;
}
