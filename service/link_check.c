/*
 * link_check: is the server still configured as safely as when it was greeted? It is asked each minute, and only where others ask
 * something on that connection: a daemon that is idle asks nothing.
 */
#include "redis_link_inside.h"

enum { PAUSE_US = 61 * 1000 * 1000 }; /* longer than --redis-timeout-ms can be: the last one is over by then */

void link_is_checked(struct redis_link *l)
{
	l->check_us = loop_now_us() + PAUSE_US;
}

/* With --strict no connection stays: the next greeting is refused, and tells why. */
static void leave_server(const struct redis_url *server)
{
	for (struct redis_link *l = link_first(); l; l = l->next)
		if (l->target == server)
			link_leave(l);
}

static void on_info(struct redis_call *call, enum redis_fate fate, const struct reply *reply)
{
	struct redis_link *l = (struct redis_link *)((char *)call - offsetof(struct redis_link, check));

	if (fate == FATE_ANSWERED && reply->type == REPLY_TEXT && !greeting_is_safe(&l->greeting, reply->text))
		leave_server(l->target);
}

void link_check(struct redis_link *l)
{
	static const struct text info[] = { TEXT("INFO"), TEXT("memory"), TEXT("persistence") };

	if (loop_now_us() < l->check_us)
		return;
	link_is_checked(l);
	l->check.done = on_info;
	link_send(l, &l->check, info, 3); /* without memory for it: the next time */
}
