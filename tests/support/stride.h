/*
 * stride: how much less is done under valgrind.
 *
 * What a test does very often, only to meet every value or chance, shows nothing more of memory by
 * it, and there each time takes fifty times as long; as does each of many rows for which a daemon
 * starts only to refuse an option. So it does one of stride() of them; it is a prime, so that no
 * pattern of steps is lost.
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
