#include "core/backoff.h"

#include <sys/random.h>

#include "core/loop.h"

static uint32_t random_number(void)
{
	uint32_t n = 0;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
		n = (uint32_t)loop_now_us();
	return n;
}

int64_t backoff_ms(unsigned failures, int64_t first_ms, int64_t max_ms, int64_t min_ms)
{
	int64_t ms = first_ms;

	for (unsigned i = 0; i < failures && ms < max_ms; i++)
		ms *= 2;
	if (ms > max_ms)
		ms = max_ms;
	int64_t least_ms = ms / 2 > min_ms ? ms / 2 : min_ms, most_ms = least_ms + least_ms / 2;
	if (most_ms < ms)
		most_ms = ms;
	return least_ms + (int64_t)(random_number() % (uint32_t)(most_ms - least_ms + 1));
}
