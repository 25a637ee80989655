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

void policy_metrics_decided(const struct request *req, const struct limit_request *limits)
{
	if (req->result && req->result->replayed)
		return;
	if (!limits->granted)
		metrics_count(METRIC_requests_refused);
	for (size_t i = 0; named_counts(&kind) && i < limits->count; i++) {
		const struct limit_check *c = &limits->checks[i];
		if (c->account.policy.at && c->cost > 0)
			named_count(&kind, c->account.policy, outcome_of(limits, c), 1);
	}
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
