/* script_stage: see script_stage.h. */
#include "script_stage.h"

struct redis_server r;

int script_stage_open(void **state)
{
	(void)state;
	r.over_unix = true;
	server_start(&r);
	return 0;
}

int script_stage_close(void **state)
{
	(void)state;
	server_stop(&r);
	return 0;
}

int script_stage_empty(void **state)
{
	(void)state;
	server_command(&r, "CONFIG SET maxmemory 0");
	server_command(&r, "FLUSHALL");
	return 0;
}
