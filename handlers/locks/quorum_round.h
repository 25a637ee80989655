/*
 * lock_round: one call to all servers of --lock-quorum at once, and a decision once all answered or
 * a short timeout ended.
 *
 *	struct lock_round *r = lock_round_new(req, mine, ttl_ms); in the request's arena
 *	lock_round_ask(r, ask_to_acquire, decide);   one round after the other
 *	decide: lock_round_majority(r), r->votes[i] ...   answers, or asks again
 *
 * A server that was too slow counts as unreachable; its later answer is ignored. Each has one
 * connection, so its calls stay in order.
 */
#ifndef PATTERND_LOCK_ROUND_H
#define PATTERND_LOCK_ROUND_H

#include "common/handler.h"

enum { LOCK_ROUND_MOST = 9 };

/* The answer of one server. */
struct lock_vote {
	bool awaited; /* it answered the round before, or this is the first; the others are asked, too */
	bool said;
	const struct reply *reply; /* a copy, when it has answered */
	int64_t outcome;           /* of the reply */
};

struct lock_round {
	struct request *req;
	void *context; /* the caller's */
	size_t of;     /* servers */
	size_t said;
	struct lock_vote votes[LOCK_ROUND_MOST];
	int64_t began_us;    /* the first round of the attempt */
	int64_t ttl_ms;      /* of the lock; 0 where it does not matter */
	const char *trouble; /* of a server that did not answer; NULL when all did */
	/* The client left: releases what was acquired. NULL: nothing was. */
	void (*left)(struct lock_round *r);

	struct loop_timer deadline;
	size_t pending;
	unsigned number, first; /* of the round; of the attempt's first round */
	void (*decide)(struct lock_round *r);
};

/* Makes req->work and req->on_disconnect its own. NULL without memory: it was answered. */
struct lock_round *lock_round_new(struct request *req, void *context, int64_t ttl_ms);

/* Begins again, after the request parked: all are asked. */
void lock_round_restart(struct lock_round *r);

/* `ask` makes the call, all but where it goes. */
void lock_round_ask(struct lock_round *r, struct call *(*ask)(struct lock_round *r),
		    void (*decide)(struct lock_round *r));

size_t lock_round_majority(const struct lock_round *r);
size_t lock_round_count(const struct lock_round *r, int64_t outcome);
/* A majority reports the same number above 0, such as a fence, in that item of the reply. */
bool lock_round_agrees(const struct lock_round *r, size_t item);

/*
 * What is left of ttl_ms by our clock: less what passed since the first server was asked, less what
 * its clock may run faster than ours (1 %, and 2 ms since Redis counts in whole ones). Below 1
 * there is no lock any more.
 */
int64_t lock_round_left_ms(const struct lock_round *r);
int64_t lock_round_least_ttl_ms(void); /* that can have anything left */

/* 503: too few of them agreed. `what`, for a person: "granted it". */
void lock_round_answer_none(struct lock_round *r, enum effect effect, size_t count, const char *what);

/* ---- The holder: a majority reports the same fence ---- */

/* Its items in a script's reply. */
struct lock_holder_at {
	int64_t outcome; /* of a reply that has a holder */
	size_t fence, expires_at, owner;
	size_t metadata; /* 0: such a reply has none */
};

struct lock_quorum_holder {
	const struct reply *reply; /* of one of these servers */
	int64_t left_ms;           /* until fewer than a majority report it */
	size_t servers;
};

/* False: no majority reports the same one. */
bool lock_round_holder(const struct lock_round *r, const struct lock_holder_at *at, struct lock_quorum_holder *out);

#endif
