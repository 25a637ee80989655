/*
 * replay: runs a target without libFuzzer on every input of the given files, which are in the form
 * of corpus.py: a name and the bytes in each line. Fails if there are none.
 */
#include "fuzz.h"

static unsigned replayed;

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Writes the bytes to their own place, and returns their number. */
static size_t decode(char *at)
{
	char *to = at, *from = at;

	while (*from && *from != '\n') {
		if (from[0] == '\\' && from[1] == 'x') {
			*to++ = (char)(digit(from[2]) * 16 + digit(from[3]));
			from += 4;
		} else {
			from += from[0] == '\\';
			*to++ = *from++;
		}
	}
	return (size_t)(to - at);
}

static void replay(char *line)
{
	char *at = strchr(line, ' ');

	CHECK(at);
	printf("%s", line); /* the last one is the one that failed */
	fflush(stdout);
	size_t size = decode(++at);
	uint8_t *bytes = malloc(size ? size : 1); /* of exactly this size, so that a read beyond it is found */
	CHECK(bytes);
	memcpy(bytes, at, size);
	LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	replayed++;
}

static void replay_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	CHECK(f);
	while (getline(&line, &room, f) > 0)
		replay(line);
	free(line);
	fclose(f);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_file(argv[i]);
	printf("%u inputs\n", replayed);
	return replayed ? 0 : 1;
}
