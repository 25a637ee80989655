/* push_target: see push_target.h. */
#include "push/push_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backoff.h"
#include "core/container.h"
#include "process/log.h"
#include "push/push_turn.h"
#include "request/request.h"

enum {
	EXTEND_AFTER_MS = 5000,
	/* A request whose lease was not confirmed is closed so long before the lease ends. */
	MARGIN_MS = 2000,
	RETRY_MS = 1000,
	STOP_LOOK_MS = 100,
	CHECK_TIMEOUT_MS = 2000,
	STAND_MIN_MS = 100,
	STAND_MAX_MS = 10000,
	PAUSE_MIN_MS = 1000,
	PAUSE_MAX_MS = 60000,
	/* So often in a row a program may ask for a pause at no cost to its messages. */
	FREE_PAUSES = 100,
	FAR_US = 1000000000,
};

static void (*freed)(void);

void push_target_set_freed(void (*call)(void))
{
	freed = call;
}

static int64_t in_ms(int64_t ms)
{
	return loop_now_us() + 1000 * ms;
}

static int64_t shorter_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

bool push_target_stands(const struct push_target *t)
{
	return t->stands_until_us > loop_now_us();
}

/* ---- Jobs ---- */

static void move(struct push_target *t, struct push_job *j, enum push_job_state to)
{
	t->count[j->state]--;
	t->count[to]++;
	j->state = to;
}

/* Behind the others, as their leases are in order. */
static void add(struct push_target *t, struct push_job *j)
{
	struct push_job **end = &t->jobs;

	while (*end)
		end = &(*end)->next;
	*end = j;
	j->target = t;
	j->state = PUSH_READY;
	t->count[PUSH_READY]++;
}

static void drop(struct push_target *t, struct push_job **at)
{
	struct push_job *j = *at;

	*at = j->next;
	t->count[j->state]--;
	push_job_free(j);
}

static void end_by(struct push_target *t, struct push_job *j, enum push_end end, bool is_counted, int64_t delay_ms)
{
	j->end = end;
	j->is_counted = is_counted;
	j->delay_ms = delay_ms;
	j->settled_by = NULL;
	move(t, j, PUSH_ENDED);
}

static void log_failure(struct push_target *t, const struct push_job *j, const char *why)
{
	const char *ends = j->is_dead ? "it is a dead letter" : j->is_counted ? "it counts as a failure" : "it returns";

	snprintf(t->last_failure, sizeof(t->last_failure), "%s", why);
	t->last_failure_at_ms = loop_wall_ms();
	log_event(LOG_WARN, "push_failed", "%s to %s: message '%s', delivery %lld: %s; %s", t->settings->queue.at,
		  t->settings->url.at, j->id.at, (long long)j->receives, why, ends);
}

/* ---- A target that stands ---- */

static void stand(struct push_target *t, enum push_trouble trouble, int64_t ms, const char *why)
{
	if (t->trouble == PUSH_NO_TROUBLE)
		log_event(LOG_WARN, "push_stands", "%s to %s: %s", t->settings->queue.at, t->settings->url.at, why);
	t->trouble = trouble;
	t->allowed = 1;
	t->stands_until_us = in_ms(ms);
}

static void go_on(struct push_target *t)
{
	if (t->trouble != PUSH_NO_TROUBLE)
		log_event(LOG_INFO, "push_goes_on", "%s to %s", t->settings->queue.at, t->settings->url.at);
	t->trouble = PUSH_NO_TROUBLE;
	t->failures = t->pauses = 0;
	if (t->allowed < t->settings->concurrency)
		t->allowed++;
}

/* ---- The end of a request ---- */

static void on_done(struct push_target *t, struct push_job *j)
{
	if (j->out.is_larger)
		log_event(LOG_WARN, "push_result_dropped", "%s: the answer to message '%s' has more than 64 KiB",
			  t->settings->queue.at, j->id.at);
	t->counts[PUSH_COUNT_ACKNOWLEDGED]++;
	end_by(t, j, PUSH_ACKNOWLEDGE, true, -1);
	go_on(t);
}

