#include "aside.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"

enum { APART_MAX = 8 };

/* A process that runs a part of the cases. */
struct apart {
	pid_t pid;
	FILE *output;
};

static void start(struct apart *p, int (*run)(size_t k), size_t k)
{
	p->output = tmpfile();
	if (!p->output || (p->pid = fork()) < 0)
		abort();
	if (p->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(fileno(p->output), STDOUT_FILENO);
	dup2(fileno(p->output), STDERR_FILENO);
	exit(run(k) == 0 ? 0 : 1);
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

int run_apart(size_t count, int (*run)(size_t k))
{
	struct apart processes[APART_MAX] = { 0 };
	int failed = 0;

	if (count > APART_MAX)
		abort();
	exchange_open(); /* the parent opens it: each child would empty the file */
	for (size_t k = 0; k < count; k++)
		start(&processes[k], run, k);
	for (size_t k = 0; k < count; k++) {
		int status = -1;
		waitpid(processes[k].pid, &status, 0);
		failed += status != 0;
		print_all(processes[k].output);
	}
	return failed;
}

/* ---- Every n-th case ---- */

static struct {
	const char *group;
	size_t columns, count;
	const struct CMUnitTest *tests;
	CMFixtureFunction set_up, tear_down;
} all;

static int run_column(size_t k)
{
	struct CMUnitTest *own = calloc(all.count, sizeof(*own));
	size_t n = 0;

	if (!own)
		abort();
	for (size_t i = k; i < all.count; i += all.columns)
		own[n++] = all.tests[i];
	int failed = _cmocka_run_group_tests(all.group, own, n, all.set_up, all.tear_down);
	free(own);
	return failed;
}

int run_columns(const char *group, size_t columns, const struct CMUnitTest *tests, size_t count,
		CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	all.group = group;
	all.columns = columns;
	all.tests = tests;
	all.count = count;
	all.set_up = set_up;
	all.tear_down = tear_down;
	return run_apart(columns, run_column);
}
