/* ticket: see ticket.h. It owns the departures that are pending. */
#include "wait/ticket.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/call.h"
#include "core/hex.h"
#include "core/loop.h"
#include "process/config.h"
#include "request/request.h"
#include "topology/topology.h"

enum { RETRY_MS = 100, TICKET_LIFE_MS = 62000 /* TICKET_LIFE_MS: WAITERS_MS of lua/lib/waiters.lua */ };

struct departure {
	struct departure *next;
	const struct operation *op;       /* (ref) */
	const struct ticket_queue *queue; /* (ref) */
	int64_t give_up_us;
	bool is_sent;
	size_t count;
	struct text ticket, channels[]; /* stored after the struct */
};

static struct departure *departures;
static size_t departure_count;
static struct loop_timer retry;
static char instance_id[TICKET_PART_DIGITS + 1]; /* of this daemon, new at each start */

/* ---- Tickets ---- */

void ticket_open(void)
{
	hex_random(instance_id, TICKET_PART_DIGITS);
}

size_t ticket_print(char to[TICKET_SIZE], uint64_t number, struct text tail)
{
	assert(tail.len <= TICKET_TAIL_MAX);
	return (size_t)snprintf(to, TICKET_SIZE, "%s.%016llx.%.*s", instance_id, (unsigned long long)number,
				(int)tail.len, tail.at);
}

struct text ticket_tail(struct text ticket)
{
	enum { TAIL_AT = 2 * TICKET_PART_DIGITS + 2 };

	return ticket.len > TAIL_AT ? (struct text){ ticket.at + TAIL_AT, ticket.len - TAIL_AT } : TEXT("");
}

struct text ticket_channel(struct arena *a, struct text key)
{
	return key.at ? arena_join(a, (struct text[]){ key, TEXT("@"), text_of(instance_id) }, 3) : key;
}

struct text ticket_key(struct text channel)
{
	return (struct text){ channel.at, channel.len - TICKET_PART_DIGITS - 1 };
}

/* ---- Departures ---- */

static void forget(struct departure *d)
{
	struct departure **at = &departures;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	departure_count--;
	free(d);
}

static void on_ended(struct request *req)
{
	struct departure *d = req->work;

	d->is_sent = false;
	if (!req->answer.problem || loop_now_us() >= d->give_up_us)
		forget(d);
	else
		loop_timer_set(&retry, loop_now_us() + RETRY_MS * 1000);
}

static void on_left(struct request *req, const struct reply *r)
{
	(void)req;
	(void)r;
}

static void send_departure(struct departure *d)
{
	size_t prefix = strlen(config()->prefix);
	struct request *req = topology_serves(d->channels[0]) ? request_background(d->op, d, on_ended) : NULL;

	if (!req) {
		loop_timer_set(&retry, loop_now_us() + RETRY_MS * 1000);
		return;
	}
	d->is_sent = true;
	struct call *c = call_script(req, d->queue->leave);
	for (size_t i = 0; i < d->count; i++) {
		struct text rest = { d->channels[i].at + prefix, d->channels[i].len - prefix };
		call_raw_key(c, rest);
		for (const char *const *part = d->queue->parts; *part; part++)
			call_raw_key(c, arena_join(&req->arena, (struct text[]){ rest, TEXT(":"), text_of(*part) }, 3));
	}
	call_text(c, d->ticket);
	call_string(c, "");
	call_send(c, on_left);
	request_background_start(req);
}

static void on_retry(struct loop_timer *t)
{
	(void)t;
	for (struct departure *d = departures, *next; d; d = next) {
		next = d->next;
		if (d->is_sent)
			continue;
		if (loop_now_us() >= d->give_up_us)
			forget(d);
		else
			send_departure(d);
	}
}

static struct text copy(struct text t, char **to)
{
	struct text kept = { memcpy(*to, t.at, t.len), t.len };

	*to += t.len;
	return kept;
}

void ticket_leave(const struct operation *op, const struct ticket_queue *queue, const struct text *channels,
		  size_t count, struct text ticket)
{
	size_t size = ticket.len;
	struct departure *d;

	for (size_t i = 0; i < count; i++)
		size += channels[i].len;
	if (count == 0 || departure_count == DEPARTURES_MAX ||
	    !(d = malloc(sizeof(*d) + count * sizeof(ticket) + size)))
		return;
	*d = (struct departure){
		.next = departures,
		.op = op,
		.queue = queue,
		.give_up_us = loop_now_us() + (int64_t)TICKET_LIFE_MS * 1000,
		.count = count,
	};
	char *to = (char *)(d->channels + count);
	d->ticket = copy(ticket, &to);
	for (size_t i = 0; i < count; i++)
		d->channels[i] = copy(channels[i], &to);
	departures = d;
	departure_count++;
	retry.expired = on_retry;
	send_departure(d);
}

void ticket_close(void)
{
	loop_timer_stop(&retry);
	while (departures)
		forget(departures);
}
