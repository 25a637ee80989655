/*
 * clock_ahead: preloaded into a redis-server or the daemon, it changes the clocks. The wall clock
 * is CLOCK_AHEAD_S seconds ahead, or behind if the number is negative. If CLOCK_FILE names a file
 * with an int64_t of microseconds, the wall clock stays at that instant until the file changes.
 * CLOCK_MONOTONIC is a second ahead for each byte of the file CLOCK_LATER_FILE. (libfaketime does
 * not work with the allocator that redis-server is linked with.)
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead_s(void)
{
	const char *ahead = getenv("CLOCK_AHEAD_S");

	return ahead ? atoi(ahead) : 0;
}

/* NULL: the wall clock goes by the clock of the machine. */
static const volatile int64_t *file_clock_us(void)
{
	static const volatile int64_t *us;
	const char *path = getenv("CLOCK_FILE");

	if (!us && path) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		void *at = mmap(NULL, sizeof(*us), PROT_READ, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED)
			abort();
		us = at;
	}
	return us;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	const volatile int64_t *us = file_clock_us();

	if (us) {
		int64_t now = *us;
		*tv = (struct timeval){ now / 1000000, now % 1000000 };
		return 0;
	}
	long status = syscall(SYS_gettimeofday, tv, zone);
	if (status == 0)
		tv->tv_sec += ahead_s();
	return (int)status;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	const char *later = getenv("CLOCK_LATER_FILE");
	struct stat st;
	long status = syscall(SYS_clock_gettime, id, t);

	if (status == 0 && id == CLOCK_REALTIME)
		t->tv_sec += ahead_s();
	if (id == CLOCK_REALTIME && file_clock_us())
		*t = (struct timespec){ *file_clock_us() / 1000000, *file_clock_us() % 1000000 * 1000 };
	if (status == 0 && id == CLOCK_MONOTONIC && later && stat(later, &st) == 0)
		t->tv_sec += st.st_size;
	return (int)status;
}

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}
