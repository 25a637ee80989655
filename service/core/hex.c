#include "core/hex.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void hex_write(const unsigned char *bytes, size_t count, char *out)
{
	for (size_t i = 0; i < count; i++) {
		*out++ = hex_digit(bytes[i] >> 4);
		*out++ = hex_digit(bytes[i]);
	}
	*out = '\0';
}

void hex_random(char *out, size_t digits)
{
	unsigned char bytes[64];

	assert(digits % 2 == 0 && digits / 2 <= sizeof(bytes));
	/* getrandom(2) returns up to 256 bytes completely or not at all. */
	ssize_t n = getrandom(bytes, digits / 2, 0);
	if (n != (ssize_t)(digits / 2))
		abort();
	hex_write(bytes, digits / 2, out);
}
