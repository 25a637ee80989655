/*
 * push_answer: what a program's answer means for the message that was pushed. Pure: knows no
 * socket and no queue. docs/push.md has the table.
 */
#ifndef PATTERND_PUSH_ANSWER_H
#define PATTERND_PUSH_ANSWER_H

#include "outbound/outbound.h"

enum push_verdict {
	PUSH_DONE,      /* 2xx: the message is acknowledged */
	PUSH_FAILED,    /* it counts as a delivery, and is due again after its backoff */
	PUSH_DEAD,      /* the program states that no other try will help */
	PUSH_BUSY,      /* 429 or 503: it does not count, and the program wants a pause */
	PUSH_UNREACHED, /* nothing was sent: it does not count */
};

enum { PUSH_REASON_BYTES = 256 };

struct push_answer {
	/* Of its headers */
	bool is_json;
	bool is_dead;                 /* Patternd-Dead came */
	char dead[PUSH_REASON_BYTES]; /* its value: why */
	int64_t retry_after_ms;       /* -1: it did not come, or cannot be read */
	/* By push_answer_judge */
	enum push_verdict verdict;
	struct text result;             /* absent: the answer has no JSON */
	char reason[PUSH_REASON_BYTES]; /* of what is not done, for people */
};

void push_answer_begin(struct push_answer *a);
/* Of any bytes; later ones replace earlier ones. `now_ms` is for dates. */
void push_answer_header(struct push_answer *a, struct text name, struct text value, int64_t now_ms);
/* Once the request has ended. The result borrows from its answer. */
void push_answer_judge(struct push_answer *a, const struct outbound *o);
/* Without result and reason: what is left cannot be refused. */
void push_answer_make_plain(struct push_answer *a);

#endif
