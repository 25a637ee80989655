/*
 * push: see push.h. It owns the list of targets, in the order of the file. When all OUTBOUND_MOST
 * requests are open, it decides which target may begin the next one.
 */
#include "push/push.h"

#include <stdio.h>

#include "common/finding.h"
#include "common/handler.h"
#include "process/log.h"
#include "process/metrics.h"
#include "push/push_target.h"

enum { WHY_BYTES = 512, LOOK_US = 100000, FAR_US = 1000000000 };
#define FAILING_KEPT_US (INT64_C(3600) * 1000000)

static struct push_settings *read; /* the settings between push_open and push_start */
static struct push_target *targets;
static struct loop_timer soon;
static bool is_draining;

static bool read_file(char *why, size_t size)
{
	return push_file_read(config()->push, &read, why, size) && outbound_load(why, size);
}

bool push_open(void)
{
	char why[WHY_BYTES];

	if (!*config()->push || read_file(why, sizeof(why)))
		return true;
	fprintf(stderr, "patternd: --push: %s\n", why);
	return false;
}

void push_print(void)
{
	size_t n = 0;

	for (const struct push_settings *s = read; s; s = s->next)
		n++;
	if (n)
		printf("# --push has %zu target%s\n", n, n == 1 ? "" : "s");
}

/* ---- The targets ---- */

/* Adds a target at the end of the list. Its timer runs its first step. */
static void add(struct push_settings *s)
{
	struct push_target **end = &targets;
	struct push_target *t = push_target_new(s);

	while (*end)
		end = &(*end)->next;
	*end = t;
	if (t)
		return;
	log_event(LOG_ERROR, "push_refused", "there is no memory for the target of %s", s->queue.at);
	push_file_free(s);
}

static void add_all(struct push_settings *fresh)
{
	while (fresh) {
		struct push_settings *next = fresh->next;
		fresh->next = NULL;
		add(fresh);
		fresh = next;
	}
}

/*
 * Frees the targets that have stopped and are idle. Returns true if others that stopped are not
 * idle yet.
 */
static bool remove_idle(void)
{
	bool are_left = false;

	for (struct push_target **at = &targets; *at;) {
		struct push_target *t = *at;
		if (t->is_stopping && push_target_is_idle(t)) {
			*at = t->next;
			push_target_free(t);
		} else {
			are_left = are_left || t->is_stopping;
			at = &t->next;
		}
	}
	return are_left;
}

/*
 * Call it when all requests were open. It gives each target a turn, and begins with the target
 * after the one that began the last request.
 */
static void take_turns(void)
{
	static size_t turn;
	size_t first = turn;

	for (int is_before = 0; is_before <= 1; is_before++) {
		size_t at = 0;
		for (struct push_target *t = targets; t; t = t->next, at++) {
			unsigned open = outbound_count();
			if (open == OUTBOUND_MOST || (at < first) != is_before)
				continue;
			push_target_take_turn(t);
			if (outbound_count() > open)
				turn = at + 1;
		}
	}
	push_target_end_turns();
}

static void on_soon(struct loop_timer *t)
{
	bool are_left = remove_idle();

	take_turns();
	loop_timer_set(t, loop_now_us() + (are_left ? LOOK_US : FAR_US));
}

static void act_soon(void)
{
	loop_timer_set(&soon, loop_now_us());
}

static double count_targets(void)
{
	size_t n = 0;

	for (const struct push_target *t = targets; t; t = t->next)
		n++;
	return (double)n;
}

static double count_backing_off(void)
{
	size_t n = 0;

	for (const struct push_target *t = targets; t; t = t->next)
		n += push_state_backs_off(t);
	return (double)n;
}

static double count_open(void)
{
	return outbound_count();
}

bool push_start(void)
{
	metrics_gauge("push_targets", "Targets of --push.", count_targets);
	metrics_gauge("push_targets_backing_off", "Targets of --push that call nothing for a while.",
		      count_backing_off);
	metrics_gauge("push_requests_open", "Requests to programs of --push that are open.", count_open);
	if (!*config()->push)
		return true;
	soon.expired = on_soon;
	if (!loop_timer_set(&soon, loop_now_us() + FAR_US) || !outbound_open(act_soon)) {
		fprintf(stderr, "patternd: --push: there is no memory for timers\n");
		return false;
	}
	add_all(read);
	read = NULL;
	return true;
}

/* ---- SIGHUP ---- */

/*
 * If *list has the settings of the target, removes them from the list, frees them and returns true.
 */
static bool is_kept(const struct push_target *t, struct push_settings **list)
{
	for (struct push_settings **at = list; *at; at = &(*at)->next) {
		struct push_settings *s = *at;
		if (!text_equal(s->queue, t->settings->queue) || !text_equal(s->written, t->settings->written) ||
		    !text_equal(s->secret, t->settings->secret))
			continue;
		*at = s->next;
		s->next = NULL;
		push_file_free(s);
		return true;
	}
	return false;
}

