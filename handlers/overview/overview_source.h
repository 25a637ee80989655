/*
 * overview_source: reads one list of the contract page by page, as a client does, until the list
 * ends, a page fails or the source is cut off. It must not know what the list has.
 */
#ifndef PATTERND_OVERVIEW_SOURCE_H
#define PATTERND_OVERVIEW_SOURCE_H

#include "contract/inner.h"
#include "core/arena.h"
#include "json/tree.h"

enum {
	OVERVIEW_WHY_BYTES = 256,
	OVERVIEW_ANSWER_US = 2000000, /* the longest wait for a page, which may take a second to read */
};

enum overview_state {
	OVERVIEW_ASKING,
	OVERVIEW_READ,    /* read to the end */
	OVERVIEW_CUT,     /* the time or the pages ended before the list */
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
	int pages_most;      /* 0: any number */
	/* Used by overview_source.c only: */
	struct inner inner;
	enum overview_state state;
	int pages;          /* that were read */
	int64_t asked_us;   /* when the present page was asked for */
	bool has_answer;    /* to any question, also before the last overview_source_begin */
	int64_t unreadable; /* names that the answers left out, since their keys are foreign */
	int64_t unread;     /* slots of a Cluster that the answers left out */
	struct text cursor; /* absent at the start */
	char code[64], why[OVERVIEW_WHY_BYTES];
};

/* Asks for the first page. If that fails at once, `ended` is not called. */
void overview_source_begin(struct overview_source *s);

/* Ends the source early, because the time is used up. `ended` is not called. */
void overview_source_cut(struct overview_source *s);

/* Returns true if the answers lack some names. */
bool overview_source_lacks(const struct overview_source *s);

/* Sets `code` and `why` for the names that could not be read; `of` is their kind, in the plural. */
void overview_source_explain(struct overview_source *s, const char *of);

/* Ends any request that is under way. */
void overview_source_end(struct overview_source *s);

#endif
