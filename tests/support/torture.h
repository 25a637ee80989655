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

/* Makes the file that is shared with daemons. Fails the test if it cannot. */
void torture_open(void);

/*
 * The `env` of a struct proc. Do not use it for a sanitized daemon, which would lose its allocator.
 */
const char *const *torture_env(void);

/*
 * Makes `how_many` calls of the kind fail, from the n-th on. Calls are counted from now on, or from
 * the start of a daemon that starts later.
 */
void torture_arm(enum torture_kind kind, uint64_t n, uint64_t how_many);

/* Ends the failures. True when the n-th call came. */
bool torture_disarm(void);

/*
 * The callers of the call that failed: "object+offset", one per line, for addr2line -f. Valid until
 * the next torture_arm.
 */
const char *torture_where(void);

/*
 * The memory that the daemon has allocated and not freed. After its end, the memory that it left
 * behind.
 */
int64_t torture_blocks(void);
int64_t torture_bytes(void);

const char *torture_kind_name(enum torture_kind kind);

enum torture_outcome {
	TORTURE_SURVIVED,
	TORTURE_FLAWED,
	TORTURE_ENDED, /* a library's fault ended the daemon */
};

/* Notes the outcome of a scenario in which one call failed. */
void torture_point(const char *scenario, enum torture_kind kind, enum torture_outcome outcome);

/*
 * Prints how many points each kind had. Adds all points as JSON to the file at `path`, unless it is
 * NULL.
 */
void torture_report(const char *path);

#endif
