/*
 * lock_round: one call to all servers of --lock-quorum at once, and a decision once all have
 * answered or a short timeout has passed.
 *
 *	struct lock_round *r = lock_round_new(req, mine, ttl_ms); in the request's arena
 *	lock_round_ask(r, ask_to_acquire, decide);   one round after the other
 *	decide: lock_round_majority(r), r->votes[i] ...   answers, or asks again
 *
 * A server that is too slow counts as unreachable, and its late answer is ignored. Each server has
 * one connection, so its calls stay in order.
 */
#ifndef PATTERND_LOCK_ROUND_H
#define PATTERND_LOCK_ROUND_H

#include "common/handler.h"

enum { LOCK_ROUND_MOST = 9 };

/* The answer of one server. */
struct lock_vote {
	bool awaited; /* the round waits for this server: it answered the round before, or this is the first round */
	bool said;
	const struct reply *reply; /* a copy of the reply; NULL: no answer */
	int64_t outcome;           /* the outcome of the reply */
};

struct lock_round {
	struct request *req;
	void *context; /* owned by the caller */
	size_t of;     /* number of servers */
	size_t said;
	struct lock_vote votes[LOCK_ROUND_MOST];
	int64_t began_us;    /* when the first round of the attempt began */
	int64_t ttl_ms;      /* the lease; 0 if the operation has none */
	const char *trouble; /* what is wrong with a server that did not answer; NULL when all did */
	/*
	 * The client disconnected: releases what was acquired. NULL: there is nothing to release.
	 */
	void (*left)(struct lock_round *r);

	struct loop_timer deadline;
	size_t pending;
	unsigned number, first; /* number of this round, and of the attempt's first round */
	void (*decide)(struct lock_round *r);
};

/*
 * Makes a round, which uses req->work and req->on_disconnect. NULL: memory ran out, and the request
 * was answered.
 */
struct lock_round *lock_round_new(struct request *req, void *context, int64_t ttl_ms);

/* Begins a new attempt, after the request parked. All servers are asked again. */
void lock_round_restart(struct lock_round *r);

/* Asks all servers. `ask` makes a call for one; the round adds the server and sends it. */
void lock_round_ask(struct lock_round *r, struct call *(*ask)(struct lock_round *r),
		    void (*decide)(struct lock_round *r));

size_t lock_round_majority(const struct lock_round *r);
size_t lock_round_count(const struct lock_round *r, int64_t outcome);
/* True if a majority of replies has the same number above 0, such as a fence, as this item. */
bool lock_round_agrees(const struct lock_round *r, size_t item);

/*
 * lock_round_left_ms returns what is left of ttl_ms by the daemon's clock. It subtracts the time
 * since the first server was asked, 1 % because a server's clock may run faster, and 2 ms because
 * Redis counts whole milliseconds. Below 1 there is no lock.
 */
int64_t lock_round_left_ms(const struct lock_round *r);
int64_t lock_round_least_ttl_ms(void); /* the smallest ttl_ms that leaves anything */

/*
 * Answers 503: too few servers agreed. `what` is the predicate in the detail, such as "granted it".
 */
void lock_round_answer_none(struct lock_round *r, enum effect effect, size_t count, const char *what);

/* ---- The holder: a majority reports the same fence ---- */

/* The items of a holder in a script's reply. */
struct lock_holder_at {
	int64_t outcome; /* outcome of a reply that has a holder */
	size_t fence, expires_at, owner;
	size_t metadata; /* 0: the reply has no metadata */
};

struct lock_quorum_holder {
	const struct reply *reply; /* the reply of one of these servers */
	int64_t left_ms;           /* until fewer than a majority report this holder */
	size_t servers;
};

/* False: no majority reports the same holder. */
bool lock_round_holder(const struct lock_round *r, const struct lock_holder_at *at, struct lock_quorum_holder *out);

#endif
