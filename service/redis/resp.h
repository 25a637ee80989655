/* resp: the commands that wait in one connection to be written, as RESP. */
#ifndef PATTERND_RESP_H
#define PATTERND_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

struct redis_socket;

struct resp_buffer {
	char *at; /* owned; [done, len) waits */
	size_t len, done, size;
	uint64_t written; /* bytes that the kernel took so far */
};

/* Copies a command in. False, and nothing was added, without memory or when 64 MiB wait already. */
bool resp_add(struct resp_buffer *o, const struct text *args, size_t count);

/* Bytes that wait. */
size_t resp_waiting(const struct resp_buffer *o);

/* Writes what the kernel takes. A socket that fails may reset the buffer meanwhile. */
void resp_write(struct resp_buffer *o, struct redis_socket *s);

/* For the next connection: nothing waits, nothing was written. */
void resp_reset(struct resp_buffer *o);
void resp_free(struct resp_buffer *o);

#endif
