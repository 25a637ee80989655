/*
 * aside: runs test cases that wait for seconds side by side, in separate processes.
 *
 *	SUITE(.open = set_up, .close = tear_down, .columns = 3);
 *
 * Process k runs every `columns`-th case from the k-th on. Each process sets the group up for
 * itself, so the processes share only the processors. No case may assert what a busy machine
 * changes.
 */
#ifndef TEST_ASIDE_H
#define TEST_ASIDE_H

#include "test.h"

/*
 * Works like cmocka_run_group_tests_name. Prints the output of the processes when all have ended.
 */
int run_columns(const char *group, size_t columns, const struct CMUnitTest *tests, size_t count,
		CMFixtureFunction set_up, CMFixtureFunction tear_down);

/*
 * Runs run(0) to run(count - 1), at most eight, each in its own process. Returns how many did not
 * return 0.
 */
int run_apart(size_t count, int (*run)(size_t k));

#endif
