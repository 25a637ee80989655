#include "aside.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"

enum { COLUMNS_MAX = 8 };

struct column {
	pid_t pid;
	FILE *output;
};

/* The child; never returns. */
static void run_column(const char *group, struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up,
		       CMFixtureFunction tear_down, FILE *output)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(fileno(output), STDOUT_FILENO);
	dup2(fileno(output), STDERR_FILENO);
	exit(_cmocka_run_group_tests(group, tests, count, set_up, tear_down) == 0 ? 0 : 1);
}

static void print_all(FILE *output)
{
	char text[4096];

	rewind(output);
	for (size_t n; (n = fread(text, 1, sizeof(text), output)) > 0;)
		fwrite(text, 1, n, stdout);
	fclose(output);
	fflush(stdout);
}

int run_columns(const char *group, size_t columns, const struct CMUnitTest *tests, size_t count,
		CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	struct column column[COLUMNS_MAX] = { 0 };
	struct CMUnitTest *own = calloc(count, sizeof(*own));
	int failed = 0;

	if (columns > COLUMNS_MAX || !own)
		abort();
	exchange_open(); /* by the parent: each child would empty the file */
	for (size_t k = 0; k < columns; k++) {
		size_t n = 0;
		for (size_t i = k; i < count; i += columns)
			own[n++] = tests[i];
		column[k].output = tmpfile();
		if (!column[k].output || (column[k].pid = fork()) < 0)
			abort();
		if (column[k].pid == 0)
			run_column(group, own, n, set_up, tear_down, column[k].output);
	}
	free(own);
	for (size_t k = 0; k < columns; k++) {
		int status = -1;
		waitpid(column[k].pid, &status, 0);
		failed += status != 0;
		print_all(column[k].output);
	}
	return failed;
}
