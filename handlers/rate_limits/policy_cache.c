/*
 * ratelimit_known: the policies that this daemon knows, and how it learns of others.
 *
 * Those of the file are known for good. Those of Redis are believed for a second, counted from when Redis was asked; one request of those
 * that come in the second half of it asks anew, so that under load nobody else waits for that. What is older is kept all the same: while
 * Redis is away it says whether a limit is open.
 */
#include <stdlib.h>

#include "kinds.h"
#include "rate_limits/rate_limits.h"

enum { BUCKETS = 1024, KNOWN_MAX = 4096, FIXED_MAX = 1000, BELIEVED_US = 1000000, ASKED_ANEW_US = 500000 };

struct known {
	char name[PLAIN_NAME_MAX + 1];
	struct policy policy;
	bool fixed;         /* it stands in the file */
	bool exists;        /* false: deleted, and only settled_us is of use */
	bool asked_anew;    /* somebody does already */
	int64_t asked_us;   /* when Redis was asked for what is known */
	int64_t settled_us; /* what Redis was asked for before this daemon's own change says nothing any more */
	struct known *next; /* in its bucket */
};

static struct known *buckets[BUCKETS];
static size_t known_count; /* without the fixed ones */
static const struct known *fixed[FIXED_MAX];
static size_t fixed_count;

/* FNV-1a. */
static struct known **bucket_of(struct text name)
{
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (unsigned char)name.at[i]) * 16777619;
	return &buckets[hash % BUCKETS];
}

static struct known *find(struct text name)
{
	struct known *k = *bucket_of(name);

	while (k && !text_is(name, k->name))
		k = k->next;
	return k;
}

/* Names come from anywhere, so what is kept is bounded: beyond that it begins anew. */
static void forget_all(void)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct known **at = &buckets[i];
		while (*at) {
			struct known *k = *at;
			if (k->fixed) {
				at = &k->next;
				continue;
			}
			*at = k->next;
			free(k);
		}
	}
	known_count = 0;
}

/* Finds or makes; NULL without memory. */
static struct known *have(struct text name)
{
	struct known *k = find(name), **bucket = bucket_of(name);

	if (k || name.len > PLAIN_NAME_MAX)
		return k;
	if (known_count == KNOWN_MAX)
		forget_all();
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	memcpy(k->name, name.at, name.len);
	k->next = *bucket;
	*bucket = k;
	known_count++;
	return k;
}

/* ---- The file's ---- */

bool policy_fix(struct text name, const struct policy *p)
{
	struct known *k = fixed_count < FIXED_MAX ? have(name) : NULL;

	if (!k)
		return false;
	k->policy = *p;
	k->fixed = k->exists = true;
	known_count--;
	fixed[fixed_count++] = k;
	return true;
}

const struct policy *policy_fixed(struct text name)
{
	const struct known *k = find(name);

	return k && k->fixed ? &k->policy : NULL;
}

const struct policy *policy_fixed_at(size_t i, struct text *name)
{
	if (i >= fixed_count)
		return NULL;
	*name = text_of(fixed[i]->name);
	return &fixed[i]->policy;
}

/* ---- Redis's ---- */

static void set(struct known *k, const struct policy *p, int64_t asked_us)
{
	k->exists = p != NULL;
	if (p)
		k->policy = *p;
	k->asked_us = asked_us;
	k->asked_anew = false;
}

static void learn(struct text name, const struct policy *p, int64_t asked_us)
{
	struct known *k = p ? have(name) : find(name);

	if (k && asked_us >= k->settled_us && asked_us >= k->asked_us)
		set(k, p, asked_us);
}

void policy_changed(struct text name, const struct policy *p, int64_t asked_us)
{
	struct known *k = have(name);

	if (!k)
		return;
	set(k, p, asked_us);
	k->settled_us = loop_now_us();
}

