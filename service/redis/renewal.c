#include "redis/renewal.h"

#include <string.h>

#include "process/log.h"
#include "redis/connection_private.h"
#include "redis/credentials.h"

enum {
	RETRY_US = 2 * 1000 * 1000,
	DENIED_US = 60 * 1000 * 1000, /* between two checks after NOPERM: the user may lack a rule that is optional */
};

static struct redis_connection *renewing; /* NULL: no connection is being renewed */
static bool is_denied;                    /* NOPERM arrived, and the permissions were not asked about since */

/*
 * True if `c` waits for the other connection, which may take long to reconnect to the same server,
 * or was rejected with the same credentials.
 */
static bool waits_for(const struct redis_connection *c, const struct redis_connection *other)
{
	if (other->target == c->target)
		return other->state != READY;
	return other->renewing && credentials_are_same(other->target, c->target);
}

static bool can_renew(const struct redis_connection *c)
{
	bool can = c->renew && c->state == READY;

	for (const struct redis_connection *other = connection_first(); other && can; other = other->next)
		can = !waits_for(c, other);
	return can;
}

/* Starts the renewal of a connection. False: it cannot be renewed now. */
static bool renew(struct redis_connection *c)
{
	struct redis_connection *successor = c->callbacks->renew ? c->callbacks->renew(c) : c;

	if (!successor)
		return false;
	c->renew = false;
	renewing = successor;
	successor->renewing = true;
	if (successor == c)
		connection_drain(c);
	else
		connection_open(successor);
	return true;
}

static void renew_next(void)
{
	struct redis_connection *c = renewing ? NULL : connection_first();

	while (c && !(can_renew(c) && renew(c)))
		c = c->next;
}

static void renewal_done(struct redis_connection *c)
{
	if (c == renewing)
		renewing = NULL;
	c->renewing = false;
	renew_next();
}

/*
 * After a rejection `c->renewing` stays set: other connections with the same credentials would be
 * rejected, too, so they stay in use. An unreachable server does not stop the renewal.
 */
static void renewal_failed(struct redis_connection *c, const char *why)
{
	if (!c->renewing)
		return;
	if (c->failures == 1)
		log_event(LOG_WARN, "redis_not_renewed", "%.60s: %s; the other connections stay in use",
			  c->target->address, why);
	if (!c->handshake.rejected)
		c->renewing = false;
	if (c == renewing)
		renewing = NULL;
	renew_next();
}

void renewal_hold(struct redis_connection *c, bool held)
{
	redis_socket_hold(&c->socket, held);
}

static void renew_all(void)
{
	for (struct redis_connection *c = connection_first(); c; c = c->next)
		c->renew = true;
	renew_next();
}

void renewal_start(void)
{
	credentials_accepted(); /* the new credentials may be accepted */
	connections_retry_now();
	renew_all();
}

/* ---- Permissions ---- */

/* A server that is away may be gone for good, or come back with other permissions. */
static const struct redis_connection *first_lacking(bool or_away)
{
	const struct redis_connection *c = connection_first();

	while (c && (permissions_lacking(&c->permissions) == 0 || (c->failures > 0 && !or_away)))
		c = c->next;
	return c;
}

const char *renewal_missing_permissions(void)
{
	static char text[PERMISSIONS_TEXT_BYTES];
	const struct redis_connection *c = first_lacking(false);

	*text = '\0';
	if (c)
		permissions_text(&c->permissions, text);
	return text;
}

unsigned renewal_permissions_missing(void)
{
	const struct redis_connection *c = first_lacking(false);

	return c ? permissions_lacking(&c->permissions) : 0;
}

bool renewal_knows_permissions(const struct redis_connection *c)
{
	return c->permissions.user[0] != '\0';
}

unsigned renewal_config_risks(void)
{
	unsigned risks = 0;

	for (const struct redis_connection *c = connection_first(); c; c = c->next)
		if (c->check)
			risks |= c->state >= READY ? c->check->risks : c->handshake.risks;
	return (unsigned)__builtin_popcount(risks);
}

/*
 * Finds the report that a new connection uses. It does not use the report of a connection that was
 * lost since, or is to be renewed, because the permissions may have changed.
 */
static const struct redis_handshake *find_asked(const struct redis_handshake *h)
{
	for (const struct redis_connection *c = connection_first(); c; c = c->next) {
		const char *user = c->handshake.permissions.user;
		bool has_asked = (c->state == HANDSHAKE || c->state == READY) && c->handshake.permissions_asked > 0;
		if (c->target == h->url && has_asked && !c->renew && (!*user || strcmp(user, h->permissions.user) == 0))
			return &c->handshake;
	}
	return NULL;
}

/* The connection has the answers that others wait for, or it is lost, and one of them asks. */
static void resume_others(const struct redis_url *target)
{
	for (struct redis_connection *c = connection_first(); c; c = c->next)
		if (c->target == target && c->state == HANDSHAKE && c->handshake.waits)
			connection_shake(c, NULL);
}

static void on_retry(struct loop_timer *t)
{
	(void)t;
	if (is_denied || first_lacking(false))
		renew_all();
	is_denied = false;
}

static struct loop_timer retry = { .expired = on_retry };

void renewal_note_denied(void)
{
	static int64_t next_us;

	if (loop_now_us() < next_us)
		return;
	next_us = loop_now_us() + DENIED_US;
	is_denied = true;
	loop_timer_set(&retry, loop_now_us());
}

static void check_permissions(const struct redis_connection *c)
{
	if (c->callbacks->received)
		return;
	permissions_log(&c->permissions);
	if (c->permissions.user[0] && !first_lacking(true))
		permissions_log_granted();
	if (permissions_lacking(&c->permissions) && !loop_timer_is_set(&retry))
		loop_timer_set(&retry, loop_now_us() + RETRY_US);
}

static void on_changed(struct redis_connection *c, const char *why)
{
	if (why) {
		renewal_failed(c, why);
	} else {
		if (connection_is_ready(c))
			check_permissions(c);
		renewal_done(c);
	}
	resume_others(c->target);
}

void renewal_open(void)
{
	connections_observe(on_changed);
	handshake_share(find_asked);
}
