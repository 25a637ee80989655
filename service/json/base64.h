/*
 * base64: decodes base64 as in RFC 4648, section 4, and no other form: it must be padded, without
 * blanks or line ends, and the bits that belong to no byte must be 0, so that no two texts decode
 * to the same bytes. json_out encodes it. Pure.
 */
#ifndef PATTERND_BASE64_H
#define PATTERND_BASE64_H

#include <stdbool.h>

#include "core/text.h"

enum { BASE64_WHY = 96 };

/* Returns how many bytes a text of `len` characters makes at most. */
size_t base64_room(size_t len);

/*
 * Writes the bytes to `out`, which must have base64_room bytes. If it returns false, `why` has the
 * reason and the place.
 */
bool base64_decode(struct text in, char *out, size_t *out_len, char why[BASE64_WHY]);

#endif