static void on_failed(struct push_target *t, struct push_job *j)
{
	j->is_dead = j->answer.verdict == PUSH_DEAD;
	t->counts[j->is_dead ? PUSH_COUNT_DEAD : PUSH_COUNT_FAILED]++;
	end_by(t, j, PUSH_REJECT, true, -1);
	log_failure(t, j, j->answer.reason);
}

/* Nothing was sent: the message is due at once, here after a while or at another daemon. */
static void on_unreached(struct push_target *t, struct push_job *j)
{
	t->counts[PUSH_COUNT_UNREACHED]++;
	end_by(t, j, PUSH_REJECT, false, 0);
	log_failure(t, j, j->answer.reason);
	t->must_check = t->settings->ready_url.at != NULL;
	stand(t, PUSH_NOT_REACHED, backoff_ms(t->failures++, STAND_MIN_MS, STAND_MAX_MS, STAND_MIN_MS),
	      j->answer.reason);
}

static void on_busy(struct push_target *t, struct push_job *j)
{
	int64_t ms = j->answer.retry_after_ms;

	if (ms < 0)
		ms = backoff_ms(t->pauses, PAUSE_MIN_MS, PAUSE_MAX_MS, PAUSE_MIN_MS);
	t->counts[PUSH_COUNT_BUSY]++;
	end_by(t, j, PUSH_REJECT, ++t->pauses > FREE_PAUSES, ms);
	log_failure(t, j, j->answer.reason);
	stand(t, PUSH_PAUSED, shorter_of(ms, 3600000), j->answer.reason);
}

static void on_job_ended(struct push_job *j)
{
	static void (*const by_verdict[])(struct push_target *, struct push_job *) = {
		[PUSH_DONE] = on_done,
		[PUSH_FAILED] = on_failed,
		[PUSH_DEAD] = on_failed,
		[PUSH_BUSY] = on_busy,
		[PUSH_UNREACHED] = on_unreached,
	};
	struct push_target *t = j->target;

	by_verdict[j->answer.verdict](t, j);
	push_target_act(t);
	freed();
}

/* ---- Leases ---- */

/* Its delivery is no longer its own, or may not be. */
static void lose(struct push_target *t, struct push_job **at)
{
	t->counts[PUSH_COUNT_LOST]++;
	log_failure(t, *at, (*at)->state == PUSH_SENT ? "its lease ended, so its request was closed"
						      : "its lease ended before its end was stored");
	drop(t, at);
}

static void lose_late(struct push_target *t)
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

/* When the first lease is to be extended, or ends unless it is. */
static int64_t next_lease_us(const struct push_target *t)
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

static void on_extended(struct inner *i)
{
	struct push_target *t = container_of(i, struct push_target, extend);
	const struct json *answer = push_turn_answer(i), *rows = json_tree_member(answer, "deliveries");
	int64_t held_until_us = i->req->pending.sent_us + 1000 * PUSH_LEASE_MS;

	if (!rows)
		t->extend_at_us = in_ms(RETRY_MS);
	for (const struct json *row = rows ? rows->first : NULL; row; row = row->next) {
		struct push_job **at = find(t, json_tree_string(row, "receipt"));
		if (*at && is_open(*at) && text_is(json_tree_string(row, "outcome"), "extended"))
			(*at)->held_until_us = held_until_us;
		else if (*at && is_open(*at))
			lose(t, at);
	}
	inner_end(i);
	push_target_act(t);
}

/* Those that are due, and those that soon will be: one batch. */
static void extend(struct push_target *t)
{
	int64_t soon_us = in_ms(RETRY_MS + PUSH_LEASE_MS - EXTEND_AFTER_MS);
	int64_t due_us = soon_us - 1000 * RETRY_MS;
	bool is_due = false;

	if (t->extend.req || t->extend_at_us > loop_now_us())
		return;
	for (const struct push_job *j = t->jobs; j && !is_due; j = j->next)
		is_due = is_open(j) && j->held_until_us <= due_us;
	if (is_due && !push_turn_extend(&t->extend, t->settings->queue, t->jobs, soon_us, PUSH_LEASE_MS))
		t->extend_at_us = in_ms(RETRY_MS);
}

/* ---- Receive and settle ---- */

