/*
 * board_call: what the handlers of leaderboards share: a board's keys, its dimensions, members of
 * answers.
 */
#ifndef PATTERND_BOARD_CALL_H
#define PATTERND_BOARD_CALL_H

#include "common/handler.h"

enum { DIMENSIONS_MAX = 4 };

/* Returns the largest score of a board with that many dimensions. */
int64_t board_score_max(size_t dimensions);

/* The scripts keep dimensions as one text, with one name per line. */
struct board_dimensions {
	struct text names[DIMENSIONS_MAX]; /* (ref) */
	size_t count;
};
struct board_dimensions board_dimensions_of(struct text lines);

/* Returns the dimensions in one line, for details of problems: "gold, silver". */
struct text board_dimensions_text(struct request *req, struct text lines);

/* Answers 404 for a write to a missing board that names no dimension, or several. */
void board_answer_missing(struct request *req, struct text board);

/*
 * board_call_keys adds the board's keys: itself, its places, its ranks. board_call starts a call
 * with them.
 */
void board_call_keys(struct call *c, struct text board);
struct call *board_call(struct request *req, const struct script *s, struct text board);

/*
 * board_is_element returns whether the bytes are an element as the scripts return it
 * (lua/leaderboards/lib_board.lua). board_out_ranked writes the element and its position, counted
 * from 0, into an open object. A position below 0 means that it has no rank.
 */
bool board_is_element(const struct board_dimensions *d, struct text element);
void board_out_ranked(struct json_out *o, const struct board_dimensions *d, struct text element, int64_t position);

/* Writes a board from a board_reply (lua/leaderboards/lib_board.lua) into an open object. */
void board_out(struct json_out *o, struct text name, const struct reply *r);

#endif
