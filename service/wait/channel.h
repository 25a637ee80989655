/*
 * channel: where those who wait stand, or listen: one channel a resource, named as its first key.
 *
 * Knows which channels are heard, when something becomes due there, and who stands there in which order. What that means for a request
 * that waits is wait.c's affair. A hearer does not wait, but is told every message as it is.
 */
#ifndef PATTERND_CHANNEL_H
#define PATTERND_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/loop.h"
#include "core/text.h"

struct wait;
struct channel;
struct subscriber;

/* One stands here. Lives inside its wait. */
struct place {
	struct wait *wait;             /* (ref) */
	struct channel *channel;       /* (ref) */
	struct place *next, *previous; /* in the channel's line, the longest waiting first */
};

/* One listens here. Lives inside its owner, who must leave before it goes. */
struct hearer {
	struct channel *channel; /* (ref) */
	struct hearer *next, *previous;
	/* From now on nothing is missed. Again after each time when something may have been. */
	void (*listening)(struct hearer *h);
	void (*message)(struct hearer *h, struct text message); /* lives until this returns; may leave */
};

enum hearing { UNHEARD, ASKED, HEARD };

struct channel {
	struct text name; /* behind the struct */
	enum hearing hearing;
	struct subscriber *ear;     /* (ref) who hears it, or was asked to; NULL while UNHEARD */
	bool is_timed;              /* nothing is published here, only time makes progress */
	struct place *first, *last; /* who stands here */
	struct hearer *hearers;     /* who listens */
	unsigned busy;              /* wait.c: units of those who try, or are about to */
	struct timer due;           /* when time makes progress possible */
	int64_t empty_since_us;
	struct channel *next, *previous; /* in the list of all */
};

/* Who is told. */
struct channel_owner {
	void (*heard)(struct channel *ch);                       /* from now on what is published is heard */
	void (*deaf)(struct channel *ch);                        /* it is not any more */
	void (*something)(struct channel *ch, unsigned units);   /* there is so much, or may be */
	bool (*turn_of)(struct channel *ch, struct text ticket); /* it is his turn; false: he does not stand here */
	void (*dropped)(struct channel *ch, struct text life);   /* those of this daemon are in Redis's line no more */
};

bool channel_open(const struct channel_owner *owner);
void channel_close(void);

/* All of them, by ->next. */
struct channel *channel_first(void);

/* Goes to the end of the line at that name. False without memory. */
bool channel_enter(struct place *p, struct text name, bool is_timed);
void channel_leave(struct place *p);

/* False while Redis is away. */
bool channel_can_hear(void);
/* Listens from when `listening` is called. False without memory. */
bool channel_hear(struct hearer *h, struct text name);
void channel_unhear(struct hearer *h); /* also one that never listened */

/* What is published is wanted from now on, from the server that has it by what is known now: `heard` follows, unless it is heard there. */
void channel_listen(struct channel *ch);

/* In so many milliseconds there may be something, if not earlier. */
void channel_due_in(struct channel *ch, int64_t ms);

#endif
