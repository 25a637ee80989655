/*
 * move: moves dead letters of a queue into another one, for a redrive and for dead_letters.c.
 *
 * Within a slot one script moves them (lua/queues/redrive/queue_redrive_to.lua). Between slots each
 * hundred letters takes three scripts: queue_letters_read, queue_letters_store and
 * queue_letters_remove. If the daemon dies between the last two, the letters are in both queues
 * until the next move. It stores no letter twice while the other queue has or remembers its id.
 */
#ifndef PATTERND_QUEUE_MOVE_H
#define PATTERND_QUEUE_MOVE_H

#include "common/handler.h"

/* The outcomes of queue_letters_store.lua. */
enum { LETTER_STORED = '1', LETTER_STORED_BEFORE = '2', LETTER_TAKEN = '3', LETTER_FULL = '4' };

struct queue_move {
	struct text from, to;
	const struct text *ids; /* of the letters */
	size_t id_count;        /* 0: the longest dead, at most `limit` */
	int64_t interval_ms, limit;
	bool is_setting; /* for dead_letter_queue: the other queue's max_messages counts */
	void (*done)(struct request *req, struct queue_move *m);

	int64_t moved, duplicates;
	bool is_cut;         /* a bound of one request was reached, and more letters may follow */
	struct call *failed; /* the call that got no reply, with what was done before it; else NULL */

	int64_t place; /* between slots: how many letters, or ids, it has passed */
	size_t bytes;  /* of contents */
	bool is_last;
	size_t count; /* of the letters below */
	const struct reply *const *letters;
	struct text outcomes; /* one for each letter */
};

/* Begins the move. `m` is in the request's arena. `done` is also called without a client. */
void queue_move_begin(struct request *req, struct queue_move *m);

#endif
