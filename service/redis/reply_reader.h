/*
 * redis_reply: RESP bytes in, one `struct reply` after the other out.
 *
 * hiredis's reader does the parsing; the objects are ours, in an arena that is emptied after each reply, with bounds on
 * everything that the other side chooses: any bytes end in an error at worst.
 */
#ifndef PATTERND_REDIS_REPLY_H
#define PATTERND_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/reply.h"

struct reply_reader;

/* Returns new; NULL without memory. A reply may have `most_bytes`, and 2^20 items in all its arrays together. */
struct reply_reader *reply_reader_new(size_t most_bytes);
void reply_reader_free(struct reply_reader *r);

/* False: no memory, or more bytes than any answer of ours can have. */
bool reply_reader_feed(struct reply_reader *r, const char *bytes, size_t len);

/* The next whole reply in *out, NULL when more bytes are needed. False: the bytes are no reply; `why` says so. */
bool reply_reader_next(struct reply_reader *r, const struct reply **out, const char **why);

/* The reply that reply_reader_next gave is not needed any more. */
void reply_reader_done(struct reply_reader *r);

#endif
