#include "per_operation.h"

#include "test.h"

enum { FLAWS_PRINTED = 20 };

/* What one cmocka test is to run. */
struct pair {
	const struct operation_test *test;
	const struct contract_operation *op;
	char name[96];
};

static void run_pair(void **state)
{
	const struct pair *pair = *state;
	struct refusals seen = { 0 };

	pair->test->run(pair->op, &seen);
	if (seen.flaws)
		fail_msg("%u of %u requests", seen.flaws, seen.seen);
	if (!seen.seen)
		skip();
}

int run_per_operation(const char *group, const struct operation_test *tests, size_t count, int (*set_up)(void **state),
		      int (*tear_down)(void **state))
{
	size_t n = 0, all = count * contract_count();
	struct pair *pairs = calloc(all + 1, sizeof(*pairs));
	struct CMUnitTest *cmocka_tests = calloc(all + 1, sizeof(*cmocka_tests));

	if (!all || !pairs || !cmocka_tests) {
		print_error("%s: there is no contract to test by\n", group);
		free(pairs);
		free(cmocka_tests);
		return 1;
	}
	for (size_t i = 0; i < contract_count(); i++) {
		for (size_t k = 0; k < count; k++, n++) {
			pairs[n].op = contract_at(i);
			pairs[n].test = &tests[k];
			snprintf(pairs[n].name, sizeof(pairs[n].name), "%s: %s", pairs[n].op->id, tests[k].name);
			cmocka_tests[n] = (struct CMUnitTest){ pairs[n].name, run_pair, NULL, NULL, &pairs[n] };
		}
	}
	int failed = _cmocka_run_group_tests(group, cmocka_tests, n, set_up, tear_down);
	free(pairs);
	free(cmocka_tests);
	return failed;
}

static void print_flaw(struct refusals *seen, struct answer a, const char *flaw, const char *what, va_list args)
{
	if (++seen->flaws > FLAWS_PRINTED)
		return;
	print_error("%s", "  ");
	vprint_error(what, args);
	print_error(": %s: ", flaw);
	answer_print(a);
}

/* True when `word` is one of the words of a list. */
static bool is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

void must_refuse(struct refusals *seen, struct answer a, int status, const char *codes, const char *pointer,
		 const char *what, ...)
{
	const char *flaw = problem_flaw(a, status, NULL, "none");
	const char *first = json_string_value(json_at(a, "/errors/0/pointer"));
	va_list args;

	seen->seen++;
	if (!flaw && codes && !is_listed(codes, json_string_value(json_at(a, "/code"))))
		flaw = "code";
	if (!flaw && pointer && (!first || strcmp(first, pointer) != 0))
		flaw = "errors/0/pointer";
	if (!flaw)
		return;
	va_start(args, what);
	print_flaw(seen, a, flaw, what, args);
	va_end(args);
}

void note_flaw(struct refusals *seen, struct answer a, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	print_flaw(seen, a, "should be otherwise", what, args);
	va_end(args);
}
