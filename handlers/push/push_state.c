#include "push/push_state.h"

#include <stdio.h>
#include <string.h>

#include "process/config.h"
#include "process/log.h"

static size_t held; /* bytes of the messages of all targets */

int64_t push_state_in_ms(int64_t ms)
{
	return loop_now_us() + 1000 * ms;
}

bool push_state_backs_off(const struct push_target *t)
{
	return t->backs_off_until_us > loop_now_us();
}

bool push_state_has_room(const struct push_target *t)
{
	return t->bytes == 0 || held < (size_t)config()->max_request_memory / 4;
}

void push_state_note_failing(struct push_target *t)
{
	if (t->trouble == PUSH_NO_TROUBLE && t->failed_in_a_row == 0)
		t->failing_since_ms = loop_wall_ms();
}

/* The timer was set before, so setting it cannot fail. */
void push_state_act_soon(struct push_target *t)
{
	loop_timer_set(&t->timer, loop_now_us());
}

void push_state_move(struct push_target *t, struct push_job *j, enum push_job_state to)
{
	t->count[j->state]--;
	t->count[to]++;
	j->state = to;
}

void push_state_add(struct push_target *t, struct push_job *j)
{
	struct push_job **end = &t->jobs;

	while (*end)
		end = &(*end)->next;
	*end = j;
	j->target = t;
	j->state = PUSH_READY;
	t->count[PUSH_READY]++;
	t->bytes += j->body.len;
	held += j->body.len;
}

void push_state_drop(struct push_target *t, struct push_job **at)
{
	struct push_job *j = *at;

	*at = j->next;
	t->count[j->state]--;
	t->bytes -= j->body.len;
	held -= j->body.len;
	push_job_free(j);
}

void push_state_end(struct push_target *t, struct push_job *j, enum push_end end, bool is_counted, int64_t delay_ms)
{
	j->end = end;
	j->is_counted = is_counted;
	j->delay_ms = delay_ms;
	j->settled_by = NULL;
	push_state_move(t, j, PUSH_ENDED);
}

const char *push_state_logged_id(const struct push_job *j)
{
	return strcmp(config()->log_names, "on") == 0 ? j->id.at : "-";
}

void push_state_note_failure(struct push_target *t, const struct push_job *j, const char *why, const char *so)
{
	snprintf(t->last_failure, sizeof(t->last_failure), "%s", why);
	t->last_failure_at_ms = loop_wall_ms();
	t->last_failure_us = loop_now_us();
	if (!j->is_counted && t->trouble != PUSH_NO_TROUBLE)
		return; /* push_backs_off was logged, and push_goes_on will have the number of attempts */
	log_event(LOG_WARN, "push_failed", "%s to %s: message '%s', delivery %lld: %s; %s", t->settings->queue.at,
		  t->settings->url.at, push_state_logged_id(j), (long long)j->receives, why, so);
}
