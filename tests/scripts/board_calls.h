/*
 * board_calls: leaderboard scripts, called as their handlers call them, and their replies parsed.
 * The Redis is script_stage's.
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
 * A key of the board; `part` is "", ":places" or ":ranks". Lives until eight more were asked for.
 */
const char *board_key(const char *board, const char *part);

/* The names of that many dimensions, a line each. */
const char *board_lines(size_t dimensions);

void board_make(const char *board, size_t dimensions);

/* The outcome; how is "set" or "add". */
int64_t board_put(const char *board, const char *member, const char *how, size_t dimensions, const int64_t *scores);

/*
 * The members of a page or of a member's neighbourhood; returns how many. -1: no such board, -2: no
 * such member.
 */
int board_page(const char *board, int64_t from, int64_t count, const char *order, size_t dimensions,
	       struct ranked *found);

/* Does the same for members whose first score is in a range; NULL: no bound. And their number. */
int board_range(const char *board, int64_t from, int64_t count, const char *order, const char *min, const char *max,
		size_t dimensions, struct ranked *found);
int64_t board_count(const char *board, const char *min, const char *max);
int board_around(const char *board, const char *member, int64_t count, const char *order, size_t dimensions,
		 struct ranked *found);

/* The position from 0; -1: no such board, -2: no such member. */
int64_t board_position(const char *board, const char *member, const char *order);

/*
 * Fills a board with members m0, m1, ... of three dimensions quickly: the same keys as by
 * leaderboard_member_put, without that script.
 */
void board_fill(const char *board, size_t members, unsigned seed);

#endif
