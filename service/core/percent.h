/* percent: the percent-encoding of URLs (RFC 3986). Pure. */
#ifndef PATTERND_PERCENT_H
#define PATTERND_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

/*
 * Writes a text with all but the unreserved characters encoded, in digits of upper case, and a NUL.
 * Returns the length, at most three bytes per byte.
 */
size_t percent_encode(struct text t, char *out);
/* Decodes %XX in place, adds a NUL. False: a bad escape or a NUL byte. UTF-8 is not checked. */
bool percent_decode(char *at, size_t *len);

#endif
