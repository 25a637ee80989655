/*
 * policy_metrics: see rate_limits/policy_metrics.h. It also answers GET
 * /ratelimit/policies/{name}/history.
 */
#include "rate_limits/policy_metrics.h"

#include "call/measure.h"
#include "common/figures.h"
#include "process/metrics.h"
#include "process/named.h"

enum { ALLOWED, REFUSED, SHADOW_REFUSED, DEGRADED, CELLS };

static const char *const outcomes[] = { "allowed", "refused", "shadow_refused", "degraded", NULL };

static const struct named_family families[] = {
	{ "ratelimit_decisions_total", "counter",
	  "Decisions of a policy: shadow_refused was granted as the policy is a shadow, degraded without Redis.",
	  "outcome", outcomes, false },
};
static struct named_kind kind = {
	.kind = "policies",
	.label = "policy",
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.cell_count = CELLS,
};

static size_t outcome_of(const struct limit_request *limits, const struct limit_check *c)
{
	if (limits->degraded)
		return DEGRADED;
	if (c->decision.fits)
		return ALLOWED;
	return c->policy.shadow ? SHADOW_REFUSED : REFUSED;
}

static void count(const struct limit_check *c, size_t outcome, int64_t n)
{
	if (named_counts(&kind) && c->account.policy.at && n > 0)
		named_count(&kind, c->account.policy, outcome, (uint64_t)n);
}

void policy_metrics_decided(const struct request *req, const struct limit_request *limits)
{
	if (req->result && req->result->replayed)
		return;
	if (!limits->granted)
		metrics_count(METRIC_requests_refused);
	for (size_t i = 0; i < limits->count; i++) {
		const struct limit_check *c = &limits->checks[i];
		count(c, outcome_of(limits, c), c->cost > 0);
	}
}

void policy_metrics_took(const struct limit_request *limits, int64_t granted, int64_t refused)
{
	const struct limit_check *c = &limits->checks[0];
	int64_t fitting = !c->policy.shadow ? granted : c->decision.fits ? c->cost : 0;

	if (limits->degraded)
		fitting = granted;
	count(c, limits->degraded ? DEGRADED : ALLOWED, fitting);
	count(c, SHADOW_REFUSED, granted - fitting);
	count(c, REFUSED, refused);
}

/* ---- GET /ratelimit/policies/{name}/history ---- */

static void out_sample(struct json_out *o, const double *cells)
{
	for (size_t i = 0; i < CELLS; i++)
		out_int(o, outcomes[i], (int64_t)cells[i]);
}

void ratelimit_policy_history_get(struct request *req, const struct ratelimit_policy_history_get_input *in)
{
	figures_answer(req, &kind, in->name, in->after_at_ms, out_sample);
}

void policy_metrics_open(void)
{
	static const struct measure measure = { .kind = &kind };

	named_register(&kind);
	measure_register(&measure);
}
