#include "topology/deferred.h"

#include "core/loop.h"

enum { DEFER_MS = 20 };

static struct redis_call *first, *last; /* in the order of their times */
static unsigned count;
static bool closed;
static struct loop_timer timer;

static void on_timer(struct loop_timer *t)
{
	unsigned due = count; /* not the calls that are deferred in this loop */

	while (due--) {
		struct redis_call *call = first;
		first = call->next;
		count--;
		bool is_over = closed || loop_now_us() >= call->deadline_us;
		call->done(call, is_over ? REDIS_NOT_SENT : REDIS_DEFERRED, NULL);
	}
	if (count > 0)
		loop_timer_set(t, loop_now_us() + DEFER_MS * 1000);
}

bool deferred_add(struct redis_call *call)
{
	if (closed || loop_now_us() >= call->deadline_us)
		return false;
	call->next = NULL;
	if (count == 0)
		first = call;
	else
		last->next = call;
	last = call;
	timer.expired = on_timer;
	if (count++ == 0)
		loop_timer_set(&timer, loop_now_us() + DEFER_MS * 1000);
	return true;
}

unsigned deferred_count(void)
{
	return count;
}

void deferred_close(void)
{
	closed = true;
	loop_timer_stop(&timer);
	on_timer(&timer);
}
