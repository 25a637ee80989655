/*
 * script_stage: one Redis for all tests of a program, emptied after each.
 *
 *	cmocka_unit_test_teardown(a_test, script_stage_empty), ...
 *	return cmocka_run_group_tests_name("lock scripts", tests, script_stage_open,
 *					   script_stage_close);
 */
#ifndef TEST_SCRIPT_STAGE_H
#define TEST_SCRIPT_STAGE_H

#include "redis_server.h"

extern struct redis_server r;

int script_stage_open(void **state);
int script_stage_close(void **state);

/* FLUSHALL, and no limit of memory any more. */
int script_stage_empty(void **state);

#endif
