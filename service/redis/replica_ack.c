/* redis_acked: see redis/replica_ack.h. The connection is redis/connection.c's. */
#include "redis/replica_ack.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/container.h"
#include "process/config.h"
#include "process/log.h"
#include "redis/connection.h"

/* Calls that wait for acknowledgements, in the order in which they came. */
struct line {
	struct redis_call *first, *last;
	unsigned most; /* replicas that any of them wants */
};

struct redis_acked {
	struct redis_connection *connection;
	struct line next;             /* for the WAIT that is to be written */
	struct line now;              /* for the one under way */
	bool waiting;                 /* WAIT, and ROLE behind it, are under way */
	struct redis_call wait, role; /* these two */
	unsigned acked;               /* what WAIT said */
	char trouble[SOCKET_WHY_BYTES];
};

/* ---- Telling them ---- */

static void tell(struct line *line, unsigned acked, unsigned connected)
{
	struct redis_call *call = line->first;

	*line = (struct line){ 0 }; /* who is told may ask for more */
	while (call) {
		struct redis_call *next = call->next;
		call->acked = acked;
		call->connected = connected > acked ? connected : acked;
		call->done(call, REDIS_ACKNOWLEDGED, NULL);
		call = next;
	}
}

static struct redis_acked *of_wait(struct redis_call *call)
{
	return container_of(call, struct redis_acked, wait);
}

static struct redis_acked *of_role(struct redis_call *call)
{
	return container_of(call, struct redis_acked, role);
}

static void on_wait(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct redis_acked *a = of_wait(call);
	bool counted = outcome == REDIS_ANSWERED && reply->type == REPLY_INTEGER;

	a->acked = counted && reply->integer > 0 ? (unsigned)reply->integer : 0;
	if (outcome == REDIS_ANSWERED && !counted)
		log_event(LOG_WARN, "redis_wait_refused", "WAIT: %s", reply->text.at ? reply->text.at : "no number");
}

/* ROLE of a master: "master", its offset, the replicas that are connected. */
static void on_role(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct redis_acked *a = of_role(call);
	const struct reply *replicas = outcome == REDIS_ANSWERED ? reply_item(reply, 2) : NULL;

	a->waiting = false;
	tell(&a->now, a->acked, replicas && replicas->type == REPLY_ARRAY ? (unsigned)replicas->count : 0);
}

/* ---- Calls ---- */

struct redis_connection *acked_link(struct redis_acked *a)
{
	return connection_is_ready(a->connection) ? a->connection : NULL;
}

void acked_await(struct redis_acked *a, struct redis_call *call)
{
	call->next = NULL;
	if (a->next.last)
		a->next.last->next = call;
	else
		a->next.first = call;
	a->next.last = call;
	if (call->replicas > a->next.most)
		a->next.most = call->replicas;
}

static bool send_wait(struct redis_acked *a)
{
	char replicas[TEXT_DIGITS], timeout[TEXT_DIGITS];
	int64_t patience_ms = config()->redis_timeout_ms / 2; /* what was written behind it has its time, too */
	struct text wait[] = { TEXT("WAIT"), text_of_int(a->next.most, replicas), text_of_int(patience_ms, timeout) };

	a->wait = (struct redis_call){ .done = on_wait };
	a->role = (struct redis_call){ .done = on_role };
	return connection_send(a->connection, &a->wait, wait, 3) &&
	       connection_send(a->connection, &a->role, (struct text[]){ TEXT("ROLE") }, 1);
}

void acked_flush(struct redis_acked *a)
{
	if (!a->waiting && a->next.first && connection_is_open(a->connection)) {
		if (!send_wait(a)) {
			connection_drop(a->connection, "out of memory");
			return;
		}
		a->waiting = true;
		a->now = a->next;
		a->next = (struct line){ 0 };
	}
	connection_flush(a->connection);
}

/* ---- Its life ---- */

static void on_up(struct redis_connection *c)
{
	struct redis_acked *a = connection_context(c);

	a->trouble[0] = '\0';
}

const char *acked_trouble(const struct redis_acked *a)
{
	return a->trouble;
}

/* Whoever is in a WAIT learns of it right after this, with that; for the others there will be none. */
static void on_down(struct redis_connection *c, const char *why, bool was_up)
{
	struct redis_acked *a = connection_context(c);

	snprintf(a->trouble, sizeof(a->trouble), "%s", why);
	if (was_up)
		tell(&a->next, 0, 0);
}

void acked_drain(struct redis_acked *a)
{
	connection_drain(a->connection);
}

void acked_retarget(struct redis_acked *a)
{
	connection_retarget(a->connection);
}

bool acked_is_idle(const struct redis_acked *a)
{
	return connection_pending(a->connection) == 0 && !a->next.first && !a->now.first;
}

struct redis_acked *acked_new(const struct redis_url *target)
{
	static const struct redis_connection_callbacks callbacks = { .up = on_up, .down = on_down };
	struct redis_acked *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->connection = connection_new(target, &callbacks, a);
	if (!a->connection) {
		free(a);
		return NULL;
	}
	connection_open(a->connection);
	return a;
}

void acked_free(struct redis_acked *a)
{
	if (!a)
		return;
	connection_free(a->connection);
	tell(&a->next, 0, 0);
	free(a);
}
