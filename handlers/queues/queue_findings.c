#include "queues/queue_findings.h"

#include <stdio.h>

#include "common/finding.h"
#include "queues/queue_content.h"

enum {
	PAUSED_MS = 3600000, /* a queue that waits for so long was perhaps paused and forgotten */
	FAILING_ALL = 3,     /* failed deliveries, or messages in retry, while none was acknowledged */
	FAILING_ONE = 5,     /* deliveries of one message */
	SHOWN_ID = 100,      /* bytes of an id */
};

/* A queue, while it is written. */
struct state {
	struct text name;
	int64_t now_ms, failed, acknowledged, failing;
	struct queue_delivered last, most, hanging;
	bool is_paused;
	struct text dead_letter_queue; /* empty if it has none */
	struct text letters_from;      /* whose dead letters moved here; empty if none did */
};

/* Writes what comes before it and ": REASON (WORKER)", if the message of that delivery is there. */
static const char *reason_of(const char *before, const struct queue_delivered *d, char *to, size_t size)
{
	struct text reason = d->reason;
	bool has_worker = reason.len && d->worker.len;

	*to = '\0';
	if (reason.len)
		snprintf(to, size, "%s: %.*s%s%.*s%s", before, (int)reason.len, reason.at, has_worker ? " (" : "",
			 has_worker ? (int)d->worker.len : 0, has_worker ? d->worker.at : "", has_worker ? ")" : "");
	return to;
}

static int shown_id(struct text id)
{
	return (int)(id.len < SHOWN_ID ? id.len : SHOWN_ID);
}

/* Returns whether one message failed in all deliveries of late that failed, and no other waits. */
static bool fails_alone(const struct reply *r)
{
	struct text last = reply_text(r, QUEUE_GET_LAST_FAILED + QUEUE_DELIVERED_SEQUENCE);
	size_t most = QUEUE_GET_MOST_FAILED;

	return reply_int(r, QUEUE_GET_RETRYING) <= 1 && last.len &&
	       text_equal(last, reply_text(r, most + QUEUE_DELIVERED_SEQUENCE)) &&
	       reply_int(r, QUEUE_GET_FAILED_LATELY) <=
		       queue_state_receives(reply_text(r, most + QUEUE_DELIVERED_STORED_STATE));
}

/*
 * While nothing is acknowledged, retries become rare. Then the messages that wait for another try
 * count, and not the failures of late.
 */
int64_t queue_findings_failing(const struct reply *r)
{
	int64_t failed = reply_int(r, QUEUE_GET_FAILED_LATELY), retrying = reply_int(r, QUEUE_GET_RETRYING);
	int64_t acknowledged = reply_int(r, QUEUE_GET_ACKNOWLEDGED_LATELY), failing = reply_int(r, QUEUE_GET_FAILING);

	if (acknowledged > 0)
		return failed >= FINDING_FAILING && failed > acknowledged && !fails_alone(r) ? failed : 0;
	if (failed >= FAILING_ALL && failing > 1)
		return failed;
	return retrying >= FAILING_ALL && failing >= FAILING_ALL ? retrying : 0;
}

/*
 * Finds work that fails before its messages are dead letters: most deliveries, or all of one
 * message.
 */
static void find_failing(struct json_out *o, const struct state *t)
{
	char reason[FINDING_DETAIL_BYTES];
	struct finding f = { "work_failing",          "error", t->name, "deliveries", t->failing, t->failing,
			     .message_id = t->last.id };

	if (t->failing == t->failed && t->failing)
		finding_out(o, &f, "%" PRId64 " deliveries failed within 150 s, and %" PRId64 " %s acknowledged%s",
			    t->failed, t->acknowledged, t->acknowledged == 1 ? "was" : "were",
			    reason_of("; the last failed", &t->last, reason, sizeof(reason)));
	else if (t->failing)
		finding_out(o, &f,
			    "%" PRId64 " messages failed and wait for another try, and none was acknowledged since%s",
			    t->failing, reason_of("; the last failed", &t->last, reason, sizeof(reason)));
	else if (t->most.receives >= FAILING_ONE)
		finding_out(o,
			    &(struct finding){ "message_failing", "warning", t->name, "deliveries", t->most.receives, 1,
					       .message_id = t->most.id },
			    "message %.*s was delivered %" PRId64 " times, and failed%s", shown_id(t->most.id),
			    t->most.id.at, t->most.receives, reason_of("", &t->most, reason, sizeof(reason)));
}

/* Finds a worker that keeps extending one delivery, for which other messages may wait. */
static void find_hanging(struct json_out *o, const struct state *t, int64_t blocked)
{
	int64_t since_at_ms = t->hanging.received_at_ms;
	struct text id = t->hanging.id, worker = t->hanging.worker.len ? t->hanging.worker : TEXT("a worker");

	if (since_at_ms > 0)
		finding_out(o,
			    &(struct finding){ "work_hanging", "error", t->name, "ms", t->now_ms - since_at_ms,
					       1 + blocked, .since_at_ms = since_at_ms, .message_id = id },
			    "%.*s extends message %.*s without an end; %" PRId64 " message%s of the queue %s blocked",
			    (int)worker.len, worker.at, shown_id(id), id.at, blocked, finding_plural(blocked),
			    finding_verb(blocked));
}

