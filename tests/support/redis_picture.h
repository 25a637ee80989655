/*
 * redis_picture: all that is in a Redis, as text to compare.
 */
#ifndef TEST_REDIS_PICTURE_H
#define TEST_REDIS_PICTURE_H

#include "redis_server.h"

/* All that Redis holds, and until when: two equal texts mean that nothing changed. The caller frees. */
char *redis_picture(struct redis_server *r);

#endif
