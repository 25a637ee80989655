#include "process/zone_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/nearest.h"
#include "process/config.h"

enum { NAME_BYTES_MOST = 64, INDEX_BYTES_MOST = 512 * 1024, VERSION_BYTES_MOST = 16, MISSPELT_LEAST = 5 };

/* The sources of the whole database, in one file that begins with the version. */
static const char index_file[] = "tzdata.zi";

static struct text path_of(struct arena *a, struct text name)
{
	return arena_join(a, (struct text[]){ text_of(config()->zoneinfo), TEXT("/"), name }, 3);
}

/* Returns at most `most` bytes of a regular file; absent if it cannot be read. */
static struct text read_file(struct arena *a, struct text name, size_t most)
{
	struct text path = path_of(a, name);
	int fd = path.at ? open(path.at, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat is;
	struct text file = { 0 };
	ssize_t n = 0;

	if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode)) {
		size_t size = (size_t)is.st_size < most ? (size_t)is.st_size : most;
		char *at = arena_alloc(a, size + 1);
		while (at && file.len < size && (n = read(fd, at + file.len, size - file.len)) > 0)
			file.len += (size_t)n;
		file.at = n < 0 ? NULL : at;
	}
	if (fd >= 0)
		close(fd);
	return file;
}

/* The version is in the line "# version 2025b". */
struct text zone_data_version(struct arena *a)
{
	static const char before[] = "# version ";
	struct text file = read_file(a, text_of(index_file), sizeof(before) + VERSION_BYTES_MOST);
	struct text line = text_cut(&file, '\n');

	if (!file.at || line.len < sizeof(before) || memcmp(line.at, before, sizeof(before) - 1) != 0)
		return (struct text){ 0 };
	return arena_copy(a, line.at + sizeof(before) - 1, line.len - (sizeof(before) - 1));
}

/* True for files that are not zones of IANA, or that are a different zone on each machine. */
static bool is_foreign(struct text name)
{
	static const char *const names[] = { "localtime", "posixrules", "Factory" };
	static const char *const folders[] = { "posix/", "right/" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (text_is(name, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(name.at, folders[i], strlen(folders[i])) == 0)
			return true;
	return false;
}

/* A name has parts of letters, digits, '_', '-' and '+', separated by slashes. */
static bool is_name(struct text name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+";

	if (name.len > NAME_BYTES_MOST || is_foreign(name))
		return false;
	for (struct text rest = name; rest.at;) {
		struct text part = text_cut(&rest, '/');
		if (part.len == 0 || strspn(part.at, plain) < part.len)
			return false;
	}
	return true;
}

/* ---- Suggestions ---- */

static struct text last_part(struct text name)
{
	const char *slash = strrchr(name.at, '/');

	return slash ? text_of(slash + 1) : name;
}

/* Returns true if the zone can be used: the database may lack the files of old names. */
static bool is_there(struct arena *a, struct text name)
{
	struct text path = name.at && is_name(name) ? path_of(a, name) : (struct text){ 0 };

	return path.at && access(path.at, R_OK) == 0;
}

/*
 * Offers a zone, or the zone that it is a link to, whichever has a file. A short name may mean many
 * zones, unless only its case is wrong.
 */
static void offer(struct arena *a, struct nearest *n, struct text known, struct text target)
{
	unsigned edits = nearest_edits(n->given, known);
	unsigned of_place = nearest_edits(last_part(n->given), last_part(known));

	if (of_place < NEAREST_FAR && of_place + 1 < edits)
		edits = of_place + 1;
	if (edits == NEAREST_FAR || (edits > 0 && n->given.len < MISSPELT_LEAST))
		return;
	struct text usable = is_there(a, known) ? known : target;
	if (is_there(a, usable))
		nearest_take(n, usable.at, edits);
}

/* The names are in lines "Z name ..." and "L target name". */
static const char *hint(struct arena *a, struct text name, char buffer[NEAREST_HINT])
{
	struct text rest = read_file(a, text_of(index_file), INDEX_BYTES_MOST);
	struct nearest n = { .given = name };

	while (rest.at) {
		struct text line = text_cut(&rest, '\n'), word = text_cut(&line, ' '), target = { 0 };
		if (!line.at || (!text_is(word, "L") && !text_is(word, "Z")))
			continue;
		struct text known = text_cut(&line, ' ');
		if (text_is(word, "L") && line.at) {
			target = arena_copy(a, known.at, known.len);
			known = text_cut(&line, ' ');
		}
		known = arena_copy(a, known.at, known.len);
		if (known.at)
			offer(a, &n, known, target);
	}
	return nearest_hint(&n, buffer);
}

static void refuse_absent(struct arena *a, struct text name, struct text *why)
{
	char buffer[NEAREST_HINT];
	const char *folder = config()->zoneinfo;

	if (access(folder, X_OK) != 0)
		*why = arena_printf(
			a,
			"needs the time zone database, which is not in %s: install tzdata, or name its folder "
			"in --zoneinfo; only UTC needs none",
			folder);
	else
		*why = arena_printf(a, "is not a time zone in %s, where names are like Europe/Berlin%s", folder,
				    hint(a, name, buffer));
}

struct tzif *zone_data_read(struct arena *a, struct text name, struct text *why)
{
	struct text file = is_name(name) ? read_file(a, name, TZIF_BYTES_MOST) : (struct text){ 0 };
	struct tzif *zone = arena_alloc(a, sizeof(*zone));
	const char *wrong = zone && file.at ? tzif_read(zone, file) : NULL;

	if (!zone)
		*why = TEXT("cannot be read for want of memory");
	else if (!file.at)
		refuse_absent(a, name, why);
	else if (wrong)
		*why = arena_printf(a, "cannot be used: %s %s", path_of(a, name).at, wrong);
	return file.at && !wrong ? zone : NULL;
}
