#include "core/budget.h"

#include <assert.h>
#include <stdint.h>

static size_t used;
static size_t limit = SIZE_MAX;

void budget_limit(size_t bytes)
{
	limit = bytes;
}

static bool fits(size_t bytes, size_t max_bytes)
{
	return used <= max_bytes && bytes <= max_bytes - used;
}

bool budget_take(size_t bytes, enum budget_use use)
{
	if (use != BUDGET_UNLIMITED && !fits(bytes, use == BUDGET_LARGE ? limit - limit / 8 : limit))
		return false;
	used += bytes;
	return true;
}

void budget_release(size_t bytes)
{
	assert(bytes <= used);
	used -= bytes;
}

bool budget_admits_body(size_t bytes)
{
	return fits(bytes, limit / 2);
}

bool budget_is_full(void)
{
	return used >= limit;
}

size_t budget_used(void)
{
	return used;
}
