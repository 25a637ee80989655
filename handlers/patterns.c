/* patterns: what the patterns do before the first request; see service/patterns.h. */
#include "patterns.h"

#include "ratelimit.h"

bool patterns_open(void)
{
	return policies_load();
}
