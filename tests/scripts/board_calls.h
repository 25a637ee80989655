/*
 * board_calls: calls the leaderboard scripts as their handlers do, and parses the replies. The
 * Redis is script_stage's.
 *
 *	board_make("b", 2);                                  its dimensions are d0, d1, ...
 *	board_put("b", "m", "set", 2, (int64_t[]){ 5, 15 });
 *	size_t n = board_page("b", 0, 10, "desc", 2, found); found[0].member, found[0].scores
 */
#ifndef TEST_BOARD_CALLS_H
#define TEST_BOARD_CALLS_H

#include <stddef.h>
#include <stdint.h>

enum { BOARD_DIMENSIONS = 4, BOARD_NAME = 32 };

struct ranked {
	char member[BOARD_NAME];
	int64_t scores[BOARD_DIMENSIONS];
};

/*
 * The name of a key of the board; `part` is "", ":places" or ":ranks". Eight more calls overwrite
 * it.
 */
const char *board_key(const char *board, const char *part);

/* The names of that many dimensions, one per line. */
const char *board_lines(size_t dimensions);

void board_make(const char *board, size_t dimensions);

/* Returns the outcome. `how` is "set" or "add". */
int64_t board_put(const char *board, const char *member, const char *how, size_t dimensions, const int64_t *scores);

/*
 * Reads a page, or the neighbourhood of a member, into `found`. Returns the number of members, -1
 * if the board does not exist, or -2 if the member does not exist.
 */
int board_page(const char *board, int64_t from, int64_t count, const char *order, size_t dimensions,
	       struct ranked *found);

/*
 * board_range reads, and board_count counts, the members whose first score is in a range. NULL: no
 * bound.
 */
int board_range(const char *board, int64_t from, int64_t count, const char *order, const char *min, const char *max,
		size_t dimensions, struct ranked *found);
int64_t board_count(const char *board, const char *min, const char *max);
int board_around(const char *board, const char *member, int64_t count, const char *order, size_t dimensions,
		 struct ranked *found);

/*
 * Returns the position from 0, -1 if the board does not exist, or -2 if the member does not exist.
 */
int64_t board_position(const char *board, const char *member, const char *order);

/*
 * Fills a board quickly with members m0, m1, ... of three dimensions. It writes the keys that
 * leaderboard_member_put would write, without running that script.
 */
void board_fill(const char *board, size_t members, unsigned seed);

#endif
