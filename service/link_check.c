/*
 * link_check: is the server still configured as safely as when it was greeted? It is asked each minute, and only where others ask
 * something on that connection: a daemon that is idle asks nothing.
 */
#include "redis_link_inside.h"

enum { PAUSE_US = 61 * 1000 * 1000 }; /* longer than --redis-timeout-ms can be: the last one is over by then */

static void on_info(struct redis_call *call, enum redis_fate fate, const struct reply *reply)
{
	(void)fate;
	struct redis_link *l = (struct redis_link *)((char *)call - offsetof(struct redis_link, check));

	if (reply && !greeting_is_safe(&l->greeting, reply->text))
		link_leave(l); /* the next greeting is refused, and tells why */
}

void link_check(struct redis_link *l)
{
	static const struct text info[] = { TEXT("INFO"), TEXT("memory"), TEXT("persistence") };

	if (loop_now_us() - l->checked_us < PAUSE_US)
		return;
	l->checked_us = loop_now_us();
	l->check.done = on_info;
	link_send(l, &l->check, info, 3); /* without memory for it: the next time */
}
