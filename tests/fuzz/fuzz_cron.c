/*
 * A cron expression. The mask of an accepted expression has at least one value in each field; in a
 * day field, L, W or # may take its place. A refused one gets a reason of one line that is not cut.
 */
#include "fuzz.h"
#include "queues/schedules/cron.h"

static const int counts[] = { CRON_MINUTES, CRON_HOURS, CRON_DAYS, CRON_MONTHS, CRON_WEEKDAYS, 1, 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text expression;
	char mask[CRON_MASK_MOST + 1], why[CRON_WHY_BYTES] = "";

	while (input_piece(&in, '\0', &expression)) {
		if (!cron_parse(expression, mask, why)) {
			CHECK(strlen(why) > 0 && strlen(why) < CRON_WHY_BYTES - 1);
		} else {
			size_t len = strlen(mask);
			bool has_more = len == CRON_MASK_MOST;
			CHECK((has_more || len == CRON_MASK_LEN) && strspn(mask, "01") == len);
			CHECK(!has_more || strchr(mask + CRON_MASK_LEN, '1'));
			const char *at = mask;
			for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); at += counts[i++])
				CHECK(counts[i] == 1 || has_more || memchr(at, '1', (size_t)counts[i]));
		}
		free((char *)(uintptr_t)expression.at);
	}
	return 0;
}
