/* container: from a member to the struct that holds it, for callbacks that get the member. */
#ifndef PATTERND_CONTAINER_H
#define PATTERND_CONTAINER_H

#include <stddef.h>

/* The `type` whose `member` is at `at`; does not compile when `at` has another type. */
#define container_of(at, type, member) \
	_Generic((at), __typeof__(((type *)0)->member) * : (type *)(void *)((char *)(at)-offsetof(type, member)))

#endif
