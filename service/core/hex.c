/* hex: see hex.h. */
#include "core/hex.h"

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

bool hex_unescape(char *at, size_t *len)
{
	char *to = at;

	for (const char *from = at, *end = at + *len; from < end; from++) {
		char c = *from;
		if (c == '%') {
			int high = end - from > 2 ? hex_value(from[1]) : -1, low = high < 0 ? -1 : hex_value(from[2]);
			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			from += 2;
		}
		if (c == '\0')
			return false;
		*to++ = c;
	}
	*to = '\0';
	*len = (size_t)(to - at);
	return true;
}
