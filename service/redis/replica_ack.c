#include "redis/replica_ack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/container.h"
#include "process/config.h"
#include "process/log.h"
#include "redis/connection.h"

/* Calls that wait for acknowledgements, in order. */
struct replica_ack_waiters {
	struct redis_call *first, *last;
	unsigned most; /* the largest `replicas` of these calls */
};

struct replica_ack {
	struct redis_connection *connection;
	struct server_check check;
	struct replica_ack_waiters next; /* they wait for the next WAIT */
	struct replica_ack_waiters now;  /* they wait for the WAIT that is pending */
	bool waiting;                    /* WAIT and ROLE are pending */
	struct redis_call wait, role;
	unsigned acked; /* the reply to WAIT */
	char trouble[SOCKET_WHY_BYTES];
	enum redis_error error;
};

/* ---- Waiters ---- */

static void end(struct replica_ack_waiters *waiters, unsigned acked, unsigned connected)
{
	struct redis_call *call = waiters->first;

	*waiters = (struct replica_ack_waiters){ 0 }; /* `done` may add new ones */
	while (call) {
		struct redis_call *next = call->next;
		call->replicas_acked = acked;
		call->replicas_connected = connected > acked ? connected : acked;
		call->done(call, REDIS_ACKNOWLEDGED, NULL);
		call = next;
	}
}

static struct replica_ack *of_wait(struct redis_call *call)
{
	return container_of(call, struct replica_ack, wait);
}

static struct replica_ack *of_role(struct redis_call *call)
{
	return container_of(call, struct replica_ack, role);
}

static void on_wait(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct replica_ack *a = of_wait(call);
	bool counted = outcome == REDIS_ANSWERED && reply->type == REPLY_INTEGER;

	a->acked = counted && reply->integer > 0 ? (unsigned)reply->integer : 0;
	if (outcome == REDIS_ANSWERED && !counted)
		log_event(LOG_WARN, "redis_wait_refused", "WAIT: %s", reply->text.at ? reply->text.at : "no number");
}

/* A master's reply has "master", its offset, and the connected replicas. */
static void on_role(struct redis_call *call, enum redis_outcome outcome, const struct reply *reply)
{
	struct replica_ack *a = of_role(call);
	const struct reply *replicas = outcome == REDIS_ANSWERED ? reply_item(reply, 2) : NULL;

	a->waiting = false;
	end(&a->now, a->acked, replicas && replicas->type == REPLY_ARRAY ? (unsigned)replicas->count : 0);
}

/* ---- Calls ---- */

struct redis_connection *replica_ack_connection(struct replica_ack *a)
{
	return connection_is_ready(a->connection) ? a->connection : NULL;
}

void replica_ack_await(struct replica_ack *a, struct redis_call *call)
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

static bool send_wait(struct replica_ack *a)
{
	char replicas[TEXT_DIGITS], timeout[TEXT_DIGITS];
	int64_t timeout_ms = config()->redis_timeout_ms / 2; /* the other half is for later commands */
	struct text wait[] = { TEXT("WAIT"), text_of_int(a->next.most, replicas), text_of_int(timeout_ms, timeout) };

	a->wait = (struct redis_call){ .done = on_wait };
	a->role = (struct redis_call){ .done = on_role };
	return connection_send(a->connection, &a->wait, wait, 3) == SEND_OK &&
	       connection_send(a->connection, &a->role, (struct text[]){ TEXT("ROLE") }, 1) == SEND_OK;
}

void replica_ack_flush(struct replica_ack *a)
{
	if (!a->waiting && a->next.first && connection_is_open(a->connection)) {
		if (!send_wait(a)) {
			connection_drop(a->connection, "out of memory");
			return;
		}
		a->waiting = true;
		a->now = a->next;
		a->next = (struct replica_ack_waiters){ 0 };
	}
	connection_flush(a->connection);
}

/* ---- Start and end ---- */

static void on_up(struct redis_connection *c)
{
	struct replica_ack *a = connection_context(c);

	a->trouble[0] = '\0';
}

const char *replica_ack_trouble(const struct replica_ack *a)
{
	return a->trouble;
}

enum redis_error replica_ack_error(const struct replica_ack *a)
{
	return a->error;
}

/*
 * When the connection is lost, the pending WAIT and its waiters end after this function has
 * returned. For the others no WAIT was sent.
 */
static void on_down(struct redis_connection *c, const char *why, bool was_up)
{
	struct replica_ack *a = connection_context(c);

	if (strcmp(why, CONNECTION_DRAINED) != 0 || !a->trouble[0]) {
		snprintf(a->trouble, sizeof(a->trouble), "%s", why);
		a->error = connection_error(c);
	}
	if (was_up)
		end(&a->next, 0, 0);
}

void replica_ack_drain(struct replica_ack *a)
{
	connection_drain(a->connection);
}

void replica_ack_retarget(struct replica_ack *a)
{
	connection_retarget(a->connection);
}

bool replica_ack_is_idle(const struct replica_ack *a)
{
	return connection_pending(a->connection) == 0 && !a->next.first && !a->now.first;
}

struct replica_ack *replica_ack_new(const struct redis_url *target)
{
	static const struct redis_connection_callbacks callbacks = { .up = on_up,
								     .down = on_down,
								     .drain_all = connection_drain };
	struct replica_ack *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->connection = connection_new(target, &a->check, &callbacks, a);
	if (!a->connection) {
		free(a);
		return NULL;
	}
	connection_open(a->connection);
	return a;
}

void replica_ack_free(struct replica_ack *a)
{
	if (!a)
		return;
	connection_free(a->connection);
	end(&a->next, 0, 0);
	free(a);
}
