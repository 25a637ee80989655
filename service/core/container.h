/*
 * container: from a member to the struct that holds it: a callback gets its timer, watch or call, and wants what that is a part of.
 */
#ifndef PATTERND_CONTAINER_H
#define PATTERND_CONTAINER_H

#include <stddef.h>

/* The `type` whose `member` is at `at`; does not compile where `at` does not point to the type of that member. */
#define container_of(at, type, member) \
	_Generic((at), __typeof__(((type *)0)->member) * : (type *)(void *)((char *)(at)-offsetof(type, member)))

#endif
