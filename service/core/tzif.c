/* tzif: see core/tzif.h. Numbers are big-endian. */
#include "core/tzif.h"

enum { HEADER_BYTES = 44, VERSION_AT = 4, COUNTS_AT = 20, TYPE_BYTES = 6, BYTE_BITS = 8 };
enum { TIME_BYTES_OF_1 = 4, TIME_BYTES_OF_2 = 8, LEAP_BYTES = 4 };
enum { OFFSET_S_LEAST = -89999, OFFSET_S_MOST = 93599 };
/* Before the Big Bang nothing changed; a text has four digits for a year. */
#define BIG_BANG_S (-(INT64_C(1) << 59))
#define YEAR_9999_S INT64_C(253402300799)

/* The counts of a header. */
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

/* Takes a header off the file. */
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

/* Takes the data behind a header off the file. */
static bool take_data(struct text *file, const struct sizes *sizes, size_t time_bytes, struct text *data)
{
	uint64_t bytes = (uint64_t)sizes->times * (time_bytes + 1) + (uint64_t)sizes->types * TYPE_BYTES + sizes->names +
			 (uint64_t)sizes->leaps * (time_bytes + LEAP_BYTES) + sizes->of_standard + sizes->of_utc;

	if (bytes > file->len)
		return false;
	*data = (struct text){ file->at, (size_t)bytes };
	file->at += bytes;
	file->len -= bytes;
	return true;
}

/* False when the offset is out of range. */
static bool read_offset(const char *types, size_t type, int32_t *offset_s)
{
	int64_t n = number_at(types + type * TYPE_BYTES, 4);

	*offset_s = (int32_t)n;
	return n >= OFFSET_S_LEAST && n <= OFFSET_S_MOST;
}

static const char *read_data(struct tzif *zone, const char *data, const struct sizes *sizes, size_t time_bytes)
{
	const char *of_type = data + sizes->times * time_bytes, *types = of_type + sizes->times;
	int64_t before = INT64_MIN;
	int32_t offset_s;

	if (sizes->leaps > 0)
		return "counts leap seconds";
	if (sizes->types == 0 || sizes->types > 256 || sizes->times > TZIF_CHANGES_MOST)
		return "has no type of time, or too many changes";
	if (!read_offset(types, 0, &zone->first_offset_s))
		return "has an offset of more than a day";
	offset_s = zone->first_offset_s;
	zone->count = 0;
	for (size_t i = 0; i < sizes->times; i++) {
		struct tz_change change = { .at = number_at(data + i * time_bytes, time_bytes) };
		size_t type = (unsigned char)of_type[i];
		if (change.at <= before || change.at < BIG_BANG_S || change.at > YEAR_9999_S || type >= sizes->types)
			return "has changes out of order";
		before = change.at;
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

/* The line behind the data of version 2 and later; an empty one has no rule. */
static const char *read_footer(struct tzif *zone, struct text file)
{
	const char *end = file.len > 1 && *file.at == '\n' ? memchr(file.at + 1, '\n', file.len - 1) : NULL;

	if (!end)
		return "has no footer";
	if (end == file.at + 1)
		return NULL;
	if (!tz_rule_read(&zone->rule, (struct text){ file.at + 1, (size_t)(end - file.at - 1) }))
		return "has a footer that is no rule";
	struct tz_change last = last_of(zone);
	int32_t offset_s = zone->rule.changes ? tz_rule_latest(&zone->rule, zone->count ? last.at : 0).offset_s
					      : zone->rule.standard_s;
	if (offset_s != last.offset_s && (zone->count > 0 || !zone->rule.changes))
		return "has a footer that contradicts its last change";
	return NULL;
}

const char *tzif_read(struct tzif *zone, struct text file)
{
	static const char too_short[] = "is not a whole TZif file";
	struct sizes sizes;
	struct text data;
	char version;

	zone->rule = (struct tz_rule){ 0 };
	if (!take_header(&file, &sizes, &version) || !take_data(&file, &sizes, TIME_BYTES_OF_1, &data))
		return too_short;
	if (version == '\0') {
		const char *wrong = read_data(zone, data.at, &sizes, TIME_BYTES_OF_1);
		zone->rule.standard_s = wrong ? 0 : last_of(zone).offset_s;
		return wrong;
	}
	if (!take_header(&file, &sizes, &version) || !take_data(&file, &sizes, TIME_BYTES_OF_2, &data))
		return too_short;
	const char *wrong = read_data(zone, data.at, &sizes, TIME_BYTES_OF_2);
	if (wrong)
		return wrong;
	zone->rule.standard_s = last_of(zone).offset_s;
	return read_footer(zone, file);
}

/* Whether the rule makes the last change, and none between it and the one before. */
static bool is_of_rule(const struct tzif *zone, int64_t since)
{
	const struct tz_change *last = &zone->changes[zone->count - 1];
	struct tz_change before = zone->count > 1 ? last[-1] : (struct tz_change){ since, zone->first_offset_s };
	struct tz_change next = tz_rule_next(&zone->rule, before.at);

	return next.at == last->at && next.offset_s == last->offset_s &&
	       tz_rule_latest(&zone->rule, before.at).offset_s == before.offset_s;
}

void tzif_shorten(struct tzif *zone, int64_t since)
{
	size_t past = 0;

	while (past < zone->count && zone->changes[past].at <= since)
		zone->first_offset_s = zone->changes[past++].offset_s;
	zone->count -= past;
	memmove(zone->changes, zone->changes + past, zone->count * sizeof(*zone->changes));
	while (zone->rule.changes && zone->count > 0 && is_of_rule(zone, since))
		zone->count--;
}
