/*
 * push_answer: what a program's answer means for the message that was pushed. Pure: it must not
 * know a socket or a queue. docs/push.md has the table.
 */
#ifndef PATTERND_PUSH_ANSWER_H
#define PATTERND_PUSH_ANSWER_H

#include "outbound/outbound.h"

enum push_verdict {
	PUSH_DONE,      /* 2xx: acknowledge the message */
	PUSH_FAILED,    /* reject it: the delivery counts, and the message is due again after its backoff */
	PUSH_DEAD,      /* Patternd-Dead: the program states that a retry cannot help */
	PUSH_BUSY,      /* 429 or 503: the delivery does not count, and the program asks for a pause */
	PUSH_UNREACHED, /* no request was sent: the delivery does not count */
};

enum { PUSH_REASON_BYTES = 256 };

struct push_answer {
	/* Set by push_answer_header: */
	bool is_json;
	bool is_dead;                 /* the answer has Patternd-Dead */
	char dead[PUSH_REASON_BYTES]; /* its value, the reason */
	int64_t retry_after_ms;       /* -1: absent or invalid */
	/* Set by push_answer_judge: */
	enum push_verdict verdict;
	struct text result;             /* absent: the answer has no JSON */
	char reason[PUSH_REASON_BYTES]; /* why the message is not done, for operators */
};

void push_answer_begin(struct push_answer *a);
/*
 * Takes one header. Value may be any bytes; a repeated header replaces the earlier one. `now_ms` is
 * the wall clock, for dates in Retry-After.
 */
void push_answer_header(struct push_answer *a, struct text name, struct text value, int64_t now_ms);
/* Call it once the request has ended. The result points into the answer of `o`. */
void push_answer_judge(struct push_answer *a, const struct outbound *o);
/* Drops result and reason, so that the settling cannot be refused for them. */
void push_answer_make_plain(struct push_answer *a);

#endif
