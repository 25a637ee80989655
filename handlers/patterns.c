/* patterns: what the patterns do before the first request; see patterns.h. */
#include "patterns.h"

#include "daemon/web.h"
#include "rate_limits/policy_file.h"

bool patterns_open(void)
{
	web_open();
	return policy_file_load();
}
