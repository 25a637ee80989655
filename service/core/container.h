/* container: from a member to the struct that has it, for callbacks that get the member. Pure. */
#ifndef PATTERND_CONTAINER_H
#define PATTERND_CONTAINER_H

#include <stddef.h>

/* Returns the `type` whose `member` is at `at`. It does not compile if `at` has another type. */
#define container_of(at, type, member) \
	_Generic((at), __typeof__(((type){ 0 }).member) * : (type *)(void *)((char *)(at)-offsetof(type, member)))

#endif
