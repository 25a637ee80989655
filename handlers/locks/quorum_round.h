/*
 * lock_round: the same question to all servers of --lock-quorum at once, and a decision once all have answered or a short time is over.
 *
 *	struct round *r = round_new(req, mine, ttl_ms);    in the request's arena
 *	round_ask(r, ask_to_take, decide);                 the rounds of a request follow each other
 *	decide: round_majority(r), r->votes[i] ...         answers, or asks again
 *
 * A server that was too slow counts as one that could not be asked; what it says later is not heard. Each has one connection, so it does
 * in order what it was asked.
 */
#ifndef PATTERND_LOCK_ROUND_H
#define PATTERND_LOCK_ROUND_H

#include "handler.h"

enum { ROUND_MOST = 9 };

/* What one server said. */
struct vote {
	bool awaited; /* it answered the round before; who did not is asked all the same */
	bool said;
	const struct reply *reply; /* a copy, while `said` */
	int64_t outcome;           /* its first item */
};

struct round {
	struct request *req;
	void *whose; /* the asker's own */
	size_t of;   /* servers */
	size_t said;
	struct vote votes[ROUND_MOST];
	int64_t began_us;    /* the first round of the request */
	int64_t ttl_ms;      /* of the lock; 0 where it does not matter */
	const char *trouble; /* of a server that did not answer; NULL when all did */
	/* Of the client that left: what was won goes back. NULL: nothing was. */
	void (*left)(struct round *r);

	struct timer deadline;
	size_t owed;
	unsigned number;
	void (*decide)(struct round *r);
};

/* Makes req->work and req->gone its own. NULL without memory: it was answered. */
struct round *round_new(struct request *req, void *whose, int64_t ttl_ms);

/* `ask` makes the call, all but where it goes. */
void round_ask(struct round *r, struct call *(*ask)(struct round *r), void (*decide)(struct round *r));

size_t round_majority(const struct round *r);
size_t round_count(const struct round *r, int64_t outcome);

/*
 * What is left of ttl_ms by our clock: less what passed since the first server was asked, less what its clock may run faster than ours
 * (1 %, and 2 ms since Redis counts in whole ones). Below 1 there is no lock any more.
 */
int64_t round_left_ms(const struct round *r);
int64_t round_least_ttl_ms(void); /* that can have anything left */

/* 503: too few of them said the same. `what`, for a person: "granted it". */
void round_answer_none(struct round *r, enum effect effect, size_t count, const char *what);

#endif
