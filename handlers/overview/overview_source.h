/*
 * overview_source: reads one operation of the contract as a client does, a list page by page, until
 * it ends, a page fails or the time is used up.
 */
#ifndef PATTERND_OVERVIEW_SOURCE_H
#define PATTERND_OVERVIEW_SOURCE_H

#include "contract/self_call.h"
#include "core/arena.h"
#include "json/out.h"
#include "json/tree.h"

enum { OVERVIEW_WHY_BYTES = 256 };

enum overview_state {
	OVERVIEW_READ, /* read to the end */
	OVERVIEW_ASKING,
	OVERVIEW_CUT,     /* the time ended before the list */
	OVERVIEW_UNKNOWN, /* failed: `code` and `why` have the reason */
	OVERVIEW_ABSENT   /* not asked, since this daemon cannot list these */
};

struct overview_source {
	const char *operation;
	struct text name; /* value of the first path parameter; absent without one */
	/* Called with each answer. `now_ms` is Redis's time. */
	void (*take)(struct overview_source *s, const struct json *answer, int64_t now_ms);
	/* Called from the loop, once the state is not OVERVIEW_ASKING any more. */
	void (*ended)(struct overview_source *s);
	void *context;
	struct arena *arena; /* (ref) has the cursors */
	bool is_list;        /* the answer has pages */
	int64_t last_us;     /* when the time is used up; 0: never */
	/* Used by overview_source.c only: */
	struct self_call call;
	enum overview_state state;
	bool has_answer;    /* to any question, also before the last overview_source_begin */
	int64_t unreadable; /* names that the answers left out, since their keys are foreign */
	int64_t unread;     /* slots of a Cluster that the answers left out */
	struct text cursor; /* absent at the start */
	char code[64], why[OVERVIEW_WHY_BYTES];
};

/* Asks for the first page. If that fails at once, `ended` is not called. */
void overview_source_begin(struct overview_source *s);

/*
 * Writes an item of `unknown`, if the source failed or its answers lack some names; `of` is their
 * kind, in the plural.
 */
void overview_source_out_unknown(const struct overview_source *s, const char *of, struct json_out *o);

/* Ends any request that is under way. */
void overview_source_end(struct overview_source *s);

#endif
