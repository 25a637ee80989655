#include "topology/refusal.h"

#include <stdio.h>

#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "redis/renewal.h"
#include "topology/quorum.h"

enum { PROBE_US = 1000 * 1000, PROBE_ARGS = 4 };

/* Redis treats a script without flags as one that writes and needs memory. It does neither. */
static const char probe[] = "#!lua\nreturn 1";

static bool is_refusing(const struct redis_node *n)
{
	return n->refusal.since_ms > 0;
}

/* A wrong type is the fault of a key. */
static bool is_of_server(enum redis_error error)
{
	return error != ERROR_OTHER && error != ERROR_WRONGTYPE;
}

/* A node of a Cluster that does not have the key any more refuses nothing: others are asked. */
static bool is_redirect(const struct redis_node *n, enum redis_error error)
{
	return n->url.kind == REDIS_CLUSTER && (error == ERROR_MOVED || error == ERROR_ASK || error == ERROR_TRYAGAIN);
}

/* The log has a line if the error is another one than before. */
static void set(struct redis_node *n, enum redis_error error, struct text text)
{
	struct node_refusal *r = &n->refusal;
	bool is_news = !is_refusing(n) || r->error != error;

	if (!is_refusing(n))
		r->since_ms = loop_wall_ms();
	r->error = error;
	snprintf(r->text, sizeof(r->text), "%.60s: %.*s", n->url.address, reply_error_length(text), text.at);
	if (is_news)
		log_event(LOG_WARN, "redis_refuses", "%s", r->text);
}

static void end(struct redis_node *n)
{
	n->refusal.since_ms = 0;
	log_event(LOG_INFO, "redis_accepts", "%.60s: it accepts calls again", n->url.address);
}

/* ---- The probe ---- */

/*
 * Without memory for the timer the refusal would never end. The next refused call begins it again.
 */
static void set_timer(struct redis_node *n)
{
	if (!loop_timer_set(&n->refusal.timer, loop_now_us() + PROBE_US))
		n->refusal.since_ms = 0;
}

static void on_probed(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct redis_node *n = container_of(call, struct redis_node, refusal.probe);
	bool is_error = outcome == REDIS_ANSWERED && reply->type == REPLY_ERROR;
	enum redis_error error = is_error ? redis_error_of(reply->text) : ERROR_OTHER;

	if (is_error && !is_redirect(n, error))
		set(n, error, reply->text);
	else if (outcome == REDIS_ANSWERED && loop_now_us() - n->refusal.latest_us >= PROBE_US)
		end(n);
	if (is_refusing(n))
		set_timer(n);
}

static void on_timer(struct loop_timer *t)
{
	struct redis_node *n = container_of(t, struct redis_node, refusal.timer);
	const struct text args[PROBE_ARGS] = { TEXT("EVAL"), text_of(probe), TEXT("1"), text_of(n->refusal.key) };

	n->refusal.probe = (struct redis_call){ .done = on_probed };
	if (node_send(n, &n->refusal.probe, args, PROBE_ARGS) != SEND_OK && !n->retired)
		set_timer(n);
}

void refusal_note(struct redis_node *n, struct text error, struct text key)
{
	enum redis_error known = redis_error_of(error);

	if (known == ERROR_NOPERM) {
		renewal_note_denied();
		if (renewal_knows_permissions(n->connections[0]))
			return; /* redis/renewal.c asks what the user lacks */
	}
	if (!is_of_server(known))
		return;
	n->refusal.latest_us = loop_now_us();
	if (is_refusing(n))
		return;
	set(n, known, error);
	/* In a Cluster, the error may be about the slot of this key. */
	if (!key.at)
		key = text_of(config()->prefix);
	snprintf(n->refusal.key, sizeof(n->refusal.key), "%.*s", (int)key.len, key.at);
	n->refusal.timer.expired = on_timer;
	set_timer(n);
}

/* ---- State ---- */

const char *refusal_text(const struct redis_node *n)
{
	return is_refusing(n) && n->ready > 0 ? n->refusal.text : NULL;
}

const char *refusal_first(void)
{
	for (const struct redis_node *n = node_first(); n; n = n->next)
		if (refusal_text(n))
			return refusal_text(n);
	return NULL;
}

unsigned refusal_count(void)
{
	unsigned count = 0;

	for (const struct redis_node *n = node_first(); n; n = n->next)
		count += refusal_text(n) != NULL;
	for (unsigned i = 1; i <= quorum_count(); i++)
		count += refusal_text(quorum_node(i)) != NULL;
	return count;
}
