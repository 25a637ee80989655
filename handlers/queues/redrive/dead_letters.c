#include "queues/redrive/dead_letters.h"

#include <stdlib.h>

#include "core/container.h"
#include "process/log.h"
#include "queues/queue_call.h"
#include "queues/redrive/move.h"

/* At most MOVES_MOST moves are under way; beyond that, a later reply of a queue begins its move. */
enum { MOVES_MOST = 64, LETTERS_MOST = 100000, LOG_EVERY_US = 60000000 };

/* A move that is under way: requests without a client, one after the other. */
struct move {
	struct move *next;
	bool looks_again; /* a reply reported more dead letters */
	bool is_claimed;  /* this daemon moves them, into `to` */
	char *to;         /* NULL: not known yet */
	struct queue_move letters;
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

static struct move *move_of(const struct request *req)
{
	struct queue_move *letters = req->work;

	return container_of(letters, struct move, letters);
}

static void remove_move(struct move *m)
{
	struct move **at = &moves;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	move_count--;
	free(m->to);
	free(m);
}

/* A later reply tries again; the line shows operators why the letters stay. */
static void log_failed(const struct move *m, const struct call *failed)
{
	static int64_t logged_us;

	if (logged_us && loop_now_us() - logged_us < LOG_EVERY_US)
		return;
	logged_us = loop_now_us();
	log_event(LOG_WARN, "dead_letters_stay", "dead letters of queue '%s' cannot move to queue '%s': %s", m->queue,
		  m->to, call_problem_text(failed));
}

static void on_moved(struct request *req, struct queue_move *letters)
{
	struct move *m = move_of(req);

	if (letters->failed)
		log_failed(m, letters->failed);
	m->is_claimed = letters->is_cut && !letters->failed;
	m->looks_again &= letters->moved > 0 && !letters->failed;
}

static void on_claimed(struct request *req, const struct reply *r)
{
	struct move *m = move_of(req);

	m->looks_again = false;
	if (!r || reply_outcome(r) != QUEUE_LETTERS_CLAIM_CLAIMED)
		return;
	struct text to = reply_text(r, QUEUE_LETTERS_CLAIM_TO);
	free(m->to);
	m->to = strndup(to.at, to.len);
	m->is_claimed = m->to;
}

/* Each request begins the next one, until nothing is left, or the other queue refuses letters. */
static void on_ended(struct request *req)
{
	struct move *m = move_of(req);

	if (!is_draining && (m->is_claimed || m->looks_again))
		begin(m);
	else
		remove_move(m);
}

/* If memory runs out, a later reply begins the move. */
static void begin(struct move *m)
{
	static const struct operation operation = { .id = "dead_letters", .method = "POST", .writes = true };
	struct request *req = request_background(&operation, &m->letters, on_ended);

	if (!req) {
		remove_move(m);
		return;
	}
	if (m->is_claimed) {
		m->is_claimed = false;
		m->letters = (struct queue_move){ .from = queue_of(m),
						  .to = text_of(m->to),
						  .limit = LETTERS_MOST,
						  .is_setting = true,
						  .done = on_moved };
		queue_move_begin(req, &m->letters);
	} else {
		struct call *c = queue_call(req, &queue_letters_claim_script, queue_of(m));
		m->looks_again = false;
		call_may_fail(c);
		call_send(c, on_claimed);
	}
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
