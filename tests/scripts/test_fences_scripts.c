/* The scripts of fences on a full Redis. What a client sees is in tests/examples/fences.txt. */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define FENCE "p:fence:{a}"

static int64_t check(const char *fence)
{
	run(&r, &fence_check_script, KEYS(FENCE), ARGS(fence));
	return outcome(&r);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(a_full_redis_refuses_a_check_and_still_deletes)
{
	check("5");
	server_command(&r, "CONFIG SET maxmemory 1");
	unchanged(&r, run_fails(&r, &fence_check_script, KEYS(FENCE), ARGS("7"), "OOM"));
	run(&r, &fence_delete_script, KEYS(FENCE), ARGS());
	assert_int_equal(outcome(&r), 1);
}
