#include "many.h"

#include "test.h"

const char *many(const char *head, const char *lead, int from, int count, const char *trail, const char *tail)
{
	static char body[400000];
	size_t n = (size_t)snprintf(body, sizeof(body), "%s", head);

	for (int i = from; i < from + count; i++) {
		n += (size_t)snprintf(body + n, sizeof(body) - n, "%s%d%s,", lead, i, trail);
		assert_true(n < sizeof(body) - 100);
	}
	strcpy(body + n - 1, tail);
	return body;
}
