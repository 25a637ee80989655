/*
 * test: a program of tests. Each test registers itself, and test.c has `main`.
 *
 *	SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);
 *
 *	TEST(counters_are_added_to)
 *	{
 *		assert_status(post("/counters/a/increment", "{\"counters\":{\"b\":1}}"), 200);
 *	}
 *
 * Tests run in the order of their lines. `build/tests/test_locks "readers_*"` runs the tests
 * whose names match. It must not know what is tested.
 */
#ifndef TEST_TEST_H
#define TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct test {
	const char *name;
	CMUnitTestFunction run;
	CMFixtureFunction before, after; /* NULL: as the suite has it */
	void *state;                     /* *state is this */
	int line;
	struct test *next;
};

struct test_suite {
	const char *name;                /* NULL: the name of the program */
	CMFixtureFunction open, close;   /* once */
	CMFixtureFunction before, after; /* each test, unless the test has its own */
	size_t columns;                  /* above 1: so many processes run the tests (aside.h) */
	bool (*skips)(void);             /* true: no test is run */
	int line;
	struct test_suite *next;
};

/* For a test of a suite whose other tests have a fixture. */
int no_fixture(void **state);

void test_add(struct test *test);
void test_add_suite(struct test_suite *suite);

#define TEST_NAMED_(name, line) name##line
#define TEST_NAMED(name, line) TEST_NAMED_(name, line)

/*
 * The suite of the tests below it, and of all tests of the program if it is the only one. The
 * arguments are members of struct test_suite.
 */
#define SUITE(...)                                                                      \
	__attribute__((constructor)) static void TEST_NAMED(add_suite_, __LINE__)(void) \
	{                                                                               \
		static struct test_suite suite = { .line = __LINE__, __VA_ARGS__ };     \
		test_add_suite(&suite);                                                 \
	}                                                                               \
	extern int test_ends_here

/* A test. Further arguments set `before` and `after`. */
#define TEST(function, ...)                                                                                      \
	static void function(void **state);                                                                      \
	__attribute__((constructor)) static void TEST_NAMED(add_test_, __LINE__)(void)                           \
	{                                                                                                        \
		static struct test test = { .name = #function, .run = function, .line = __LINE__, __VA_ARGS__ }; \
		test_add(&test);                                                                                 \
	}                                                                                                        \
	static void function(void **state)

/*
 * A test for each row of an array: *state is the row, and its member `label` is in the test's name.
 */
#define TEST_ROWS(function, rows, label, ...)                                                       \
	__attribute__((constructor)) static void TEST_NAMED(add_rows_, __LINE__)(void)              \
	{                                                                                           \
		static struct test tests[COUNT(rows)];                                              \
		static char names[COUNT(rows)][96];                                                 \
		for (size_t i = 0; i < COUNT(rows); i++) {                                          \
			snprintf(names[i], sizeof(names[i]), "%s: %s", #function, (rows)[i].label); \
			tests[i] = (struct test){ .name = names[i],                                 \
						  .run = function,                                  \
						  .line = __LINE__,                                 \
						  .state = (void *)(uintptr_t)(&(rows)[i]),         \
						  __VA_ARGS__ };                                    \
			test_add(&tests[i]);                                                        \
		}                                                                                   \
	}                                                                                           \
	extern int test_ends_here

#endif
