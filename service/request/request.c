/* request: see request.h. It must not know sockets or patterns. */
#include "request/request.h"

#include <assert.h>
#include <string.h>

#include "core/budget.h"
#include "core/loop.h"

enum {
	FIRST_BODY_BYTES = 2048
}; /* of a chunked body, whose size is not known; only larger bodies count in the budget */

static void (*wait_ended)(struct request *req);

void request_set_wait(void (*ended)(struct request *req))
{
	wait_ended = ended;
}

static void ignore(struct request *req)
{
	(void)req;
}

static bool stays(struct request *req)
{
	(void)req;
	return false;
}

static const struct request_asker none = { ignore, ignore, stays, ignore };

static struct text no_header(struct request *req, const char *name, unsigned *lines)
{
	(void)req;
	(void)name;
	if (lines)
		*lines = 0;
	return (struct text){ 0 };
}

struct request *request_new(const char *target, size_t target_len)
{
	struct arena arena;
	struct request *req = arena_new(sizeof(*req), &arena);

	if (!req)
		return NULL;
	req->arena = arena;
	req->asked.target = arena_copy(&req->arena, target, target_len);
	req->started_us = loop_now_us();
	req->asker = &none;
	req->asked.header = no_header;
	req->asked.request_id = TEXT("-"); /* until its headers are read */
	if (!req->asked.target.at) {
		arena_free(&arena);
		return NULL;
	}
	req->arena.bounded = true;
	return req;
}

struct request *request_background(const struct operation *op, void *work, void (*ended)(struct request *req))
{
	struct request *req = request_new("", 0);

	if (!req)
		return NULL;
	req->op = op;
	req->work = work;
	req->ended = ended;
	req->background = req->asker_done = true;
	req->arena.bounded = false; /* the limit is for requests of clients */
	req->state = CALLING;
	req->pending.calls = 1; /* until request_background_start */
	return req;
}

void request_background_start(struct request *req)
{
	request_call_ended(req);
}

/* Makes room for a body of `size` bytes. False: memory ran out (arena.failed). */
static bool make_room(struct request *req, size_t size)
{
	char *at = (char *)(uintptr_t)req->asked.body.at;

	if (size > FIRST_BODY_BYTES && !budget_admits_body(size - req->asked.body.len)) {
		req->arena.failed = ARENA_OVER_BUDGET;
		return false;
	}
	at = arena_grow(&req->arena, at, req->asked.body.len, size + 1);
	if (!at)
		return false;
	req->asked.body.at = at;
	req->asked.body_size = size;
	return true;
}

bool request_expect_body(struct request *req, size_t len)
{
	return make_room(req, len ? len : FIRST_BODY_BYTES);
}

bool request_take_body(struct request *req, const char *bytes, size_t len, size_t limit)
{
	if (req->asked.body_discarded || req->asked.body.len + len > limit) {
		req->asked.body_discarded += len;
		return req->asked.body_discarded + req->asked.body.len <= 2 * limit;
	}
	if (req->asked.body.len + len > req->asked.body_size) {
		size_t size = req->asked.body_size * 2 > req->asked.body.len + len ? req->asked.body_size * 2
										   : req->asked.body.len + len;
		if (!make_room(req, size)) {
			req->asked.body_discarded += len;
			return true;
		}
	}
	char *at = (char *)(uintptr_t)req->asked.body.at;
	memcpy(at + req->asked.body.len, bytes, len);
	req->asked.body.len += len;
	at[req->asked.body.len] = '\0';
	return true;
}

static void free_when_unneeded(struct request *req)
{
	if (!req->asker_done || req->pending.calls > 0)
		return;
	if (req->pending.waiter)
		wait_ended(req);
	if (req->ended)
		req->ended(req);
	struct arena arena = req->arena; /* `req` itself is in the arena */
	arena_free(&arena);
}

static bool may_move(enum request_state from, enum request_state to)
{
	switch (from) {
	case READING:
		return to == CALLING || to == STREAMING || to == ANSWERED;
	case CALLING:
		return to == PARKED || to == STREAMING || to == ANSWERED;
	case PARKED:
		return to == CALLING || to == ANSWERED;
	default:
		return false;
	}
}

int64_t request_waited_us(const struct request *req)
{
	bool waits = req->state == PARKED || req->state == STREAMING;

	return req->pending.waited_us + (waits ? loop_now_us() - req->pending.waits_since_us : 0);
}

void request_move(struct request *req, enum request_state to)
{
	assert(may_move(req->state, to));
	req->pending.waited_us = request_waited_us(req);
	req->pending.waits_since_us = loop_now_us();
	req->state = to;
	req->pending.parkings += to == PARKED;
	if (to != ANSWERED && to != STREAMING)
		return;
	if (req->pending.waiter)
		wait_ended(req);
	if (!req->asker_done)
		req->asker->answered(req);
}

void request_compensate(struct request *req, const struct reply *reply)
{
	void (*on_disconnect)(struct request *, const struct reply *) = req->on_disconnect;

	req->pending.is_disconnected = true;
	req->on_disconnect = NULL;
	req->arena.bounded = false;
	if (!req->asker_done)
		req->asker->disconnected(req);
	if (on_disconnect)
		on_disconnect(req, reply);
	if (req->pending.waiter)
		wait_ended(req);
}

void request_streamed(struct request *req)
{
	if (!req->asker_done)
		req->asker->streamed(req);
}

bool request_is_disconnected(struct request *req)
{
	return req->asker_done || req->pending.is_disconnected ||
	       (req->pending.waiter && req->asker->is_disconnected(req));
}

void request_asker_done(struct request *req)
{
	assert(!req->asker_done);
	req->asker_done = true;
	req->asked.header = no_header;
	if (req->pending.stream)
		req->pending.stream_disconnected(req->pending.stream);
	if (req->state == PARKED) {
		request_move(req, CALLING);
		request_compensate(req, NULL);
	}
	free_when_unneeded(req);
}

/* Frees what an attempt allocated, so that thousands of attempts take no more memory than one. */
static void end_attempt(struct request *req)
{
	assert(!req->answer.headers && !req->answer.out);
	arena_rewind(&req->arena, req->pending.attempt);
	req->arena.failed = ARENA_OK;
	/* it was admitted, so its later attempts and its response must not fail for the limit */
	req->arena.bounded = false;
}

void request_call_ended(struct request *req)
{
	assert(req->pending.calls > 0);
	req->pending.calls--;
	if (req->state == PARKED && req->pending.calls == 0)
		end_attempt(req);
	else
		free_when_unneeded(req);
}

void request_expect_answer(struct request *req)
{
	request_move(req, CALLING);
	req->pending.calls++;
}

int64_t request_ms_until(const struct request *req, int64_t at_ms)
{
	return at_ms > req->now_ms ? at_ms - req->now_ms : 0;
}

bool request_is_past(const struct request *req, int64_t at_ms)
{
	return request_ms_until(req, at_ms) <= (loop_now_us() - req->pending.sent_us) / 1000;
}
