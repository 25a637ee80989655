/*
 * overview_source: one list of the contract, read page by page as a client would, until it ends,
 * fails or is cut off.
 */
#ifndef PATTERND_OVERVIEW_SOURCE_H
#define PATTERND_OVERVIEW_SOURCE_H

#include "contract/inner.h"
#include "core/arena.h"
#include "json/tree.h"

enum { OVERVIEW_WHY_BYTES = 256 };

enum overview_state {
	OVERVIEW_ASKING,
	OVERVIEW_READ,   /* to its end */
	OVERVIEW_CUT,    /* there was no time for the rest */
	OVERVIEW_UNKNOWN /* why is in `code` and `why` */
};

struct overview_source {
	const char *operation;
	struct text name; /* the value of its first path parameter; absent without one */
	/* Called for each answer, with Redis's time. */
	void (*take)(struct overview_source *s, const struct json *answer, int64_t now_ms);
	/* Called from the loop, when it is not OVERVIEW_ASKING any more. */
	void (*ended)(struct overview_source *s);
	void *context;
	struct arena *arena; /* (ref) of cursors */
	bool is_list;        /* has pages */
	/* overview_source.c's */
	struct inner inner;
	enum overview_state state;
	struct text cursor; /* absent at the start */
	char code[64], why[OVERVIEW_WHY_BYTES];
};

/* Asks for its first page. It may have ended, without a call of `ended`. */
void overview_source_begin(struct overview_source *s);

/* There is no more time: ends it, without a call of `ended`. */
void overview_source_cut(struct overview_source *s);

/* Ends it for good. */
void overview_source_end(struct overview_source *s);

#endif