/* NULL: it has to be asked for. */
static const struct policy *believed(struct text name)
{
	struct known *k = find(name);

	if (!k || !k->exists)
		return NULL;
	int64_t age_us = loop_now_us() - k->asked_us;
	if (k->fixed || age_us < ASKED_ANEW_US || (age_us < BELIEVED_US && k->asked_anew))
		return &k->policy;
	k->asked_anew = true;
	return NULL;
}

const struct policy *policy_known_last(struct text name)
{
	const struct known *k = find(name);

	return k && k->exists ? &k->policy : NULL;
}

/* ---- What Redis holds ---- */

/* The contract's bounds. */
#define MOST INT64_C(1000000000)
#define WINDOW_MOST_MS INT64_C(31622400000)

static bool is_in(int64_t n, int64_t low, int64_t high)
{
	return n >= low && n <= high;
}

static int algorithm_of(struct text name)
{
	for (int i = 0; i < ALGORITHMS; i++)
		if (text_is(name, algorithm_names[i]))
			return i + 1;
	return 0;
}

/* The fields of a policy are texts, of a hash that may be somebody else's. */
static int64_t number_at(const struct reply *r, size_t i)
{
	struct text digits = reply_text(r, i);

	return digits.at ? strtoll(digits.at, NULL, 10) : 0;
}

bool policy_read(const struct reply *r, struct policy *out)
{
	struct text header = reply_text(r, 9);
	int64_t burst = number_at(r, 5);

	*out = (struct policy){
		.limit = { .algorithm = algorithm_of(reply_text(r, 2)),
			   .limit = number_at(r, 3),
			   .window_ms = number_at(r, 4),
			   .burst = burst ? burst : number_at(r, 3),
			   .has_burst = burst != 0,
			   .count_refused = number_at(r, 6) != 0 },
		.open = text_is(reply_text(r, 7), "open"),
		.shadow = number_at(r, 8) != 0,
	};
	if (header.len > 0 && header.len <= PLAIN_NAME_MAX)
		memcpy(out->key_header, header.at, header.len);
	const struct limit *l = &out->limit;
	return header.len <= PLAIN_NAME_MAX && l->algorithm && is_in(l->limit, 1, MOST) && is_in(l->burst, 1, MOST) &&
	       is_in(l->window_ms, 1, WINDOW_MOST_MS) && l->burst <= limit_largest_burst(l);
}

void policy_answer_foreign(struct request *req, struct text name)
{
	answer_problem(req, P_FOREIGN_KEY, "the key of the policy '%s' holds what patternd did not put there", name.at);
}

/* ---- What a request names ---- */

static void on_found(struct request *req, const struct reply *r)
{
	struct take *t = req->work;
	struct check *c = &t->checks[req->tag];
	bool exists = reply_int(r, 0) == 0;

	if (exists && !policy_read(r, &c->policy)) {
		policy_answer_foreign(req, c->policy_name);
		return;
	}
	learn(c->policy_name, exists ? &c->policy : NULL, t->asked_us);
	if (!exists) {
		answer_problem(req, P_NOT_FOUND, "there is no policy '%s'", c->policy_name.at);
		return;
	}
	c->known = true;
	if (--t->policies_owed == 0)
		t->then(req);
}

void policies_fill(struct request *req, void (*then)(struct request *req))
{
	struct take *t = req->work;

	t->then = then;
	t->asked_us = loop_now_us();
	for (size_t i = 0; i < t->count; i++) {
		struct check *c = &t->checks[i];
		if (!c->policy_name.at)
			continue;
		const struct policy *p = believed(c->policy_name);
		if (p)
			c->policy = *p;
		c->known = p != NULL;
		t->policies_owed += !c->known;
	}
	if (t->policies_owed == 0) {
		then(req);
		return;
	}
	for (size_t i = 0; i < t->count; i++) {
		struct check *c = &t->checks[i];
		if (!c->policy_name.at || c->known)
			continue;
		struct call *call = script_call(req, &ratelimit_policy_look_script);
		call_key(call, KEY_POLICY, c->policy_name, NULL);
		call_tag(call, i);
		call_send(call, on_found);
	}
}