static void find_old(struct json_out *o, const struct state *t, const struct reply *r)
{
	char letters[FINDING_DETAIL_BYTES] = "";
	int64_t at_ms = reply_int(r, QUEUE_GET_OLDEST_READY_AT_MS), ready = reply_int(r, QUEUE_GET_READY);
	int64_t in_flight = reply_int(r, QUEUE_GET_IN_FLIGHT);
	struct finding f = { t->is_paused ? "queue_paused" : "messages_waiting",
			     "warning",
			     t->name,
			     "ms",
			     t->now_ms - at_ms,
			     ready,
			     .since_at_ms = at_ms };

	if (at_ms < 0 || t->now_ms - at_ms <= (t->is_paused ? PAUSED_MS : FINDING_OLD_MS))
		return;
	if (t->letters_from.len)
		snprintf(letters, sizeof(letters), "; it gets the dead letters of queue '%.*s'",
			 (int)t->letters_from.len, t->letters_from.at);
	if (t->is_paused || in_flight == 0)
		finding_out(o, &f, "%" PRId64 " message%s %s due, and %s%s", ready, finding_plural(ready),
			    finding_verb(ready), t->is_paused ? "the queue is paused" : "none is in flight", letters);
	else
		finding_out(o, &f, "%" PRId64 " message%s %s due, and %" PRId64 " %s in flight%s", ready,
			    finding_plural(ready), finding_verb(ready), in_flight, finding_verb(in_flight), letters);
}

static void find_missed(struct json_out *o, const struct state *t, int64_t at_ms)
{
	if (at_ms >= 0 && t->now_ms - at_ms > (t->is_paused ? PAUSED_MS : FINDING_LATE_MS))
		finding_out(o,
			    &(struct finding){ "schedule_missed", "warning", t->name, "ms", t->now_ms - at_ms,
					       .since_at_ms = at_ms },
			    "a schedule is due, and %s",
			    t->is_paused ? "the queue is paused"
					 : "no worker receives from the queue to make its message");
}

static void find_dead(struct json_out *o, const struct state *t, int64_t dead)
{
	struct text to = t->dead_letter_queue;

	if (dead > 0 && to.len)
		finding_out(o, &(struct finding){ "dead_letters", "warning", t->name, "messages", dead, .count = dead },
			    "%" PRId64
			    " dead letter%s %s not moved to queue '%.*s': check that it exists, and has room "
			    "(max_messages). A letter whose id is in use or remembered there stays. Each look at this "
			    "queue tries the move again",
			    dead, finding_plural(dead), dead == 1 ? "has" : "have", (int)to.len, to.at);
	else if (dead > 0)
		finding_out(o, &(struct finding){ "dead_letters", "warning", t->name, "messages", dead, .count = dead },
			    "%" PRId64 " dead letter%s wait%s for a redrive or a purge", dead, finding_plural(dead),
			    dead == 1 ? "s" : "");
}

static void out_delivered(struct json_out *o, const char *member, const struct queue_delivered *d, bool hangs)
{
	if (!d->id.at) {
		out_null(o, member);
		return;
	}
	out_object(o, member);
	out_text(o, "id", d->id);
	out_int(o, "receives", d->receives);
	out_text_or_null(o, "worker", d->worker);
	if (hangs)
		out_int(o, "received_at_ms", d->received_at_ms);
	else
		out_text_or_null(o, "reason", d->reason);
	out_close(o);
}

void queue_findings_out(struct json_out *o, const struct request *req, struct text name, const struct reply *r)
{
	int64_t failed_at_ms = reply_int(r, QUEUE_GET_LAST_FAILED_AT_MS);
	struct state t = {
		.name = name,
		.now_ms = req->now_ms,
		.failed = reply_int(r, QUEUE_GET_FAILED_LATELY),
		.acknowledged = reply_int(r, QUEUE_GET_ACKNOWLEDGED_LATELY),
		.failing = queue_findings_failing(r),
		.last = queue_delivered_of(o->arena, r, QUEUE_GET_LAST_FAILED, true),
		.most = queue_delivered_of(o->arena, r, QUEUE_GET_MOST_FAILED, true),
		.hanging = queue_delivered_of(o->arena, r, QUEUE_GET_HANGING, false),
		.is_paused = reply_int(r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_PAUSED) > 0,
		.dead_letter_queue = reply_text(r, QUEUE_GET_SETTINGS + QUEUE_SETTINGS_DEAD_LETTER_QUEUE),
		.letters_from = queue_decoded(o->arena, reply_text(r, QUEUE_GET_LETTERS_FROM)),
	};

	out_object(o, "recent");
	out_int(o, "acknowledged", t.acknowledged);
	out_int(o, "failed", t.failed);
	out_close(o);
	out_int_or_null(o, "last_failed_at_ms", failed_at_ms > 0, failed_at_ms);
	out_delivered(o, "last_failed", &t.last, false);
	out_delivered(o, "most_failed", &t.most, false);
	out_delivered(o, "hanging", &t.hanging, true);
	out_array(o, "findings");
	find_failing(o, &t);
	find_hanging(o, &t, reply_int(r, QUEUE_GET_BLOCKED));
	find_dead(o, &t, reply_int(r, QUEUE_GET_DEAD));
	find_old(o, &t, r);
	find_missed(o, &t, reply_int(r, QUEUE_GET_SCHEDULE_AT_MS));
	out_close(o);
}
