/* policy_cache: the policies that this daemon knows, and how fresh they are. */
#ifndef PATTERND_POLICY_CACHE_H
#define PATTERND_POLICY_CACHE_H

#include "rate_limits/limit.h"

/*
 * Fills in the policies that the checks name, then calls `next`. Only policies that are not fresh
 * are read from Redis.
 */
void policy_cache_fill(struct request *req, void (*next)(struct request *req));

/*
 * Returns the policy, however old it is, for use while Redis cannot be reached. NULL: it was never
 * known, or this daemon deleted it.
 */
const struct limit_policy *policy_cache_last(struct text name);

/*
 * policy_cache_fix stores a policy of the file, which takes precedence over one in Redis. False:
 * there are too many, or memory ran out.
 */
bool policy_cache_fix(struct text name, const struct limit_policy *p);
const struct limit_policy *policy_cache_fixed(struct text name);               /* NULL: the file does not have it */
const struct limit_policy *policy_cache_fixed_at(size_t i, struct text *name); /* in the file's order; NULL: no more */

/*
 * Notes a change by this daemon, in a call sent at `asked_us`. `p` is NULL if the policy was
 * deleted.
 */
void policy_cache_changed(struct text name, const struct limit_policy *p, int64_t asked_us);

#endif
