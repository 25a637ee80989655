#include "push/push_target.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/container.h"
#include "push/push_lease.h"
#include "push/push_outcome.h"
#include "push/push_turn.h"
#include "request/request.h"

enum { RETRY_MS = 1000, RAISE_MS = 1000, LOOK_MS = 100, CHECK_TIMEOUT_MS = 2000, FAR_US = 1000000000 };

/* All requests were open when a target wanted to begin one. From then on, targets take turns. */
static bool is_crowded;

void push_target_end_turns(void)
{
	is_crowded = outbound_count() == OUTBOUND_MOST;
}

static int64_t shorter_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void act(struct push_target *t, bool is_its_turn);

/* The timer is set once for all jobs that end in an iteration. */
static void on_job_ended(struct push_job *j)
{
	struct push_target *t = j->target;

	push_outcome_take(t, j);
	push_state_act_soon(t);
}

/* ---- Receive and settle ---- */

/*
 * The operation `by` has ended. Its jobs are settled, or become ENDED again, to be settled later.
 */
static void end_settling(struct push_target *t, const struct self_call *by, bool is_settled)
{
	int status = by->req->answer.status;
	bool is_refused = status >= 400 && status < 500;

	for (struct push_job **at = &t->jobs; *at;) {
		struct push_job *j = *at;
		if (j->state == PUSH_SETTLING && j->settled_by == by && is_settled) {
			push_state_drop(t, at);
			continue;
		}
		if (j->state == PUSH_SETTLING && j->settled_by == by) {
			if (is_refused)
				push_answer_make_plain(&j->answer);
			push_state_end(t, j, j->end, j->is_counted, j->delay_ms);
			t->settle_at_us = push_state_in_ms(RETRY_MS);
		}
		at = &j->next;
	}
}

static void note_received(struct push_target *t)
{
	t->receive_failures = 0;
	if (t->trouble == PUSH_NOT_RECEIVED)
		t->trouble = PUSH_NO_TROUBLE;
}

/*
 * A receive that waits has settled the jobs that it carried and has asked the queue. Whatever it
 * answers later, these jobs can be dropped.
 */
static void note_waiting(struct push_target *t)
{
	if (!t->receive.req || !t->receive.req->pending.parkings)
		return;
	note_received(t);
	end_settling(t, &t->receive, true);
}

static void count_late(struct push_target *t, const struct json *answer)
{
	const struct json *rows = json_tree_member(answer, "deliveries");

	for (const struct json *row = rows ? rows->first : NULL; row; row = row->next)
		if (text_is(json_tree_string(row, "outcome"), "not_current"))
			t->counts[PUSH_COUNT_LOST]++;
}

static void on_settled(struct self_call *i)
{
	struct push_target *t = container_of(i, struct push_target, settle);
	const struct json *answer = push_turn_answer(i);

	count_late(t, answer);
	end_settling(t, i, answer != NULL);
	self_call_end(i);
	act(t, false);
}

/*
 * If memory is missing for a job, its message is returned; if even that fails, its lease runs out.
 * The next receive asks for one message, because the answer with many takes memory, too.
 */
static void take_messages(struct push_target *t, const struct json *messages, int64_t sent_us)
{
	for (const struct json *m = messages->first; m; m = m->next) {
		struct push_job *whole = push_job_new(m), *j = whole ? whole : push_job_new_bare(m);
		if (!j)
			continue;
		j->held_until_us = sent_us + 1000 * PUSH_LEASE_MS;
		j->ended = on_job_ended;
		push_state_add(t, j);
		if (whole)
			continue;
		push_state_end(t, j, PUSH_REJECT, false, RETRY_MS);
		push_state_note_failure(t, j, "there is no memory for it", "it returns to the queue");
		t->allowed = 1;
		t->receive_at_us = push_state_in_ms(RETRY_MS);
	}
}

static void on_received(struct self_call *i)
{
	struct push_target *t = container_of(i, struct push_target, receive);
	const struct json *answer = push_turn_answer(i), *messages = json_tree_member(answer, "messages");

	count_late(t, answer);
	note_waiting(t);
	end_settling(t, i, answer != NULL);
	if (messages && !json_tree_member(answer, "unreceived")) {
		note_received(t);
		take_messages(t, messages, i->req->pending.sent_us);
	} else {
		t->receive_at_us = push_state_in_ms(push_outcome_not_received(t, answer ? 503 : i->req->answer.status));
	}
	self_call_end(i);
	act(t, false);
}

static bool may_receive(const struct push_target *t)
{
	return !t->is_stopping && !t->must_check && !push_state_backs_off(t);
}

static void receive(struct push_target *t)
{
	unsigned begun = t->count[PUSH_READY] + t->count[PUSH_SENT], unused = OUTBOUND_MOST - outbound_count();
	unsigned wanted = begun < t->allowed ? t->allowed - begun : 0;
	bool is_time = !t->receive.req && t->receive_at_us <= loop_now_us();

	wanted = wanted < unused ? wanted : unused;
	if (is_time && may_receive(t) && push_state_has_room(t) && wanted &&
	    !push_turn_receive(&t->receive, t->settings->queue, t->jobs, wanted, PUSH_LEASE_MS))
		t->receive_at_us = push_state_in_ms(RETRY_MS);
	if (t->settle_at_us <= loop_now_us() && t->count[PUSH_ENDED] && !t->settle.req &&
	    !push_turn_settle(&t->settle, t->settings->queue, t->jobs))
		t->settle_at_us = push_state_in_ms(RETRY_MS);
	for (struct push_job *j = t->jobs; j; j = j->next)
		if (j->state == PUSH_ENDED && j->settled_by)
			push_state_move(t, j, PUSH_SETTLING);
}

