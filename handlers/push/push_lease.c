#include "push/push_lease.h"

#include "core/container.h"
#include "push/push_turn.h"
#include "request/request.h"

enum {
	EXTEND_AFTER_MS = 5000,
	/*
	 * If a lease could not be extended, the request is closed this long before the lease ends.
	 */
	MARGIN_MS = 2000,
	RETRY_MS = 1000,
};

static int64_t shorter_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Drops a job whose delivery another consumer may have. */
static void lose(struct push_target *t, struct push_job **at)
{
	t->counts[PUSH_COUNT_LOST]++;
	push_state_note_failure(t, *at,
				(*at)->state == PUSH_SENT ? "its request was closed, since its lease is lost"
							  : "its lease ended before its end was stored",
				"it is delivered again, unless it was cancelled");
	push_state_drop(t, at);
}

void push_lease_lose_late(struct push_target *t)
{
	for (struct push_job **at = &t->jobs; *at;) {
		if ((*at)->state != PUSH_SETTLING && (*at)->held_until_us - 1000 * MARGIN_MS <= loop_now_us())
			lose(t, at);
		else
			at = &(*at)->next;
	}
}

static bool is_open(const struct push_job *j)
{
	return j->state == PUSH_READY || j->state == PUSH_SENT;
}

/* Returns when the next lease must be extended, or is about to end. */
int64_t push_lease_next_us(const struct push_target *t)
{
	int64_t next = INT64_MAX;

	for (const struct push_job *j = t->jobs; j; j = j->next) {
		if (is_open(j) && !t->extend.req) {
			int64_t due = j->held_until_us - 1000 * (PUSH_LEASE_MS - EXTEND_AFTER_MS);
			next = shorter_of(next, due > t->extend_at_us ? due : t->extend_at_us);
		}
		if (j->state != PUSH_SETTLING)
			next = shorter_of(next, j->held_until_us - 1000 * MARGIN_MS);
	}
	return next;
}

static struct push_job **find(struct push_target *t, struct text receipt)
{
	struct push_job **at = &t->jobs;

	while (*at && !text_equal((*at)->receipt, receipt))
		at = &(*at)->next;
	return at;
}

static void on_extended(struct self_call *i)
{
	struct push_target *t = container_of(i, struct push_target, extend);
	const struct json *answer = push_turn_answer(i), *rows = json_tree_member(answer, "deliveries");
	int64_t held_until_us = i->req->pending.sent_us + 1000 * PUSH_LEASE_MS;

	if (!rows)
		t->extend_at_us = push_state_in_ms(RETRY_MS);
	for (const struct json *row = rows ? rows->first : NULL; row; row = row->next) {
		struct push_job **at = find(t, json_tree_string(row, "receipt"));
		if (*at && is_open(*at) && text_is(json_tree_string(row, "outcome"), "extended"))
			(*at)->held_until_us = held_until_us;
		else if (*at && is_open(*at))
			lose(t, at);
	}
	self_call_end(i);
	push_state_act_soon(t);
}

/* Extends the leases that are due, and those that are due within RETRY_MS, in one call. */
void push_lease_extend(struct push_target *t)
{
	int64_t soon_us = push_state_in_ms(RETRY_MS + PUSH_LEASE_MS - EXTEND_AFTER_MS);
	int64_t due_us = soon_us - 1000 * RETRY_MS;
	bool is_due = false;

	if (t->extend.req || t->extend_at_us > loop_now_us())
		return;
	for (const struct push_job *j = t->jobs; j && !is_due; j = j->next)
		is_due = is_open(j) && j->held_until_us <= due_us;
	if (is_due && !push_turn_extend(&t->extend, t->settings->queue, t->jobs, soon_us, PUSH_LEASE_MS))
		t->extend_at_us = push_state_in_ms(RETRY_MS);
}

void push_lease_open(struct push_target *t)
{
	t->extend.answered = on_extended;
}
