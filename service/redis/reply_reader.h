/*
 * reply_reader: takes RESP bytes, and returns one `struct reply` after the other. It must not know
 * sockets.
 *
 * hiredis's reader parses. The objects are in an arena that is emptied after each reply. Everything
 * that the server chooses is bounded, so any bytes lead to an error at worst.
 */
#ifndef PATTERND_REPLY_READER_H
#define PATTERND_REPLY_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/reply.h"

struct reply_reader;

/*
 * Makes a reader. A reply may have `most_bytes`, and 2^20 items in all its arrays. NULL: memory ran
 * out.
 */
struct reply_reader *reply_reader_new(size_t most_bytes);
void reply_reader_free(struct reply_reader *r);

/* Adds bytes. False: memory ran out, or these are more bytes than a reply may have. */
bool reply_reader_feed(struct reply_reader *r, const char *bytes, size_t len);

/*
 * Sets *out to the next whole reply, or to NULL if more bytes are needed. False: the bytes are not
 * RESP; `why` has the reason.
 */
bool reply_reader_next(struct reply_reader *r, const struct reply **out, const char **why);

/* Ends the use of the reply from reply_reader_next. */
void reply_reader_done(struct reply_reader *r);

#endif