/* What `by` carried is settled, or is to be carried again. */
static void end_settling(struct push_target *t, const struct inner *by, bool is_settled)
{
	for (struct push_job **at = &t->jobs; *at;) {
		struct push_job *j = *at;
		if (j->state == PUSH_SETTLING && j->settled_by == by && is_settled) {
			drop(t, at);
			continue;
		}
		if (j->state == PUSH_SETTLING && j->settled_by == by)
			end_by(t, j, j->end, j->is_counted, j->delay_ms);
		at = &j->next;
	}
	if (!is_settled)
		t->settle_at_us = in_ms(RETRY_MS);
}

static void count_late(struct push_target *t, const struct json *answer)
{
	const struct json *rows = json_tree_member(answer, "deliveries");

	for (const struct json *row = rows ? rows->first : NULL; row; row = row->next)
		if (text_is(json_tree_string(row, "outcome"), "not_current"))
			t->counts[PUSH_COUNT_LOST]++;
}

static void on_settled(struct inner *i)
{
	struct push_target *t = container_of(i, struct push_target, settle);
	const struct json *answer = push_turn_answer(i);

	count_late(t, answer);
	end_settling(t, i, answer != NULL);
	inner_end(i);
	push_target_act(t);
}

/* What a job has no memory for returns when its lease ends. */
static void take_messages(struct push_target *t, const struct json *messages, int64_t sent_us)
{
	for (const struct json *m = messages->first; m; m = m->next) {
		struct push_job *j = push_job_new(m);
		if (!j)
			continue;
		j->held_until_us = sent_us + 1000 * PUSH_LEASE_MS;
		j->ended = on_job_ended;
		add(t, j);
	}
}

static void on_received(struct inner *i)
{
	struct push_target *t = container_of(i, struct push_target, receive);
	const struct json *answer = push_turn_answer(i), *messages = json_tree_member(answer, "messages");

	count_late(t, answer);
	end_settling(t, i, answer != NULL);
	if (messages && !json_tree_member(answer, "unreceived")) {
		t->receive_failures = 0;
		if (t->trouble == PUSH_NOT_RECEIVED)
			t->trouble = PUSH_NO_TROUBLE;
		take_messages(t, messages, i->req->pending.sent_us);
	} else {
		int64_t ms = backoff_ms(t->receive_failures++, STAND_MIN_MS, STAND_MAX_MS, STAND_MIN_MS);
		if (t->trouble == PUSH_NO_TROUBLE)
			stand(t, PUSH_NOT_RECEIVED, ms, "the queue could not be asked");
		t->receive_at_us = in_ms(ms);
	}
	inner_end(i);
	push_target_act(t);
}

static bool may_receive(const struct push_target *t)
{
	return !t->is_stopping && !t->must_check && !push_target_stands(t);
}

static void receive(struct push_target *t)
{
	unsigned begun = t->count[PUSH_READY] + t->count[PUSH_SENT];
	bool is_time = !t->receive.req && t->receive_at_us <= loop_now_us() && outbound_count() < OUTBOUND_MOST;

	if (is_time && may_receive(t) && begun < t->allowed && !push_turn_receive(&t->receive, t->settings->queue, t->jobs,
							    t->allowed - begun, PUSH_LEASE_MS))
		t->receive_at_us = in_ms(RETRY_MS);
	if (t->settle_at_us <= loop_now_us() && t->count[PUSH_ENDED] && !t->settle.req &&
	    !push_turn_settle(&t->settle, t->settings->queue, t->jobs))
		t->settle_at_us = in_ms(RETRY_MS);
	for (struct push_job *j = t->jobs; j; j = j->next)
		if (j->state == PUSH_ENDED && j->settled_by)
			move(t, j, PUSH_SETTLING);
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
		stand(t, PUSH_NOT_READY, backoff_ms(t->failures++, STAND_MIN_MS, STAND_MAX_MS, STAND_MIN_MS),
		      o->outcome == OUTBOUND_ANSWERED ? why : o->why);
	}
	arena_free(&t->check_arena);
	push_target_act(t);
	freed();
}

static void check(struct push_target *t)
{
	if (!t->must_check || t->is_checking || t->is_stopping || push_target_stands(t))
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
		t->stands_until_us = in_ms(RETRY_MS);
}

/* ---- All of it ---- */

