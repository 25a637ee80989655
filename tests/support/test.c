/* test: see test.h. Its `main` is for programs that have none. */
#include "test.h"

#include <errno.h>

#include "aside.h"

static struct test *tests;
static struct test_suite *suites;

int no_fixture(void **state)
{
	return 0;
}

/* Constructors run in any order, so the lists are sorted by line. Rows stay in their order. */
void test_add(struct test *test)
{
	struct test **at = &tests;

	while (*at && (*at)->line <= test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

void test_add_suite(struct test_suite *suite)
{
	struct test_suite **at = &suites;

	while (*at && (*at)->line <= suite->line)
		at = &(*at)->next;
	suite->next = *at;
	*at = suite;
}

static bool is_of(const struct test_suite *suite, const struct test *test)
{
	return (suite == suites || test->line > suite->line) && (!suite->next || test->line < suite->next->line);
}

static int run_suite(const struct test_suite *suite)
{
	const char *name = suite->name ? suite->name : program_invocation_short_name;
	struct CMUnitTest *own;
	size_t count = 0;

	for (const struct test *t = tests; t; t = t->next)
		count += is_of(suite, t);
	own = calloc(count + 1, sizeof(*own));
	if (!own || !count) {
		print_error("%s: it has no test\n", name);
		free(own);
		return 1;
	}
	count = 0;
	for (const struct test *t = tests; t; t = t->next)
		if (is_of(suite, t))
			own[count++] = (struct CMUnitTest){ .name = t->name,
							    .test_func = t->run,
							    .setup_func = t->before ? t->before : suite->before,
							    .teardown_func = t->after ? t->after : suite->after,
							    .initial_state = t->state };
	int failed = suite->columns > 1 ? run_columns(name, suite->columns, own, count, suite->open, suite->close)
					: _cmocka_run_group_tests(name, own, count, suite->open, suite->close);
	free(own);
	return failed;
}

int main(int argc, char **argv)
{
	static struct test_suite plain;
	int failed = 0;

	if (!suites)
		test_add_suite(&plain);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	for (const struct test_suite *s = suites; s; s = s->next)
		if (!s->skips || !s->skips())
			failed += run_suite(s);
	return failed;
}
