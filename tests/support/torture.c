#include "torture.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc.h"
#include "test.h"

enum { SCENARIOS_MAX = 1024 };

static const char *const kind_names[TORTURE_KINDS] = {
	"memory", "socket", "accept", "connect", "epoll_ctl", "read", "write", "open", "TLS memory",
};

static struct torture *shared;
static char preload[PATH_MAX + 16], file[PATH_MAX + 16];
static const char *const env[] = { preload, file, NULL };

static struct tally {
	const char *scenario;
	unsigned points[TORTURE_KINDS], lost[TORTURE_KINDS], ended[TORTURE_KINDS];
} tallies[SCENARIOS_MAX];
static size_t tally_count;

void torture_open(void)
{
	const char *object = getenv("PATTERND_TORTURE");

	assert_non_null(object);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", object);
	snprintf(file, sizeof(file), "TORTURE_FILE=%s/torture", temp_dir());
	int fd = open(strchr(file, '=') + 1, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*shared)) != 0)
		fail_msg("no file for torture");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_true(shared != MAP_FAILED);
	shared->kind = TORTURE_KINDS;
}

const char *const *torture_env(void)
{
	return env;
}

void torture_arm(enum torture_kind kind, uint64_t n, uint64_t how_many)
{
	shared->kind = TORTURE_KINDS;
	*shared->where = '\0';
	shared->seen = 0;
	shared->first = n;
	shared->last = how_many < UINT64_MAX - n ? n + how_many - 1 : UINT64_MAX;
	shared->kind = (int)kind;
}

bool torture_disarm(void)
{
	shared->kind = TORTURE_KINDS;
	return shared->seen >= shared->first;
}

const char *torture_where(void)
{
	return shared->where;
}

int64_t torture_blocks(void)
{
	return shared->blocks;
}

int64_t torture_bytes(void)
{
	return shared->bytes;
}

const char *torture_kind_name(enum torture_kind kind)
{
	return kind_names[kind];
}

static struct tally *tally_of(const char *scenario)
{
	for (size_t i = 0; i < tally_count; i++)
		if (strcmp(tallies[i].scenario, scenario) == 0)
			return &tallies[i];
	assert_true(tally_count < SCENARIOS_MAX);
	tallies[tally_count].scenario = scenario;
	return &tallies[tally_count++];
}

void torture_point(const char *scenario, enum torture_kind kind, enum torture_outcome outcome)
{
	struct tally *t = tally_of(scenario);

	t->points[kind]++;
	t->lost[kind] += outcome == TORTURE_FLAWED;
	t->ended[kind] += outcome == TORTURE_ENDED;
}

/* Adds a row for each scenario and kind that has points; another process may add others. */
static void write_json(const char *path)
{
	FILE *f = fopen(path, "a+e");

	assert_non_null(f);
	assert_int_equal(flock(fileno(f), LOCK_EX), 0);
	json_t *rows = json_loadf(f, 0, NULL);
	rows = rows ? rows : json_array();
	for (size_t i = 0; i < tally_count; i++)
		for (int kind = 0; kind < TORTURE_KINDS; kind++)
			if (tallies[i].points[kind])
				json_array_append_new(rows, json_pack("{s:s, s:s, s:i, s:i, s:i}", "kind",
								      kind_names[kind], "scenario", tallies[i].scenario,
								      "points", (int)tallies[i].points[kind], "failed",
								      (int)tallies[i].lost[kind], "ended",
								      (int)tallies[i].ended[kind]));
	assert_int_equal(ftruncate(fileno(f), 0), 0);
	assert_int_equal(json_dumpf(rows, f, JSON_INDENT(1)), 0);
	json_decref(rows);
	fclose(f);
}

void torture_report(const char *path)
{
	for (int kind = 0; kind < TORTURE_KINDS; kind++) {
		unsigned points = 0, lost = 0, ended = 0;
		for (size_t i = 0; i < tally_count; i++) {
			points += tallies[i].points[kind];
			lost += tallies[i].lost[kind];
			ended += tallies[i].ended[kind];
		}
		print_message("%-10s %6u points, %u failed, %u ended by a library\n", kind_names[kind], points, lost,
			      ended);
	}
	if (path)
		write_json(path);
}
