/*
 * lock_metrics: see locks/lock_metrics.h. It also answers GET /locks/{name}/history.
 * lua/locks/lock_get.lua counts waiters and holders.
 */
#include "locks/lock_metrics.h"

#include "call/measure.h"
#include "common/figures.h"
#include "locks/lock_call.h"
#include "locks/lock_polls.h"
#include "locks/lock_quorum.h"
#include "process/named.h"

enum { ACQUIRED, REFUSED, TIMED_OUT, WAITERS_AT, HOLDERS_AT, CELLS };

static const char *const outcomes[] = { "acquired", "refused", "timed_out", NULL };

static const struct named_family families[] = {
	{ "lock_acquisitions_total", "counter",
	  "Acquisitions by outcome: refused without waiting, or timed out after waiting.", "outcome", outcomes, false },
	{ "lock_waiters", "gauge", "Requests of all daemons that wait for a lock.", NULL, NULL, true },
};
static const struct histogram_kind wait_kind = {
	.name = "lock_wait_seconds",
	.help = "Time that acquisitions of the named locks waited, whatever their outcome.",
	HISTOGRAM_WAIT_BOUNDS,
};
static struct named_kind kind = {
	.kind = "locks",
	.label = "lock",
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.histogram = &wait_kind,
	.cell_count = CELLS,
};

static void ended(const struct request *req, struct text name, size_t outcome)
{
	if (req->result && req->result->replayed)
		return;
	named_count(&kind, name, outcome, 1);
	named_duration(&kind, name, request_waited_us(req));
}

void lock_metrics_acquired(const struct request *req, const struct text *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ended(req, names[i], ACQUIRED);
}

void lock_metrics_refused(const struct request *req, struct text name)
{
	lock_polls_note(name);
	ended(req, name, request_waited_us(req) > 0 ? TIMED_OUT : REFUSED);
}

static struct call *look(struct request *req, struct text name)
{
	struct call *c = call_script(req, &lock_get_script);

	lock_call_keys(c, name, lock_parts_to_get);
	return c;
}

static void read(double *cells, const struct request *req, const struct reply *r)
{
	bool is_held = reply_outcome(r) == LOCK_GET_HELD;

	(void)req;
	cells[WAITERS_AT] = (double)reply_int(r, LOCK_GET_WAITER_COUNT);
	cells[HOLDERS_AT] = is_held ? (double)reply_int(r, LOCK_GET_HOLDER_COUNT) : 0;
}

/* ---- GET /locks/{name}/history ---- */

static void out_sample(struct json_out *o, const double *cells)
{
	out_int(o, "holders", (int64_t)cells[HOLDERS_AT]);
	out_int(o, "waiting", (int64_t)cells[WAITERS_AT]);
}

void lock_history_get(struct request *req, const struct lock_history_get_input *in)
{
	if (!lock_quorum_has_no(req, "the history of a lock"))
		figures_answer(req, &kind, in->name, in->after_at_ms, out_sample);
}

void lock_metrics_open(void)
{
	static const struct measure measure = { &kind, look, read };

	named_register(&kind);
	if (!*config()->lock_quorum) /* locks on a quorum have no wait queue */
		measure_register(&measure);
}
