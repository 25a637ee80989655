/*
 * base64: text back to bytes (json_out writes it), as RFC 4648, section 4, and nothing else: padded, no blanks or line ends, and the bits
 * that belong to no byte are 0, so that no two texts mean the same bytes. Pure.
 */
#ifndef PATTERND_BASE64_H
#define PATTERND_BASE64_H

#include <stdbool.h>

#include "core/text.h"

enum { BASE64_WHY = 96 };

/* Bytes that a text of `len` characters makes at most. */
size_t base64_room(size_t len);

/* Writes the bytes to `out`, which has base64_room. False: `why` tells a person what is wrong, and where. */
bool base64_decode(struct text in, char *out, size_t *out_len, char why[BASE64_WHY]);

#endif
