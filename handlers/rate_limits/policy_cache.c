/*
 * policy_cache: see rate_limits/policy_cache.h.
 *
 * Policies of the file never expire. Policies of Redis are fresh for a second from when Redis was
 * asked. In the second half of it, one request refreshes a policy, so that the others need not
 * wait. Stale policies are kept: when Redis cannot be reached, they decide whether a limit fails
 * open.
 */
#include "rate_limits/policy_cache.h"

#include <stdlib.h>

#include "common/key_kinds.h"

enum { BUCKETS = 1024, ENTRIES_MAX = 4096, FIXED_MAX = 1000, FRESH_US = 1000000, REFRESH_US = 500000 };

struct policy_entry {
	char name[PLAIN_NAME_MAX + 1];
	struct limit_policy policy;
	bool fixed;       /* the policy is in the file */
	bool exists;      /* false: it was deleted, and only settled_us counts */
	bool refreshing;  /* a request is asking Redis for it */
	int64_t asked_us; /* when Redis was asked for it */
	/* replies to calls that were sent before then are older than this daemon's own change */
	int64_t settled_us;
	struct policy_entry *next; /* the next one in its bucket */
};

static struct policy_entry *buckets[BUCKETS];
static size_t entry_count; /* number of entries that are not fixed */
static const struct policy_entry *fixed[FIXED_MAX];
static size_t fixed_count;

/* The hash is FNV-1a. */
static struct policy_entry **bucket_of(struct text name)
{
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (unsigned char)name.at[i]) * 16777619;
	return &buckets[hash % BUCKETS];
}

static struct policy_entry *find(struct text name)
{
	struct policy_entry *e = *bucket_of(name);

	while (e && !text_is(name, e->name))
		e = e->next;
	return e;
}

/* Names come from clients, so the cache has a bound. When it is full, it is emptied. */
static void clear(void)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct policy_entry **at = &buckets[i];
		while (*at) {
			struct policy_entry *e = *at;
			if (e->fixed) {
				at = &e->next;
				continue;
			}
			*at = e->next;
			free(e);
		}
	}
	entry_count = 0;
}

/* NULL: memory ran out. */
static struct policy_entry *find_or_add(struct text name)
{
	struct policy_entry *e = find(name), **bucket = bucket_of(name);

	if (e || name.len > PLAIN_NAME_MAX)
		return e;
	if (entry_count == ENTRIES_MAX)
		clear();
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	memcpy(e->name, name.at, name.len);
	e->next = *bucket;
	*bucket = e;
	entry_count++;
	return e;
}

/* ---- Policies of the file ---- */

bool policy_cache_fix(struct text name, const struct limit_policy *p)
{
	struct policy_entry *e = fixed_count < FIXED_MAX ? find_or_add(name) : NULL;

	if (!e)
		return false;
	e->policy = *p;
	e->fixed = e->exists = true;
	entry_count--;
	fixed[fixed_count++] = e;
	return true;
}

const struct limit_policy *policy_cache_fixed(struct text name)
{
	const struct policy_entry *e = find(name);

	return e && e->fixed ? &e->policy : NULL;
}

const struct limit_policy *policy_cache_fixed_at(size_t i, struct text *name)
{
	if (i >= fixed_count)
		return NULL;
	*name = text_of(fixed[i]->name);
	return &fixed[i]->policy;
}

/* ---- Policies of Redis ---- */

static void set(struct policy_entry *e, const struct limit_policy *p, int64_t asked_us)
{
	e->exists = p != NULL;
	if (p)
		e->policy = *p;
	e->asked_us = asked_us;
	e->refreshing = false;
}

static void update(struct text name, const struct limit_policy *p, int64_t asked_us)
{
	struct policy_entry *e = p ? find_or_add(name) : find(name);

	if (e && asked_us >= e->settled_us && asked_us >= e->asked_us)
		set(e, p, asked_us);
}

void policy_cache_changed(struct text name, const struct limit_policy *p, int64_t asked_us)
{
	struct policy_entry *e = find_or_add(name);

	if (!e)
		return;
	set(e, p, asked_us);
	e->settled_us = loop_now_us();
}

/* NULL: Redis must be asked. */
static const struct limit_policy *fresh(struct text name)
{
	struct policy_entry *e = find(name);

	if (!e || !e->exists)
		return NULL;
	int64_t age_us = loop_now_us() - e->asked_us;
	if (e->fixed || age_us < REFRESH_US || (age_us < FRESH_US && e->refreshing))
		return &e->policy;
	e->refreshing = true;
	return NULL;
}

const struct limit_policy *policy_cache_last(struct text name)
{
	const struct policy_entry *e = find(name);

	return e && e->exists ? &e->policy : NULL;
}

/* ---- Policies of a request ---- */

static void on_found(struct request *req, const struct reply *r)
{
	struct limit_request *limits = req->work;
	struct limit_check *c = &limits->checks[req->result->tag];
	if (!r) {
		limits->missing(req);
		return;
	}
	bool exists = reply_outcome(r) != RATELIMIT_POLICY_GET_ABSENT, may_lack = !exists && limits->may_lack_policy;

	if (exists && !limit_policy_read(r, &c->policy)) {
		limit_answer_foreign_policy(req, c->account.policy);
		return;
	}
	update(c->account.policy, exists ? &c->policy : NULL, limits->asked_us);
	if (!exists && !may_lack) {
		if (limits->missing)
			limits->missing(req);
		else
			handler_answer_missing(req, "policy", c->account.policy);
		return;
	}
	c->has_policy = exists;
	if (--limits->policies_pending == 0)
		limits->next(req);
}

void policy_cache_fill(struct request *req, void (*next)(struct request *req))
{
	struct limit_request *limits = req->work;

	limits->next = next;
	limits->asked_us = loop_now_us();
	for (size_t i = 0; i < limits->count; i++) {
		struct limit_check *c = &limits->checks[i];
		if (!c->account.policy.at)
			continue;
		const struct limit_policy *p = fresh(c->account.policy);
		if (p)
			c->policy = *p;
		c->has_policy = p != NULL;
		limits->policies_pending += !c->has_policy;
	}
	if (limits->policies_pending == 0) {
		next(req);
		return;
	}
	for (size_t i = 0; i < limits->count; i++) {
		struct limit_check *c = &limits->checks[i];
		if (!c->account.policy.at || c->has_policy)
			continue;
		struct call *call = handler_call(req, &ratelimit_policy_get_script, KEY_POLICY, c->account.policy);
		call_tag(call, i);
		if (limits->missing)
			call_may_fail(call);
		call_send(call, on_found);
	}
}
