/*
 * hex: bytes as hexadecimal digits, and the percent-encoding of URLs. Pure.
 */
#ifndef PATTERND_HEX_H
#define PATTERND_HEX_H

#include <stdbool.h>
#include <stddef.h>

/* The digit of the low four bits, in lower case. */
static inline char hex_digit(unsigned value)
{
	return "0123456789abcdef"[value & 15];
}

/* 0 to 15; -1 when `c` is not a hexadecimal digit. */
int hex_value(char c);

/* Two digits a byte and a NUL. */
void hex_write(const unsigned char *bytes, size_t count, char *out);

/* Decodes %XX in place, adds a NUL. False: a bad escape or a NUL byte. UTF-8 is not checked. */
bool hex_unescape(char *at, size_t *len);

#endif
