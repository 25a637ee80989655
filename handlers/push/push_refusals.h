/*
 * push_refusals: which messages a program answered 429 or 503 to, again and again, while it
 * acknowledged others. Such an answer is about the message. Without an acknowledgement in between
 * it is about the program. Pure: it must not know a target.
 */
#ifndef PATTERND_PUSH_REFUSALS_H
#define PATTERND_PUSH_REFUSALS_H

#include "core/text.h"

enum { PUSH_REFUSALS_MOST = 32 }; /* the messages that were refused last; earlier ones are forgotten */

struct push_refusals {
	struct push_refusal {
		uint64_t id; /* a hash; 0: this row and the later ones are free */
		uint64_t acknowledged;
		unsigned times;
	} rows[PUSH_REFUSALS_MOST]; /* the latest first */
};

/*
 * Notes that the program refused a message. `acknowledged` is how many messages it has acknowledged
 * so far. Returns how often it acknowledged others between two refusals of this message.
 */
unsigned push_refusals_note(struct push_refusals *r, struct text id, uint64_t acknowledged);
/* The message was acknowledged: a later message may have its id. */
void push_refusals_forget(struct push_refusals *r, struct text id);

#endif