void push_reload(void)
{
	char why[WHY_BYTES];
	unsigned kept = 0, stopped = 0, added = 0;

	if (!*config()->push || is_draining)
		return;
	if (!read_file(why, sizeof(why))) {
		log_event(LOG_ERROR, "push_kept", "%s; the targets read before stay in use", why);
		return;
	}
	for (struct push_target *t = targets; t; t = t->next) {
		if (t->is_stopping)
			continue;
		if (is_kept(t, &read)) {
			kept++;
			continue;
		}
		push_target_stop(t);
		stopped++;
	}
	for (const struct push_settings *s = read; s; s = s->next)
		added++;
	add_all(read);
	read = NULL;
	act_soon();
	log_event(LOG_INFO, "push_read", "targets: %u unchanged, %u stopping, %u new", kept, stopped, added);
}

/* ---- The end ---- */

void push_drain(void)
{
	is_draining = true;
	for (struct push_target *t = targets; t; t = t->next)
		push_target_stop(t);
}

bool push_is_busy(void)
{
	remove_idle();
	for (const struct push_target *t = targets; t; t = t->next)
		if (!push_target_is_idle(t))
			return true;
	return false;
}

void push_close(void)
{
	push_file_free(read);
	read = NULL;
	while (targets) {
		struct push_target *next = targets->next;
		push_target_free(targets);
		targets = next;
	}
	loop_timer_stop(&soon);
	outbound_close();
}

/* ---- GET /push ---- */

/*
 * If the queue cannot be read, no program is to blame: there is another finding, or `unknown` of
 * the overview names the queues. At its start a daemon cannot read it before Redis is reached.
 */
static void find_failing(struct json_out *o, const struct push_target *t, const char *reason, int64_t until_ms)
{
	bool backs_off = !t->is_stopping && (push_state_backs_off(t) || (t->must_check && reason)) &&
			 t->trouble != PUSH_NOT_RECEIVED;
	const char *url = t->settings->url.at, *why = t->last_failure_at_ms ? t->last_failure : reason ? reason : "";
	struct finding f = { backs_off ? "push_backing_off" : "push_failing", "error", t->settings->queue,
			     .since_at_ms = reason || t->failed_in_a_row ? t->failing_since_ms : 0,
			     .until_ms = until_ms };

	if (backs_off)
		finding_out(o, &f, "nothing is sent to %s for a while: %s", url, why);
	else if (t->failed_in_a_row >= FINDING_FAILING && loop_now_us() - t->last_failure_us < FAILING_KEPT_US)
		finding_out(o, &f, "the last %u requests to %s failed: %s", t->failed_in_a_row, url, why);
}

static void out_target(struct json_out *o, const struct push_target *t)
{
	static const char *const troubles[] = { NULL, "not_ready", "not_reached", "busy", "not_received" };
	static const char *const counts[PUSH_COUNTS] = {
		"acknowledged", "failed", "dead", "busy", "unreached", "lost"
	};
	bool backs_off = push_state_backs_off(t);
	int64_t until_ms = backs_off ? loop_wall_ms() + (t->backs_off_until_us - loop_now_us()) / 1000 : 0;
	const char *reason = troubles[t->trouble];

	out_text(o, "name", t->settings->queue);
	out_text(o, "url", t->settings->url);
	out_text_or_null(o, "unix_socket", t->settings->unix_socket);
	out_int(o, "concurrency", t->settings->concurrency);
	out_int(o, "timeout_ms", t->settings->timeout_ms);
	out_string(o, "state",
		   t->is_stopping  ? "stopping"
		   : backs_off     ? "backing_off"
		   : t->must_check ? "checking"
				   : "on");
	out_text_or_null(o, "reason", text_of(reason));
	out_int_or_null(o, "until_ms", backs_off, until_ms);
	out_int(o, "allowed", t->allowed);
	out_int(o, "open", t->count[PUSH_SENT]);
	out_object(o, "counts");
	for (size_t i = 0; i < PUSH_COUNTS; i++)
		out_int(o, counts[i], (int64_t)t->counts[i]);
	out_close(o);
	out_int(o, "failed_in_a_row", t->failed_in_a_row);
	out_int_or_null(o, "failing_since_at_ms", reason || t->failed_in_a_row, t->failing_since_ms);
	out_array(o, "findings");
	find_failing(o, t, reason, until_ms);
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

void push_list(struct request *req, const struct push_list_input *in)
{
	struct push_target *t;
	int64_t skip, at = 0, left = in->limit;

	if (!handler_cursor(req, in->cursor, &skip))
		return;
	remove_idle();
	for (t = targets; t && at < skip; t = t->next)
		at++;
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (; t && left > 0; t = t->next, left--, at++) {
		out_object(o, NULL);
		out_target(o, t);
		out_close(o);
	}
	out_close(o);
	handler_out_cursor(o, t != NULL, at);
	out_int(o, "open", outbound_count());
	answer_end(req);
}
