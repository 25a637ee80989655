/*
 * replay: runs a target without libFuzzer on every given file, and on every file of the given
 * folders, in order. Fails if there are none.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned replayed;

static void replay_file(const char *path, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1); /* of exactly this size, so that a read beyond it is found */
	FILE *f = fopen(path, "rb");

	CHECK(bytes && f && fread(bytes, 1, size, f) == size);
	fclose(f);
	printf("%s\n", path); /* the last one named is the one that failed */
	fflush(stdout);
	LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	replayed++;
}

static void replay(const char *path)
{
	struct dirent **names;
	struct stat s;
	char below[1024];

	CHECK(stat(path, &s) == 0);
	if (!S_ISDIR(s.st_mode)) {
		replay_file(path, (size_t)s.st_size);
		return;
	}
	int count = scandir(path, &names, NULL, alphasort);
	CHECK(count >= 0);
	for (int i = 0; i < count; i++) {
		snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			replay(below);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%u inputs\n", replayed);
	return replayed ? 0 : 1;
}
