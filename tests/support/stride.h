/*
 * stride: how much less is done under valgrind.
 *
 * What a test does very often, only to meet every value or chance, shows nothing more of memory by it: there each time takes fifty times
 * as long. So it does one of stride() of them; or takes steps of it, which is a prime, so that no pattern is left out.
 */
#ifndef TEST_STRIDE_H
#define TEST_STRIDE_H

#include <stdlib.h>

/* 1, or what PATTERND_STRIDE says. */
static inline int stride(void)
{
	const char *given = getenv("PATTERND_STRIDE");

	return given ? atoi(given) : 1;
}

#endif
