/*
 * hex: bytes as hexadecimal digits.
 */
#ifndef PATTERND_HEX_H
#define PATTERND_HEX_H

#include <stddef.h>

/* The digit of the low four bits, in lower case. */
static inline char hex_digit(unsigned value)
{
	return "0123456789abcdef"[value & 15];
}

/* 0 to 15; -1 when `c` is not a hexadecimal digit. */
int hex_value(char c);

/* Writes two digits per byte and a NUL. */
void hex_write(const unsigned char *bytes, size_t count, char *out);

/* Writes so many random digits from the kernel, an even number of at most 128, and a NUL. */
void hex_random(char *out, size_t digits);

#endif
