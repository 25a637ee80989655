/* script_stage: see script_stage.h. */
#include "script_stage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

struct redis_server r;
volatile int64_t *script_clock_us;

int script_stage_open(void **state)
{
	r.over_unix = true;
	server_start(&r);
	return 0;
}

int script_stage_open_by_clock(void **state)
{
	static const int64_t first_us = INT64_C(1700000000000000);
	char path[256];

	snprintf(path, sizeof(path), "%s/clock", temp_dir());
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, sizeof(*script_clock_us)), 0);
	script_clock_us = mmap(NULL, sizeof(*script_clock_us), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(script_clock_us, MAP_FAILED);
	close(fd);
	*script_clock_us = first_us;
	r.proc.env = clock_read_from(path);
	return script_stage_open(state);
}

int script_stage_close(void **state)
{
	server_stop(&r);
	r.proc.env = NULL; /* of a stage by clock */
	return 0;
}

int script_stage_empty(void **state)
{
	server_command(&r, "CONFIG SET maxmemory 0");
	server_command(&r, "FLUSHALL");
	return 0;
}
