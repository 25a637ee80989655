/*
 * board_call: what the handlers of leaderboards share: a board's keys, its dimensions, members of
 * answers.
 */
#ifndef PATTERND_BOARD_CALL_H
#define PATTERND_BOARD_CALL_H

#include "common/handler.h"

enum { DIMENSIONS_MAX = 4 };

/* The largest score of a board with so many dimensions. */
int64_t board_score_max(size_t dimensions);

/* What the scripts keep as one text, a name a line. */
struct board_dimensions {
	struct text names[DIMENSIONS_MAX]; /* (ref) */
	size_t count;
};
struct board_dimensions board_dimensions_of(struct text lines);

/* The same in one line, for people: "gold, silver". */
struct text board_dimensions_text(struct request *req, struct text lines);

/* 404: a write names several dimensions, or none, and there is no board. */
void board_answer_missing(struct request *req, struct text board);

/* Adds the board's keys: itself, its places, its ranks. And a call that begins with them. */
void board_call_keys(struct call *c, struct text board);
struct call *board_call(struct request *req, const struct script *s, struct text board);

/*
 * An element as the scripts return it (lua/leaderboards/lib_board.lua): false when these bytes are
 * none. Else the members of an open object, of it and its position from 0; below 0, it has no rank.
 */
bool board_is_element(const struct board_dimensions *d, struct text element);
void board_out_ranked(struct json_out *o, const struct board_dimensions *d, struct text element, int64_t position);

/* The members of an open object, of a board; from board_reply of lua/leaderboards/lib_board.lua. */
void board_out(struct json_out *o, struct text name, const struct reply *r);

#endif
