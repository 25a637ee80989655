/* renewal: see redis/renewal.h. */
#include "redis/renewal.h"

#include "process/log.h"
#include "redis/connection_private.h"
#include "redis/credentials.h"

enum { AGAIN_US = 2 * 1000 * 1000 };

static struct redis_link *renewing; /* the one that is being renewed; NULL: none */

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
	l->renewing = true;
	link_leave(l);
}

static void renewal_done(struct redis_link *l)
{
	if (l == renewing)
		renewing = NULL;
	l->renewing = false;
	renew_next();
}

/* A refusal stops the renewal: the other connections would be refused, too. A server that cannot be reached does not stop it. */
static void renewal_failed(struct redis_link *l, const char *why)
{
	if (l != renewing)
		return;
	if (l->failures == 1)
		log_event(LOG_WARN, "redis_not_renewed", "%.60s: %s; the other connections stay in use",
			  l->target->address, why);
	if (!l->greeting.refused)
		renewal_done(l);
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

static void check_permissions(const struct redis_link *l)
{
	static struct timer again = { .expired = on_again };

	if (l->owner->said)
		return;
	permissions_log(&l->permissions);
	if (permissions_lacking(&l->permissions) && !timer_is_set(&again))
		timer_set(&again, loop_now_us() + AGAIN_US);
}

static void on_changed(struct redis_link *l, const char *why)
{
	if (why) {
		renewal_failed(l, why);
		return;
	}
	if (link_is_ready(l))
		check_permissions(l);
	renewal_done(l);
}

void renewal_open(void)
{
	links_observe(on_changed);
}
