#include "script_stage.h"

#include "redis_clock.h"
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
	r.over_unix = true;
	script_clock_us = server_start_by_clock(&r, INT64_C(1700000000000000));
	return 0;
}

int script_stage_close(void **state)
{
	server_stop(&r);
	return 0;
}

int script_stage_empty(void **state)
{
	server_command(&r, "CONFIG SET maxmemory 0");
	server_command(&r, "FLUSHALL");
	return 0;
}
