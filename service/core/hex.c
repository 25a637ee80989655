/* hex: see hex.h. */
#include "core/hex.h"

#include <string.h>

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

size_t hex_escape(struct text t, char *out)
{
	char *to = out;

	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.at[i];
		bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
		if (is_letter || (c >= '0' && c <= '9') || memchr("-._~", c, 4)) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = hex_digit(c >> 4);
		*to++ = hex_digit(c);
	}
	*to = '\0';
	return (size_t)(to - out);
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
