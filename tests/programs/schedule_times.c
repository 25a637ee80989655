/*
 * schedule_times: shows what the daemon makes of cron expressions and time zone files before it
 * stores them. Reads lines from stdin, and writes the answer to each.
 *
 *	C 30 2 * * *                             the mask (cron.h), or ! and what is wrong
 *	Z 1577836800 /usr/share/zoneinfo/CET     its shifts since then (zone_shifts.h), or !
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queues/schedules/cron.h"
#include "queues/schedules/zone_shifts.h"

static void answer_cron(struct text expression)
{
	char mask[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES];

	if (cron_parse(expression, mask, why))
		puts(mask);
	else
		printf("! %s\n", why);
}

static void answer_zone(const char *line)
{
	static char bytes[TZIF_BYTES_MOST + 1];
	static struct tzif zone;
	struct arena arena = { 0 };
	char *path;
	long long since = strtoll(line, &path, 10);
	FILE *file = fopen(path + 1, "rb");
	size_t size = file ? fread(bytes, 1, TZIF_BYTES_MOST, file) : 0;
	const char *wrong = tzif_read(&zone, (struct text){ bytes, size });

	if (file)
		fclose(file);
	if (wrong)
		printf("! %s\n", wrong);
	else
		puts(zone_shifts(&arena, &zone, since).at);
	arena_free(&arena);
}

int main(void)
{
	char line[1024];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == 'C')
			answer_cron(text_of(line + 1));
		else
			answer_zone(line + 1);
		fflush(stdout);
	}
	return 0;
}
