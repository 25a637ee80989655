/* input: see fuzz.h. */
#include "fuzz.h"

void fuzz_failed(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

bool input_piece(struct input *in, char stop, struct text *piece)
{
	if (in->len == 0)
		return false;
	const uint8_t *end = memchr(in->at, stop, in->len);
	size_t len = end ? (size_t)(end - in->at) : in->len;
	char *copy = malloc(len + 1);
	CHECK(copy);
	memcpy(copy, in->at, len);
	copy[len] = '\0';
	*piece = (struct text){ copy, len };
	size_t taken = end ? len + 1 : len;
	in->at += taken;
	in->len -= taken;
	return true;
}
