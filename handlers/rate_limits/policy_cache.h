/* policy_cache: the policies that this daemon knows. */
#ifndef PATTERND_POLICY_CACHE_H
#define PATTERND_POLICY_CACHE_H

#include "rate_limits/limit.h"

/*
 * Fills in the policies that the checks name, of which only those that are not fresh come from
 * Redis, then goes on.
 */
void policy_cache_fill(struct request *req, void (*next)(struct request *req));

/* However old; NULL: never known, or deleted by this daemon. For when Redis is away. */
const struct limit_policy *policy_cache_last(struct text name);

/* Keeps a policy of the file: it goes before a policy of Redis. False: no room for it. */
bool policy_cache_fix(struct text name, const struct limit_policy *p);
const struct limit_policy *policy_cache_fixed(struct text name);               /* NULL: the file has none */
const struct limit_policy *policy_cache_fixed_at(size_t i, struct text *name); /* in the file's order; NULL: no more */

/* This daemon itself changed it, by a call sent at `asked_us`. NULL: deleted it. */
void policy_cache_changed(struct text name, const struct limit_policy *p, int64_t asked_us);

#endif
