/*
 * torture: makes the n-th call of a kind fail in a running daemon, as often as is asked, without a
 * restart between two tries.
 *
 *	torture_open();
 *	patternd.proc.env = torture_env();     preloads PATTERND_TORTURE, programs/torture.c
 *	daemon_start(&patternd, ...);
 *	torture_arm(TORTURE_MEMORY, 3, 1);
 *	...                                    the third allocation fails, once
 *	if (torture_disarm())                  it failed
 *		torture_point("request", TORTURE_MEMORY, TORTURE_SURVIVED);
 */
#ifndef TEST_TORTURE_H
#define TEST_TORTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "../programs/torture.h"

/* Makes the file that is shared with daemons; fails the test without one. */
void torture_open(void);

/* For struct proc. Do not use it for a sanitized daemon, which would lose its allocator. */
const char *const *torture_env(void);

/*
 * From the n-th call of the kind on, so many fail. Calls are counted from now on, or from the start
 * of a daemon that comes.
 */
void torture_arm(enum torture_kind kind, uint64_t n, uint64_t how_many);

/* True when the n-th call came. Nothing fails any more. */
bool torture_disarm(void);

/*
 * The callers of the call that failed: "object+offset", one a line, for addr2line -f. Valid until
 * the next one is armed.
 */
const char *torture_where(void);

/*
 * Memory that the daemon has allocated and not freed; of one that has ended: what it left behind.
 */
int64_t torture_blocks(void);
int64_t torture_bytes(void);

const char *torture_kind_name(enum torture_kind kind);

enum torture_outcome {
	TORTURE_SURVIVED,
	TORTURE_FLAWED,
	TORTURE_ENDED, /* the daemon did, by a library's fault */
};

/* Notes that a scenario was played with one call failing. */
void torture_point(const char *scenario, enum torture_kind kind, enum torture_outcome outcome);

/*
 * Prints how many points there were by kind; adds all of them as JSON to the file, unless it is
 * NULL.
 */
void torture_report(const char *path);

#endif
