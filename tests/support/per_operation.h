/*
 * per_operation: tests that run once for every operation of the contract, so that a new operation
 * cannot be forgotten.
 *
 *	static void names(const struct contract_operation *op, struct refusals *seen) { ... }
 *	static const struct operation_test tests[] = { { "names", names }, { "methods", methods } };
 *	int main(void) { return run_per_operation("hostile targets", tests, 2, set_up, tear_down); }
 *
 * The test of an operation sends many requests. It prints all that are not refused as they should
 * be, and then fails.
 */
#ifndef TEST_PER_OPERATION_H
#define TEST_PER_OPERATION_H

#include <stddef.h>

#include "contract.h"
#include "http.h"

struct refusals {
	unsigned seen, flaws;
};

struct operation_test {
	const char *name;
	void (*run)(const struct contract_operation *op, struct refusals *seen);
};

/*
 * Works like cmocka_run_group_tests. Fails without a contract. Shows a test that sent no request as
 * skipped.
 */
int run_per_operation(const char *group, const struct operation_test *tests, size_t count, int (*set_up)(void **state),
		      int (*tear_down)(void **state));

/*
 * Notes a flaw unless the answer is a problem with this status, the effect none and one of the
 * codes (a list in one string; NULL: any). Unless `pointer` is NULL, it must also be the first in
 * `errors`. `what` is printed with a flaw.
 */
void must_refuse(struct refusals *seen, struct answer a, int status, const char *codes, const char *pointer,
		 const char *what, ...) __attribute__((format(printf, 6, 7)));

/* Notes a flaw of another kind. */
void note_flaw(struct refusals *seen, struct answer a, const char *what, ...) __attribute__((format(printf, 3, 4)));

#endif