/* ---- Is the program ready? ---- */

static void on_checked(struct outbound *o)
{
	struct push_target *t = container_of(o, struct push_target, check);
	char why[64];

	t->is_checking = false;
	t->must_check = o->outcome != OUTBOUND_ANSWERED || o->status < 200 || o->status > 299;
	if (t->must_check) {
		snprintf(why, sizeof(why), "its ready_path answered HTTP %d", o->status);
		push_outcome_not_ready(t, o->outcome == OUTBOUND_ANSWERED ? why : o->why);
	}
	arena_free(&t->check_arena);
	act(t, false);
}

static void check(struct push_target *t)
{
	if (!t->must_check || t->is_checking || t->is_stopping || push_state_backs_off(t))
		return;
	t->check_arena = (struct arena){ 0 };
	t->check = (struct outbound){
		.url = t->settings->ready_url.at,
		.unix_socket = t->settings->unix_socket.at,
		.timeout_ms = CHECK_TIMEOUT_MS,
		.arena = &t->check_arena,
		.ended = on_checked,
	};
	t->is_checking = outbound_send(&t->check);
	if (!t->is_checking)
		t->backs_off_until_us = push_state_in_ms(RETRY_MS);
}

/* ---- One step of a target ---- */

/* A program that has been busy with all allowed requests for a second gets one more. */
static void allow_more(struct push_target *t)
{
	if (t->count[PUSH_SENT] < t->allowed || t->allowed == t->settings->concurrency)
		t->raise_at_us = 0;
	else if (!t->raise_at_us)
		t->raise_at_us = push_state_in_ms(RAISE_MS);
	if (!t->raise_at_us || t->raise_at_us > loop_now_us())
		return;
	t->allowed++;
	t->raise_at_us = 0;
}

/* Returns the messages that were received and not sent, if the target pauses or stops. */
static void return_ready(struct push_target *t)
{
	if (!t->is_stopping && !push_state_backs_off(t))
		return;
	for (struct push_job *j = t->jobs; j; j = j->next)
		if (j->state == PUSH_READY)
			push_state_end(t, j, PUSH_REJECT, false, 0);
}

static void send_ready(struct push_target *t, bool is_its_turn)
{
	for (struct push_job *j = t->jobs; j && t->count[PUSH_READY]; j = j->next) {
		is_crowded = is_crowded || outbound_count() == OUTBOUND_MOST;
		if (is_crowded && !(is_its_turn && outbound_count() < OUTBOUND_MOST))
			return;
		if (j->state != PUSH_READY)
			continue;
		if (push_job_send(j, t->settings))
			push_state_move(t, j, PUSH_SENT);
		else
			push_state_end(t, j, PUSH_REJECT, false, RETRY_MS);
	}
}

/*
 * If the target can do nothing with a message now, another daemon should get it. The waiting
 * receive ends as if its client disconnected.
 */
static void stop_waiting(struct push_target *t)
{
	note_waiting(t);
	if (!may_receive(t) && t->receive.req && t->receive.req->state == PARKED)
		self_call_end(&t->receive);
}

static void set_timer(struct push_target *t)
{
	int64_t now = loop_now_us(), next = push_lease_next_us(t);
	const int64_t instants[] = { t->backs_off_until_us, t->raise_at_us, t->receive_at_us, t->settle_at_us,
				     t->extend_at_us };

	for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++)
		if (instants[i] > now)
			next = shorter_of(next, instants[i]);
	/* No function is called when a receive begins to wait, so look for it. */
	if (t->receive.req && (t->is_stopping || t->count[PUSH_SETTLING] || t->trouble == PUSH_NOT_RECEIVED))
		next = shorter_of(next, push_state_in_ms(LOOK_MS));
	/* The timer was set before, so setting it cannot fail. */
	loop_timer_set(&t->timer, next <= now ? now + 1000 : shorter_of(next, now + FAR_US));
}

static void act(struct push_target *t, bool is_its_turn)
{
	push_lease_lose_late(t);
	stop_waiting(t);
	return_ready(t);
	check(t);
	send_ready(t, is_its_turn);
	push_lease_extend(t);
	allow_more(t);
	receive(t);
	set_timer(t);
}

void push_target_take_turn(struct push_target *t)
{
	act(t, true);
}

static void on_timer(struct loop_timer *timer)
{
	act(container_of(timer, struct push_target, timer), false);
}

struct push_target *push_target_new(struct push_settings *settings)
{
	struct push_target *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->settings = settings;
	t->allowed = 1;
	t->must_check = settings->ready_url.at != NULL;
	t->receive.answered = on_received;
	t->settle.answered = on_settled;
	push_lease_open(t);
	t->timer.expired = on_timer;
	if (!loop_timer_set(&t->timer, loop_now_us())) {
		free(t);
		return NULL;
	}
	return t;
}

void push_target_free(struct push_target *t)
{
	loop_timer_stop(&t->timer);
	if (t->is_checking) {
		outbound_cancel(&t->check);
		arena_free(&t->check_arena);
	}
	self_call_end(&t->receive);
	self_call_end(&t->settle);
	self_call_end(&t->extend);
	while (t->jobs)
		push_state_drop(t, &t->jobs);
	t->settings->next = NULL;
	push_file_free(t->settings);
	free(t);
}

void push_target_stop(struct push_target *t)
{
	t->is_stopping = true;
	act(t, false);
}

bool push_target_is_idle(const struct push_target *t)
{
	return !t->jobs && !t->receive.req && !t->settle.req && !t->extend.req && !t->is_checking;
}
