/*
 * queue_metrics: see queue_metrics.h. It also answers GET /queues/{name}/history.
 * lua/queues/queue_get.lua reads the figures from Redis.
 */
#include "queues/queue_metrics.h"

#include "call/measure.h"
#include "common/figures.h"
#include "process/named.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/queue_findings.h"

enum {
	STATES_AT = QUEUE_DUPLICATE + 1,
	STATES = 5,
	OLDEST_AT = STATES_AT + STATES,
	PAUSED_AT,
	EXPIRED_AT,
	DIED_AT,
	FAILED_AT,                 /* rejected, timed out */
	RECENT_AT = FAILED_AT + 2, /* acknowledged, failed */
	RETRYING_AT = RECENT_AT + 2,
	MOST_FAILED_AT,
	HANGING_AT,
	OLDEST_BLOCKED_AT,
	WORK_FAILING_AT,
	SENT_AT,
	CELLS
};
/* Indexes of the reply, in the order of queue_states. */
static const size_t counts[STATES] = { QUEUE_GET_READY, QUEUE_GET_DELAYED, QUEUE_GET_IN_FLIGHT, QUEUE_GET_DEAD,
				       QUEUE_GET_BLOCKED };

static const char *const failures[] = { "rejected", "timed_out", NULL };
static const char *const recent[] = { "acknowledged", "failed", NULL };
static const char *const events[] = { "sent", "received", "acknowledged", "rejected", "duplicate", NULL };

static const struct named_family families[] = {
	{ "queue_events_total", "counter",
	  "Messages that this daemon sent, delivered, acknowledged and rejected; sends whose id was in use.", "event",
	  events, false },
	{ "queue_messages", "gauge", "Messages in a queue by state, as Redis has them.", "state", queue_states, true },
	{ "queue_oldest_ready_seconds", "gauge", "Age of the oldest message that is ready; 0 when none is.", NULL, NULL,
	  true },
	{ "queue_paused", "gauge", "1 while the queue is paused, else 0.", NULL, NULL, true },
	{ "queue_expired_messages_total", "counter",
	  "Messages dropped because their ttl_ms had passed, by all daemons, since the queue was made.", NULL, NULL,
	  true },
	{ "queue_dead_letters_total", "counter",
	  "Messages that became dead letters, by all daemons, since the queue was made.", NULL, NULL, true },
	{ "queue_failed_deliveries_total", "counter",
	  "Deliveries that were rejected or timed out, by all daemons, since the queue was made.", "end", failures,
	  true },
	{ "queue_recent_deliveries", "gauge", "Deliveries of the last 150 s, of all daemons, by how they have ended.",
	  "end", recent, true },
	{ "queue_retrying_messages", "gauge", "Delayed messages that were delivered before.", NULL, NULL, true },
	{ "queue_most_failed_receives", "gauge",
	  "Deliveries of the message that failed most often, apart from dead letters; 0 without one.", NULL, NULL,
	  true },
	{ "queue_hanging_seconds", "gauge",
	  "Age of the oldest delivery that its worker extends without an end; 0 when there is none.", NULL, NULL,
	  true },
	{ "queue_oldest_blocked_seconds", "gauge",
	  "Time since the oldest blocked message was sent, of the first 50 groups; 0 when none is.", NULL, NULL, true },
	{ "queue_work_failing", "gauge",
	  "Deliveries or messages of the finding work_failing of GET /overview; 0 while the queue has no such finding.",
	  NULL, NULL, true },
};
static struct named_kind kind = {
	.kind = "queues",
	.label = "queue",
	.families = families,
	.family_count = sizeof(families) / sizeof(families[0]),
	.cell_count = CELLS,
};
static_assert((int)CELLS <= (int)NAMED_CELLS, "a queue has more cells than there is room for");

void queue_metrics_count(const struct request *req, struct text queue, enum queue_event event, size_t n)
{
	if (!req->result || !req->result->replayed)
		named_count(&kind, queue, event, n);
}

void queue_metrics_seen(struct text queue)
{
	named_seen(&kind, queue);
}

static void read(double *cells, const struct request *req, const struct reply *r)
{
	int64_t hanging_at_ms =
		queue_state_received_at_ms(reply_text(r, QUEUE_GET_HANGING + QUEUE_DELIVERED_STORED_STATE));
	int64_t blocked_at_ms = reply_int(r, QUEUE_GET_OLDEST_BLOCKED_AT_MS);
	int64_t oldest_at_ms = reply_int(r, QUEUE_GET_OLDEST_READY_AT_MS);
	size_t most = QUEUE_GET_MOST_FAILED;

	for (size_t i = 0; i < STATES; i++)
		cells[STATES_AT + i] = (double)reply_int(r, counts[i]);
	cells[OLDEST_AT] = oldest_at_ms >= 0 ? (double)(req->now_ms - oldest_at_ms) / 1000 : 0;
	cells[PAUSED_AT] = (double)(reply_int(r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_PAUSED) > 0);
	cells[EXPIRED_AT] = (double)reply_int(r, QUEUE_GET_EXPIRED);
	cells[DIED_AT] = (double)reply_int(r, QUEUE_GET_DIED);
	cells[FAILED_AT] = (double)reply_int(r, QUEUE_GET_REJECTED);
	cells[FAILED_AT + 1] = (double)reply_int(r, QUEUE_GET_TIMED_OUT);
	cells[RECENT_AT] = (double)reply_int(r, QUEUE_GET_ACKNOWLEDGED_LATELY);
	cells[RECENT_AT + 1] = (double)reply_int(r, QUEUE_GET_FAILED_LATELY);
	cells[RETRYING_AT] = (double)reply_int(r, QUEUE_GET_RETRYING);
	cells[MOST_FAILED_AT] = (double)queue_state_receives(reply_text(r, most + QUEUE_DELIVERED_STORED_STATE));
	cells[HANGING_AT] = hanging_at_ms ? (double)(req->now_ms - hanging_at_ms) / 1000 : 0;
	cells[OLDEST_BLOCKED_AT] = blocked_at_ms >= 0 ? (double)(req->now_ms - blocked_at_ms) / 1000 : 0;
	cells[WORK_FAILING_AT] = (double)queue_findings_failing(r);
	cells[SENT_AT] = (double)reply_int(r, QUEUE_GET_SENT);
}

/* ---- GET /queues/{name}/history ---- */

static void out_sample(struct json_out *o, const double *cells)
{
	for (size_t i = 0; i < STATES; i++)
		out_int(o, queue_states[i], (int64_t)cells[STATES_AT + i]);
	out_int_or_null(o, "oldest_ready_ms", cells[STATES_AT] > 0, (int64_t)(cells[OLDEST_AT] * 1000 + 0.5));
	out_int(o, "sent", (int64_t)cells[SENT_AT]);
	out_int(o, "expired", (int64_t)cells[EXPIRED_AT]);
	out_int(o, "died", (int64_t)cells[DIED_AT]);
	out_int(o, "retrying", (int64_t)cells[RETRYING_AT]);
	out_int(o, "rejected", (int64_t)cells[FAILED_AT]);
	out_int(o, "timed_out", (int64_t)cells[FAILED_AT + 1]);
}

void queue_history_get(struct request *req, const struct queue_history_get_input *in)
{
	figures_answer(req, &kind, in->name, in->after_at_ms, out_sample);
}

void queue_metrics_open(void)
{
	static const struct measure measure = { &kind, queue_look, read };

	named_register(&kind);
	measure_register(&measure);
}
