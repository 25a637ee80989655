#include "common/allowance.h"

#include <stddef.h>

static const struct allowance_provider *provider; /* (ref) */

void allowance_provide(const struct allowance_provider *p)
{
	provider = p;
}

const struct allowance_provider *allowance(void)
{
	return provider;
}
