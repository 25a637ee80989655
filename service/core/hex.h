/* hex: bytes as hexadecimal digits, and random digits. It must not know what the digits are for. */
#ifndef PATTERND_HEX_H
#define PATTERND_HEX_H

#include <stddef.h>

/* Returns the digit of the low four bits, in lower case. */
static inline char hex_digit(unsigned value)
{
	return "0123456789abcdef"[value & 15];
}

/* Returns 0 to 15, or -1 if `c` is not a hexadecimal digit. */
int hex_value(char c);

/* Writes two digits per byte and a NUL. */
void hex_write(const unsigned char *bytes, size_t count, char *out);

/* Writes random digits from the kernel, and a NUL. `digits` is even, and at most 128. */
void hex_random(char *out, size_t digits);

#endif