/* Those that were received and not begun return: the program is away, or the target stops. */
static void return_ready(struct push_target *t)
{
	if (!t->is_stopping && !push_target_stands(t))
		return;
	for (struct push_job *j = t->jobs; j; j = j->next)
		if (j->state == PUSH_READY)
			end_by(t, j, PUSH_REJECT, false, 0);
}

static void send_ready(struct push_target *t)
{
	for (struct push_job *j = t->jobs; j && outbound_count() < OUTBOUND_MOST; j = j->next) {
		if (j->state != PUSH_READY)
			continue;
		if (push_job_send(j, t->settings))
			move(t, j, PUSH_SENT);
		else
			end_by(t, j, PUSH_REJECT, false, RETRY_MS);
	}
}

/*
 * It can do nothing with a message now, so another daemon should have it: its wait ends like that
 * of a client that disconnects. What the receive carried was settled before it waited.
 */
static void stop_waiting(struct push_target *t)
{
	if (may_receive(t) || !t->receive.req || t->receive.req->state != PARKED)
		return;
	end_settling(t, &t->receive, true);
	inner_end(&t->receive);
}

static void set_timer(struct push_target *t)
{
	int64_t now = loop_now_us(), next = next_lease_us(t);
	const int64_t instants[] = { t->stands_until_us, t->receive_at_us, t->settle_at_us, t->extend_at_us };

	for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++)
		if (instants[i] > now)
			next = shorter_of(next, instants[i]);
	if (t->is_stopping)
		next = shorter_of(next, in_ms(STOP_LOOK_MS));
	/* It was set before, so that this cannot fail. */
	loop_timer_set(&t->timer, next <= now ? now + 1000 : shorter_of(next, now + FAR_US));
}

void push_target_act(struct push_target *t)
{
	lose_late(t);
	stop_waiting(t);
	return_ready(t);
	check(t);
	send_ready(t);
	extend(t);
	receive(t);
	set_timer(t);
}

static void on_timer(struct loop_timer *timer)
{
	push_target_act(container_of(timer, struct push_target, timer));
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
	t->extend.answered = on_extended;
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
	inner_end(&t->receive);
	inner_end(&t->settle);
	inner_end(&t->extend);
	while (t->jobs)
		drop(t, &t->jobs);
	t->settings->next = NULL;
	push_file_free(t->settings);
	free(t);
}

void push_target_stop(struct push_target *t)
{
	t->is_stopping = true;
	push_target_act(t);
}

bool push_target_is_idle(const struct push_target *t)
{
	return !t->jobs && !t->receive.req && !t->settle.req && !t->extend.req && !t->is_checking;
}

void push_target_out(struct json_out *o, const struct push_target *t)
{
	static const char *const troubles[] = { NULL, "not_ready", "not_reached", "paused", "not_received" };
	static const char *const counts[PUSH_COUNTS] = { "acknowledged", "failed", "dead", "busy", "unreached",
							 "lost" };
	bool stands = push_target_stands(t);
	const char *reason = troubles[t->trouble];

	out_text(o, "name", t->settings->queue);
	out_text(o, "url", t->settings->url);
	out_text_or_null(o, "unix_socket", t->settings->unix_socket);
	out_int(o, "concurrency", t->settings->concurrency);
	out_int(o, "timeout_ms", t->settings->timeout_ms);
	out_string(o, "state", t->is_stopping ? "stopping" : stands ? "standing" : t->must_check ? "checking" : "on");
	out_text_or_null(o, "reason", text_of(reason));
	out_int_or_null(o, "until_ms", stands, loop_wall_ms() + (t->stands_until_us - loop_now_us()) / 1000);
	out_int(o, "allowed", t->allowed);
	out_int(o, "open", t->count[PUSH_SENT]);
	out_object(o, "counts");
	for (size_t i = 0; i < PUSH_COUNTS; i++)
		out_int(o, counts[i], (int64_t)t->counts[i]);
	out_close(o);
	if (!t->last_failure_at_ms) {
		out_null(o, "last_failure");
		return;
	}
	out_object(o, "last_failure");
	out_string(o, "detail", t->last_failure);
	out_int(o, "at_ms", t->last_failure_at_ms);
	out_close(o);
}
