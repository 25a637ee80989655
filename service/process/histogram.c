#include "process/histogram.h"

#include <inttypes.h>

void histogram_measure(struct histogram *h, const struct histogram_kind *kind, int64_t us)
{
	size_t bucket = 0;

	while (bucket < HISTOGRAM_BUCKETS && us > kind->bounds_us[bucket])
		bucket++;
	h->buckets[bucket]++;
	h->count++;
	h->sum_us += (uint64_t)us;
}

void histogram_out(struct exposition *e, const struct histogram_kind *kind, const struct histogram *h,
		   struct text label)
{
	struct text comma = label.len ? TEXT(",") : TEXT("");
	struct text open = label.len ? TEXT("{") : TEXT(""), close = label.len ? TEXT("} ") : TEXT(" ");
	char digits[TEXT_DIGITS];
	uint64_t sum = 0;

	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++) {
		const char *bound = b < HISTOGRAM_BUCKETS ? kind->bounds_text[b] : "+Inf";
		const struct text parts[] = { TEXT("patternd_"), text_of(kind->name), TEXT("_bucket{"), label, comma,
					      TEXT("le=\""),     text_of(bound),      TEXT("\"} ") };
		sum += h->buckets[b];
		exposition_line(e, parts, sizeof(parts) / sizeof(parts[0]), text_of_int((int64_t)sum, digits));
	}
	exposition_add(e, "patternd_%s_sum%s%s%s%.6f\n", kind->name, open.at, label.at, close.at,
		       (double)h->sum_us / 1e6);
	exposition_add(e, "patternd_%s_count%s%s%s%" PRIu64 "\n", kind->name, open.at, label.at, close.at, h->count);
}
