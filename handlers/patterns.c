/* patterns: what the patterns do before the first request; see patterns.h. */
#include "patterns.h"

#include "rate_limits/rate_limits.h"

bool patterns_open(void)
{
	return policies_load();
}
