/*
 * board_call: what the handlers of leaderboards share: a board's keys, its dimensions, members of
 * answers.
 */
#ifndef PATTERND_BOARD_CALL_H
#define PATTERND_BOARD_CALL_H

#include "common/handler.h"

enum { DIMENSIONS_MAX = 4 };

/* What the scripts keep as one text, a name a line. */
struct board_dimensions {
	struct text names[DIMENSIONS_MAX]; /* (ref) */
	size_t count;
};
struct board_dimensions board_dimensions_of(struct text lines);

/* The same in one line, for people: "gold, silver". */
struct text board_dimensions_text(struct request *req, struct text lines);

/* Adds the board's keys: itself, its places, its ranks. */
void board_call_keys(struct call *c, struct text board);

/* The members of an open object, of a board; from board_reply of lua/leaderboards/lib_board.lua. */
void board_out(struct json_out *o, struct text name, const struct reply *r);

#endif
