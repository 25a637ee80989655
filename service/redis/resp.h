/* resp: the output buffer of one connection: commands as RESP. */
#ifndef PATTERND_RESP_H
#define PATTERND_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct redis_socket;

struct resp_buffer {
	char *at; /* owned; [done, len) is not written yet */
	size_t len, done, size;
	uint64_t written; /* bytes, since resp_reset */
};

/*
 * Copies a command in. False, and nothing is added, without memory or when the buffer would exceed
 * 64 MiB. A command in an empty buffer may be larger: a body may have 64 MiB.
 */
bool resp_add(struct resp_buffer *o, const struct text *args, size_t count);

/* Bytes that are not written yet. */
size_t resp_waiting(const struct resp_buffer *o);

/* Writes what the kernel takes. A socket that fails may reset the buffer meanwhile. */
void resp_write(struct resp_buffer *o, struct redis_socket *s);

/* Empties it, for the next connection. */
void resp_reset(struct resp_buffer *o);
void resp_free(struct resp_buffer *o);

#endif
