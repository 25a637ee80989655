/*
 * resp: the output buffer of one connection: commands as RESP. It must not know what the commands
 * are.
 *
 *	at          done              len             size
 *	|  written  |  to be written  |  free         |
 *	+-----------+-----------------+---------------+
 *
 * resp_add appends at `len`. resp_write writes from `done`; when it reaches `len`, both return to
 * 0. If the free part is too small, resp_add moves [done, len) to the start, then enlarges the
 * buffer.
 */
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
	uint64_t written; /* bytes written since resp_reset */
	unsigned unsent;  /* calls of resp_write_ahead since the last write */
};

enum { RESP_MOST_BYTES = 64 * 1024 * 1024 };

/*
 * Appends a command. Returns false, and appends nothing, if memory runs out or if the buffer would
 * exceed RESP_MOST_BYTES. A command in an empty buffer may be larger: a body may have 64 MiB.
 */
bool resp_add(struct resp_buffer *o, const struct text *args, size_t count);

/* Whether the buffer would exceed RESP_MOST_BYTES: why resp_add returned false. */
bool resp_is_full_for(const struct resp_buffer *o, const struct text *args, size_t count);

/* Returns the bytes that are not written yet. */
size_t resp_waiting(const struct resp_buffer *o);

/*
 * Writes as much as the kernel takes. If the socket fails, its owner may reset the buffer during
 * the call.
 */
void resp_write(struct resp_buffer *o, struct redis_socket *s);

/*
 * Call it after each command of a request. Once 8 commands wait, it writes them, so that Redis
 * works on them while the daemon reads further requests. A failure is left to resp_write: the
 * caller is not interrupted by the end of its connection. With TLS it does nothing.
 */
void resp_write_ahead(struct resp_buffer *o, struct redis_socket *s);

/* resp_reset empties the buffer, for the next connection. */
void resp_reset(struct resp_buffer *o);
void resp_free(struct resp_buffer *o);

#endif
