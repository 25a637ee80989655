#include "process/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };

/* Opens a regular file: others, such as a pipe or /dev/zero, may never end. */
static FILE *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat is = { 0 };
	bool is_file = fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode);
	FILE *f = is_file ? fdopen(fd, "r") : NULL;

	if (f)
		return f;
	fprintf(stderr, "patternd: --config: cannot read '%s': %s\n", path,
		fd >= 0 && !is_file ? "it is not a regular file" : strerror(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Reads a line with its end, as far as it fits, and adds a NUL. Returns its length; 0: none. */
static size_t read_line(FILE *f, char line[LINE_BYTES])
{
	size_t n = 0;

	for (int c = 0; n < LINE_BYTES - 1 && c != '\n' && (c = getc(f)) != EOF;)
		line[n++] = (char)c;
	line[n] = '\0';
	return n;
}

static bool refuse(const char *path, int number, const char *why)
{
	fprintf(stderr, "patternd: %s:%d: the line %s\n", path, number, why);
	return false;
}

bool config_file_read(const char *path, bool (*take)(char *line, const char *path, int number))
{
	char line[LINE_BYTES];
	FILE *f = open_file(path);
	bool ok = f != NULL;
	size_t len;

	for (int number = 1; f && (len = read_line(f, line)) > 0; number++) {
		if (len == sizeof(line) - 1) {
			ok = refuse(path, number, "is longer than 4094 bytes");
			break; /* the rest is not a line */
		}
		if (strlen(line) < len)
			ok = refuse(path, number, "contains a NUL");
		else
			ok = take(line, path, number) && ok;
	}
	if (f && ferror(f)) {
		fprintf(stderr, "patternd: --config: cannot read '%s': %s\n", path, strerror(errno));
		ok = false;
	}
	if (f)
		fclose(f);
	return ok;
}
