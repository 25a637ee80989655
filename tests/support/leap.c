/* leap: see leap.h. programs/clock_ahead.c adds a second for each byte of a file. */
#include "leap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "waiter.h"

enum { CLOCKS_MAX = 16, SOON_MS = 10000 };

static struct clock {
	char preload[PATH_MAX], setting[160], *path; /* `path` is a part of `setting` */
	const char *env[3];
} clocks[CLOCKS_MAX];
static size_t clock_count;

void may_leap(struct daemon *d)
{
	struct clock *c = &clocks[clock_count];

	if (daemon_is_sanitized())
		return;
	assert_true(clock_count++ < CLOCKS_MAX);
	snprintf(c->preload, sizeof(c->preload), "LD_PRELOAD=%s", getenv("PATTERND_CLOCK_AHEAD"));
	snprintf(c->setting, sizeof(c->setting), "CLOCK_LATER_FILE=%s/later", temp_dir());
	c->path = strchr(c->setting, '/');
	c->env[0] = c->preload;
	c->env[1] = c->setting;
	d->proc.env = c->env;
}

static const char *path_of(const struct daemon *d)
{
	for (size_t i = 0; i < clock_count; i++)
		if (d->proc.env == clocks[i].env)
			return clocks[i].path;
	fail_msg("may_leap was not called for this daemon");
	return NULL;
}

void leap(const struct daemon *d, int seconds)
{
	struct stat st = { 0 };

	if (daemon_is_sanitized()) {
		nap_ms(seconds * 1000);
		return;
	}
	wait_until(metric_of(d, "redis_calls_in_flight") == 0, SOON_MS);
	int fd = open(path_of(d), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, st.st_size + seconds), 0);
	close(fd);
	metric_of(d, "redis_calls_in_flight"); /* makes its loop read the clock */
}
