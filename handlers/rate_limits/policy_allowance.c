/*
 * policy_allowance: see rate_limits/policy_allowance.h.
 *
 * A limit takes all of a cost or nothing. So the daemon first asks for the whole amount; if that
 * does not fit, it asks for what is left. If a refusal would count against the limit
 * (count_refused), it looks at the limit first.
 */
#include "rate_limits/policy_allowance.h"

#include "common/allowance.h"
#include "rate_limits/address_keys.h"
#include "rate_limits/policy_cache.h"
#include "rate_limits/policy_metrics.h"

/* Other callers may take what a look found. After so many tries nothing is granted. */
enum { TRIES_MAX = 4 };

/* The state of one take, in the request's arena. A limit_request that points to it is req->work. */
struct taking {
	void *work; /* (ref) the earlier req->work */
	void (*on_disconnect)(struct request *req, const struct reply *r);
	allowance_done done;
	struct limit_request *limits;
	int64_t most;
	int tries;
	bool only_finds;
};

static struct taking *taking_of(struct request *req)
{
	return ((struct limit_request *)req->work)->taking;
}

static void end(struct request *req, struct allowance a)
{
	struct taking *t = taking_of(req);

	req->work = t->work;
	req->on_disconnect = t->on_disconnect;
	if (a.exists && !a.failed && !t->only_finds)
		policy_metrics_took(t->limits, a.granted, t->most - a.granted);
	t->done(req, &a);
}

static void on_gone(struct request *req, const struct reply *r)
{
	struct taking *t = taking_of(req);

	(void)r;
	req->work = t->work;
	if (t->on_disconnect)
		t->on_disconnect(req, NULL);
}

static void ask(struct request *req, int64_t cost);

static void on_asked(struct request *req, const struct reply *r)
{
	static const size_t first[] = { 0 };
	struct taking *t = taking_of(req);
	struct limit_check *c = &t->limits->checks[0];
	bool is_free = c->policy.shadow; /* a shadow counts nothing and refuses nothing */

	if (!r && (c->policy.open || is_free)) {
		t->limits->degraded = true;
		end(req, (struct allowance){ .exists = true, .granted = t->most });
		return;
	}
	if (!r) {
		end(req, (struct allowance){ .exists = true, .failed = req->result->failed });
		return;
	}
	limit_read(req, &(struct slots_group){ first, 1 }, r);
	const struct limit_decision *d = &c->decision;
	if (is_free || (d->fits && c->cost > 0)) {
		end(req, (struct allowance){ .exists = true,
					     .granted = is_free ? t->most : c->cost,
					     .more_in_ms = d->more_after_ms ? d->more_after_ms : 1 });
		return;
	}
	int64_t left = d->remaining < t->most ? d->remaining : t->most;
	if (left == 0 || ++t->tries == TRIES_MAX)
		end(req, (struct allowance){ .exists = true, .more_in_ms = d->more_after_ms ? d->more_after_ms : 1 });
	else
		ask(req, left);
}

static void ask(struct request *req, int64_t cost)
{
	static const size_t first[] = { 0 };
	struct taking *t = taking_of(req);

	t->limits->checks[0].cost = cost;
	struct call *call = limit_call(req, &(struct slots_group){ first, 1 }, false);
	call_without_record(call); /* the request's own call has the record */
	call_may_fail(call);
	call_send(call, on_asked);
}

static void on_policy(struct request *req)
{
	struct taking *t = taking_of(req);
	struct limit_check *c = &t->limits->checks[0];

	if (t->only_finds) {
		end(req, (struct allowance){ .exists = true });
		return;
	}
	address_keys_apply_own(req, c);
	int64_t burst = c->policy.limit.burst;
	ask(req, limit_counts_refused(c) ? 0 : t->most < burst ? t->most : burst);
}

static void on_missing(struct request *req)
{
	end(req, (struct allowance){ .exists = req->result->failed != NULL, .failed = req->result->failed });
}

static void begin(struct request *req, const struct taking *given, struct text policy, struct text key)
{
	struct taking *t = arena_alloc(&req->arena, sizeof(*t));
	struct limit_request *limits = limit_request_new(req, 1);

	if (!t || !limits) {
		req->work = given->work;
		if (limits)
			answer_no_memory(req, EFFECT_NONE);
		return;
	}
	*t = *given;
	t->limits = limits;
	limits->taking = t;
	limits->missing = on_missing;
	limits->checks[0].account.policy = policy;
	limits->checks[0].name = policy;
	limits->checks[0].key = key;
	limits->checks[0].cost = 1;
	req->on_disconnect = on_gone;
	policy_cache_fill(req, on_policy);
}

static void take(struct request *req, struct text policy, struct text key, int64_t most, allowance_done done)
{
	begin(req,
	      &(struct taking){ .work = req->work, .on_disconnect = req->on_disconnect, .done = done, .most = most },
	      policy, key);
}

static void find(struct request *req, struct text policy, allowance_done done)
{
	begin(req,
	      &(struct taking){
		      .work = req->work, .on_disconnect = req->on_disconnect, .done = done, .only_finds = true },
	      policy, TEXT("-"));
}

void policy_allowance_open(void)
{
	static const struct allowance_provider provider = { find, take };

	allowance_provide(&provider);
}
