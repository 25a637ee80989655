/*
 * hex: bytes as hexadecimal digits, and the percent-encoding of URLs. Pure.
 */
#ifndef PATTERND_HEX_H
#define PATTERND_HEX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

/* The digit of the low four bits, in lower case. */
static inline char hex_digit(unsigned value)
{
	return "0123456789abcdef"[value & 15];
}

/* 0 to 15; -1 when `c` is not a hexadecimal digit. */
int hex_value(char c);

/* Two digits a byte and a NUL. */
void hex_write(const unsigned char *bytes, size_t count, char *out);

/*
 * Writes a text percent-encoded (RFC 3986: all but its unreserved characters) and a NUL. Returns
 * the length, at most three bytes a byte.
 */
size_t hex_escape(struct text t, char *out);
/* Decodes %XX in place, adds a NUL. False: a bad escape or a NUL byte. UTF-8 is not checked. */
bool hex_unescape(char *at, size_t *len);

#endif
