/* budget: see budget.h. */
#include "core/budget.h"

#include <assert.h>
#include <stdint.h>

static size_t taken;
static size_t limit = SIZE_MAX;

void budget_limit(size_t bytes)
{
	limit = bytes;
}

static bool fits(size_t bytes, size_t most)
{
	return taken <= most && bytes <= most - taken;
}

bool budget_take(size_t bytes, enum budget_use use)
{
	if (use != BUDGET_OWED && !fits(bytes, use == BUDGET_LARGE ? limit - limit / 8 : limit))
		return false;
	taken += bytes;
	return true;
}

void budget_give(size_t bytes)
{
	assert(bytes <= taken);
	taken -= bytes;
}

bool budget_lets_in(size_t bytes)
{
	return fits(bytes, limit / 2);
}

bool budget_is_full(void)
{
	return taken >= limit;
}

size_t budget_taken(void)
{
	return taken;
}
