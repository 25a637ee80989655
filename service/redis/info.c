#include "redis/info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUE_BYTES = 64 };

void info_value(struct text info, const char *name, char *out, size_t size)
{
	size_t name_len = strlen(name);

	*out = '\0';
	for (const char *at = info.at; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (strncmp(at, name, name_len) != 0 || at[name_len] != ':')
			continue;
		size_t len = strcspn(at + name_len + 1, "\r\n");
		snprintf(out, size, "%.*s", (int)len, at + name_len + 1);
		return;
	}
}

bool info_is(struct text info, const char *name, const char *value)
{
	char found[VALUE_BYTES];

	info_value(info, name, found, sizeof(found));
	return strcmp(found, value) == 0;
}

int64_t info_number(struct text info, const char *name)
{
	char found[VALUE_BYTES], *end;

	info_value(info, name, found, sizeof(found));
	errno = 0;
	int64_t number = strtoll(found, &end, 10);
	return *found && !*end && errno == 0 && number >= 0 ? number : -1;
}
