/*
 * link_check: is the server still configured as safely as when it was greeted? It is asked each minute, and only where others ask
 * something on that connection: a daemon that is idle asks nothing. And what do the users of all connections lack? They are asked when
 * they greet, and greet again every few seconds as long as something is missing. For that, and after SIGHUP, the links are renewed one after
 * the other.
 */
#include "process/log.h"
#include "redis/connection_private.h"
#include "redis/credentials.h"

enum {
	AGAIN_US = 2 * 1000 * 1000,
	PAUSE_US = 61 * 1000 * 1000
}; /* longer than --redis-timeout-ms can be: the last one is over by then */

static void on_info(struct redis_call *call, enum redis_fate fate, const struct reply *reply)
{
	(void)fate;
	struct redis_link *l = container_of(call, struct redis_link, check);

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

/* ---- Renewal ---- */

static struct redis_link *renewing; /* the one that is being renewed; NULL: none */

bool link_serves(const struct redis_link *l)
{
	return l->state == READY || (l == renewing && l->failures == 0);
}

void links_try_now(void)
{
	for (struct redis_link *l = link_first(); l; l = l->next)
		if (l->state == DOWN)
			timer_set(&l->timer, loop_now_us());
}

/* Only while all connections to its server are ready: the one that is closed may take long to come back. */
static bool can_renew(const struct redis_link *l)
{
	bool can = l->renew && l->state == READY;

	for (const struct redis_link *other = link_first(); other && can; other = other->next)
		can = other->target != l->target || other->state == READY;
	return can;
}

static void renew_next(void)
{
	struct redis_link *l = renewing ? NULL : link_first();

	while (l && !can_renew(l))
		l = l->next;
	if (!l)
		return;
	renewing = l;
	link_leave(l);
}

void link_renewal_done(const struct redis_link *l)
{
	if (l == renewing)
		renewing = NULL;
	renew_next();
}

/* A refusal stops the renewal: the other connections would be refused, too. A server that cannot be reached does not stop it. */
void link_renewal_failed(const struct redis_link *l, const char *why)
{
	if (l != renewing)
		return;
	if (l->failures == 1)
		log_event(LOG_WARN, "redis_not_renewed", "%.60s: %s; the other connections stay in use",
			  l->target->address, why);
	if (!l->greeting.refused)
		link_renewal_done(l);
}

void links_renew(void)
{
	login_accepted(); /* what was refused is not what will be shown now */
	links_try_now();
	for (struct redis_link *l = link_first(); l; l = l->next)
		l->renew = true;
	renew_next();
}

/* ---- Permissions ---- */

bool link_ask_permissions(struct redis_link *l)
{
	struct text args[PERMISSION_ARGS];
	bool ok = true, asks = false;

	for (size_t count; ok && (count = greeting_permission(&l->greeting, args)); asks = true)
		ok = resp_add(&l->out, args, count);
	if (!ok)
		link_lost(l, "no memory for the greeting");
	else if (asks)
		link_flush(l);
	return asks;
}

static const struct redis_link *first_lacking(void)
{
	const struct redis_link *l = link_first();

	while (l && permissions_lacking(&l->permissions) == 0)
		l = l->next;
	return l;
}

const char *links_lack(void)
{
	static char text[PERMISSIONS_TEXT_BYTES];
	const struct redis_link *l = first_lacking();

	*text = '\0';
	if (l)
		permissions_text(&l->permissions, text);
	return text;
}

unsigned links_lacking(void)
{
	const struct redis_link *l = first_lacking();

	return l ? permissions_lacking(&l->permissions) : 0;
}

static void on_again(struct timer *t)
{
	(void)t;
	if (first_lacking())
		links_renew();
}

void link_check_permissions(const struct redis_link *l)
{
	static struct timer again = { .expired = on_again };

	if (l->owner->said)
		return;
	permissions_log(&l->permissions);
	if (permissions_lacking(&l->permissions) && !timer_is_set(&again))
		timer_set(&again, loop_now_us() + AGAIN_US);
}
