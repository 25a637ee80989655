/* percent: the percent-encoding of URLs (RFC 3986). Pure. */
#ifndef PATTERND_PERCENT_H
#define PATTERND_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

/*
 * Writes the text and a NUL, with all but the unreserved characters encoded, in upper-case digits.
 * Returns the length, at most three times the length of `t`.
 */
size_t percent_encode(struct text t, char *out);
/*
 * Decodes %XX in place, and adds a NUL. Returns false for a bad escape or a NUL byte. It does not
 * check UTF-8.
 */
bool percent_decode(char *at, size_t *len);

#endif
