/*
 * base64: decodes base64 as in RFC 4648, section 4 (json_out encodes it), and nothing else: padded,
 * without blanks or line ends, and the bits that belong to no byte are 0, so that no two texts
 * decode to the same bytes. Pure.
 */
#ifndef PATTERND_BASE64_H
#define PATTERND_BASE64_H

#include <stdbool.h>

#include "core/text.h"

enum { BASE64_WHY = 96 };

/* Bytes that a text of `len` characters makes at most. */
size_t base64_room(size_t len);

/* Writes the bytes to `out`, which has base64_room. False: `why` is the reason, and where. */
bool base64_decode(struct text in, char *out, size_t *out_len, char why[BASE64_WHY]);

#endif
