#include "redis_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

void server_expires_alone(struct redis_server *r, bool expires)
{
	server_command(r, "DEBUG SET-ACTIVE-EXPIRE %d", expires);
}

volatile int64_t *server_start_by_clock(struct redis_server *r, int64_t first_us)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/clock", temp_dir());
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, sizeof(first_us)), 0);
	volatile int64_t *clock_us = mmap(NULL, sizeof(first_us), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(clock_us, MAP_FAILED);
	close(fd);
	*clock_us = first_us;
	r->proc.env = clock_read_from(path);
	server_start(r);
	server_expires_alone(r, false);
	r->proc.env = NULL;
	return clock_us;
}
