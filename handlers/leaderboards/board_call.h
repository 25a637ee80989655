/*
 * leaderboard_call: what the handlers of leaderboards share: a board's keys, its dimensions, how it is told of.
 */
#ifndef PATTERND_LEADERBOARD_CALL_H
#define PATTERND_LEADERBOARD_CALL_H

#include "handler.h"

enum { DIMENSIONS_MAX = 4 };

/* What the scripts keep as one text, a name a line. */
struct dimensions {
	struct text names[DIMENSIONS_MAX]; /* (ref) */
	size_t count;
};
struct dimensions dimensions_of(struct text lines);

/* The same in one line, for people: "gold, silver". */
struct text dimensions_told(struct request *req, struct text lines);

/* Adds the board's keys: itself, its places, its ranks. */
void leaderboard_keys(struct call *c, struct text board);

/* The members of an open object that tell of a board as a whole. */
void leaderboard_write(struct json_out *o, struct text board, struct text dimensions, int64_t size);

void answer_no_board(struct request *req, struct text board);

#endif
