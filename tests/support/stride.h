/*
 * stride: how much less a test does under valgrind.
 *
 * Many repetitions only meet more values or chances, and show nothing more about memory. The same
 * holds for rows for which a daemon starts only to refuse an option. Under valgrind each of them
 * takes fifty times as long, so a test runs one of stride() of them. The stride is a prime, so that
 * no pattern of steps is lost.
 */
#ifndef TEST_STRIDE_H
#define TEST_STRIDE_H

#include <stdlib.h>

/* 1, or the value of PATTERND_STRIDE. */
static inline int stride(void)
{
	const char *given = getenv("PATTERND_STRIDE");

	return given ? atoi(given) : 1;
}

#endif
