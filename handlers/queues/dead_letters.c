#include "queues/dead_letters.h"

#include <stdlib.h>

#include "common/handler.h"
#include "process/log.h"
#include "queues/queue_call.h"
#include "queues/queue_content.h"

/* MOVES_MOST queues at once; a reply begins the move of another queue later. */
enum { MOVES_MOST = 64, LETTERS_MOST = 100000, LOG_EVERY_US = 60000000 };

/* A move that is under way. */
struct move {
	struct move *next;
	bool looks_again; /* a reply reported more dead letters */
	bool has_moved;
	size_t len;
	char queue[];
};

static struct move *moves;
static unsigned move_count;
static bool is_draining;

static void begin(struct move *m);

static struct text queue_of(const struct move *m)
{
	return (struct text){ m->queue, m->len };
}

static void remove_move(struct move *m)
{
	struct move **at = &moves;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	move_count--;
	free(m);
}

static void on_ended(struct request *req)
{
	struct move *m = req->work;

	if (m->looks_again && m->has_moved && !is_draining)
		begin(m);
	else
		remove_move(m);
}

/* A queue that cannot be asked is tried again by a later reply; operators see why. */
static void log_failed(const struct request *req)
{
	static int64_t logged_us;
	const struct move *m = req->work;

	if (logged_us && loop_now_us() - logged_us < LOG_EVERY_US)
		return;
	logged_us = loop_now_us();
	log_event(LOG_WARN, "dead_letters_stay",
		  "the dead letters of queue '%s' did not move to its dead_letter_queue: %s", m->queue,
		  call_problem_text(req->result->failed));
}

static void on_moved(struct request *req, const struct reply *r)
{
	struct move *m = req->work;

	if (r)
		m->has_moved = reply_outcome(r) == QUEUE_REDRIVE_TO_FINISHED;
	else
		log_failed(req);
}

static void on_claimed(struct request *req, const struct reply *r)
{
	struct move *m = req->work;

	if (!r || reply_outcome(r) != QUEUE_LETTERS_CLAIM_CLAIMED)
		return;
	struct text to = reply_text(r, QUEUE_LETTERS_CLAIM_TO);
	to = arena_copy(&req->arena, to.at, to.len);
	if (!to.at || !slots_are_one(queue_of(m), to))
		return;
	struct call *c = queue_call(req, &queue_redrive_to_script, queue_of(m));
	queue_call_keys(c, to);
	call_int(c, 0);
	call_int(c, LETTERS_MOST);
	call_text(c, queue_encoded(req, queue_of(m)));
	call_string(c, "1");
	call_int(c, 0);
	call_string(c, "0.0");
	call_may_fail(c);
	call_send(c, on_moved);
}

/* If memory runs out, a later reply begins the move. */
static void begin(struct move *m)
{
	static const struct operation operation = { .id = "dead_letters", .method = "POST", .writes = true };
	struct request *req = request_background(&operation, m, on_ended);

	m->looks_again = m->has_moved = false;
	if (!req) {
		remove_move(m);
		return;
	}
	struct call *c = queue_call(req, &queue_letters_claim_script, queue_of(m));
	call_may_fail(c);
	call_send(c, on_claimed);
	request_background_start(req);
}

void dead_letters_move(struct text queue)
{
	struct move *m = moves;

	while (m && !text_equal(queue_of(m), queue))
		m = m->next;
	if (m) {
		m->looks_again = true;
		return;
	}
	m = is_draining || move_count == MOVES_MOST ? NULL : malloc(sizeof(*m) + queue.len + 1);
	if (!m)
		return;
	*m = (struct move){ .next = moves, .len = queue.len };
	memcpy(m->queue, queue.at, queue.len);
	m->queue[queue.len] = '\0';
	moves = m;
	move_count++;
	begin(m);
}

void dead_letters_drain(void)
{
	is_draining = true;
}
