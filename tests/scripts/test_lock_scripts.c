/* The lock scripts on a real Redis: who holds, what fences do, and that nothing foreign is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_script.h"
#include "script_stage.h"

#define LOCK "p:lock:{a}"
#define FENCE "p:lock:{a}:fence"
#define RECORD "p:idem:{a}:k"
#define TOKEN_1 "11111111111111111111111111111111"
#define TOKEN_2 "22222222222222222222222222222222"
#define TOKEN_3 "33333333333333333333333333333333"
#define SEALED "5ea1ed5ea1ed5ea1ed5ea1ed5ea1ed00"

enum { HELD = 0, TAKEN = 1, ENTERED = 2, NOT_HOLDER = -1 };

/* Takes the lock, or tries to; the outcome. */
static int64_t acquire(const char *ttl_ms, const char *presented, const char *token)
{
	run(&r, &lock_acquire_script, KEYS(LOCK, FENCE), ARGS(ttl_ms, "worker-7", "{\"job\":1}", presented, token, ""));
	return item_int(&r, 0);
}

static int64_t extend(const char *ttl_ms, const char *token)
{
	run(&r, &lock_extend_script, KEYS(LOCK), ARGS(ttl_ms, token));
	return item_int(&r, 0);
}

static int64_t release(const char *token)
{
	run(&r, &lock_release_script, KEYS(LOCK), ARGS(token, "0"));
	return item_int(&r, 0);
}

static int64_t release_by_force(void)
{
	run(&r, &lock_release_script, KEYS(LOCK), ARGS("", "1"));
	return item_int(&r, 0);
}

static void a_free_lock_is_taken(void **state)
{
	(void)state;
	int64_t before_ms = redis_now_ms(&r);
	assert_int_equal(acquire("30000", "", TOKEN_1), TAKEN);
	int64_t now_ms = item_int(&r, 1), fence = item_int(&r, 2);
	assert_in_range(now_ms, before_ms, before_ms + 5000);
	assert_in_range(fence, before_ms * 1000, (now_ms + 1) * 1000);
	assert_string_equal(item_text(&r, 3), "worker-7");
	assert_string_equal(item_text(&r, 4), "exclusive");
	assert_int_equal(item_int(&r, 5), 1);
	assert_int_equal(item_int(&r, 6), now_ms + 30000);
	assert_string_equal(server_command(&r, "HGET " LOCK " metadata")->str, "{\"job\":1}");
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, now_ms + 30000);
	assert_int_equal(redis_pttl_ms(&r, FENCE), -1);
	assert_int_equal(server_command(&r, "HEXISTS " LOCK " t:" TOKEN_1)->integer, 1);
	assert_int_equal(strtoll(server_command(&r, "GET " FENCE)->str, NULL, 10), fence);
}

static void a_held_lock_is_refused(void **state)
{
	(void)state;
	acquire("30000", "", TOKEN_1);
	int64_t fence = item_int(&r, 2), expires_at_ms = item_int(&r, 6);
	unchanged(&r, assert_int_equal(acquire("60000", "", TOKEN_2), HELD));
	acquire("60000", "", TOKEN_2);
	assert_string_equal(item_text(&r, 2), "worker-7");
	assert_int_equal(item_int(&r, 3), fence);
	assert_int_equal(item_int(&r, 4), expires_at_ms);
	assert_int_equal(release(TOKEN_2), NOT_HOLDER);
}

/* Two connections send many tries before either reads a reply: one grant among all of them. */
static void one_of_many_gets_it(void **state)
{
	(void)state;
	enum { TRIES = 100 };
	const char *script = server_command(&r, "SCRIPT LOAD %s", lock_acquire_script.source.at)->str;
	redisContext *c[2] = { redisConnectUnix(r.socket_path), redisConnectUnix(r.socket_path) };
	int taken = 0, held = 0;

	for (int i = 0; i < TRIES; i++)
		redisAppendCommand(c[i % 2], "EVALSHA %s 2 %s %s 30000 o %s %s %032d %s %s", script, LOCK, FENCE, "",
				   "", i, "", "");
	for (int i = 0; i < TRIES; i++) {
		redisReply *reply = NULL;
		assert_int_equal(redisGetReply(c[i % 2], (void **)&reply), REDIS_OK);
		assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
		taken += reply->element[0]->integer == TAKEN;
		held += reply->element[0]->integer == HELD;
		freeReplyObject(reply);
	}
	redisFree(c[0]);
	redisFree(c[1]);
	assert_int_equal(taken, 1);
	assert_int_equal(held, TRIES - 1);
	assert_int_equal(server_command(&r, "HLEN " LOCK)->integer, 5);
}

static void fences_rise_over_expiry_and_release(void **state)
{
	(void)state;
	acquire("20", "", TOKEN_1);
	int64_t first = item_int(&r, 2);
	wait_until(redis_exists(&r, LOCK) == 0, 5000);
	assert_int_equal(acquire("30000", "", TOKEN_2), TAKEN);
	int64_t second = item_int(&r, 2);
	assert_true(second > first);
	assert_int_equal(release(TOKEN_2), 1);
	assert_int_equal(redis_exists(&r, LOCK), 0);
	assert_int_equal(acquire("30000", "", TOKEN_3), TAKEN);
	assert_true(item_int(&r, 2) > second);
}

static void fences_rise_when_the_counter_is_lost(void **state)
{
	(void)state;
	acquire("30000", "", TOKEN_1);
	int64_t first = item_int(&r, 2);
	server_command(&r, "FLUSHALL");
	wait_until(redis_now_us(&r) > first, 5000);
	acquire("30000", "", TOKEN_1);
	assert_true(item_int(&r, 2) > first);
}

/* As after Redis's clock was set back. */
static void fences_rise_when_the_clock_is_behind(void **state)
{
	(void)state;
	server_command(&r, "SET " FENCE " 4102444800000000");
	acquire("30000", "", TOKEN_1);
	assert_int_equal(item_int(&r, 2), 4102444800000001);
	release(TOKEN_1);
	acquire("30000", "", TOKEN_1);
	assert_int_equal(item_int(&r, 2), 4102444800000002);
	assert_string_equal(server_command(&r, "GET " FENCE)->str, "4102444800000002");
}

static void re_entry_counts_and_each_token_frees_once(void **state)
{
	(void)state;
	acquire("30000", "", TOKEN_1);
	int64_t fence = item_int(&r, 2);
	run(&r, &lock_acquire_script, KEYS(LOCK, FENCE), ARGS("60000", "other", "[]", TOKEN_1, TOKEN_2, SEALED));
	assert_int_equal(item_int(&r, 0), ENTERED);
	assert_int_equal(item_int(&r, 2), fence);
	assert_string_equal(item_text(&r, 3), "worker-7");
	assert_int_equal(item_int(&r, 5), 2);
	assert_string_equal(item_text(&r, 7), SEALED);
	int64_t expires_at_ms = item_int(&r, 6);
	assert_int_equal(expires_at_ms, item_int(&r, 1) + 60000);
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, expires_at_ms);
	assert_int_equal(acquire("30000", TOKEN_2, TOKEN_3), ENTERED);
	assert_int_equal(item_int(&r, 5), 3);
	assert_string_equal(server_command(&r, "HGET " LOCK " metadata")->str, "{\"job\":1}");

	assert_int_equal(release(TOKEN_1), 1);
	assert_int_equal(item_int(&r, 2), 2);
	unchanged(&r, assert_int_equal(release(TOKEN_1), NOT_HOLDER));
	unchanged(&r, assert_int_equal(acquire("30000", TOKEN_1, TOKEN_1), NOT_HOLDER));
	assert_int_equal(release(TOKEN_3), 1);
	assert_int_equal(item_int(&r, 2), 1);
	assert_int_equal(release(TOKEN_2), 1);
	assert_int_equal(item_int(&r, 2), 0);
	assert_int_equal(redis_exists(&r, LOCK), 0);
}

static void a_replayed_release_frees_nothing(void **state)
{
	(void)state;
	acquire("30000", "", TOKEN_1);
	assert_int_equal(release(TOKEN_1), 1);
	unchanged(&r, assert_int_equal(release(TOKEN_1), NOT_HOLDER));
	acquire("30000", "", TOKEN_2);
	unchanged(&r, assert_int_equal(release(TOKEN_1), NOT_HOLDER));
	unchanged(&r, assert_int_equal(extend("60000", TOKEN_1), NOT_HOLDER));
}

static void force_frees_whoever_holds(void **state)
{
	(void)state;
	unchanged(&r, assert_int_equal(release_by_force(), NOT_HOLDER));
	acquire("30000", "", TOKEN_1);
	int64_t fence = item_int(&r, 2);
	acquire("30000", TOKEN_1, TOKEN_2);
	unchanged(&r, assert_int_equal(release(""), NOT_HOLDER)); /* no token is not force */
	assert_int_equal(release_by_force(), 1);
	assert_int_equal(item_int(&r, 2), 0);
	assert_int_equal(redis_exists(&r, LOCK), 0);
	assert_int_equal(strtoll(server_command(&r, "GET " FENCE)->str, NULL, 10), fence);
	unchanged(&r, assert_int_equal(release_by_force(), NOT_HOLDER));
	unchanged(&r, assert_int_equal(release(TOKEN_1), NOT_HOLDER));
	assert_int_equal(acquire("30000", "", TOKEN_3), TAKEN);
	assert_true(item_int(&r, 2) > fence);
	unchanged(&r, assert_int_equal(release(TOKEN_2), NOT_HOLDER));
	server_command(&r, "CONFIG SET maxmemory 1");
	assert_int_equal(release_by_force(), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
}

static void extend_sets_longer_and_shorter(void **state)
{
	(void)state;
	acquire("30000", "", TOKEN_1);
	int64_t fence = item_int(&r, 2);
	assert_int_equal(extend("90000", TOKEN_1), 1);
	assert_int_equal(item_int(&r, 2), fence);
	assert_int_equal(item_int(&r, 3), 1);
	assert_int_equal(item_int(&r, 4), item_int(&r, 1) + 90000);
	assert_in_range(redis_pttl_ms(&r, LOCK), 85000, 90000);
	assert_int_equal(extend("10000", TOKEN_1), 1);
	assert_in_range(redis_pttl_ms(&r, LOCK), 5000, 10000);
	unchanged(&r, assert_int_equal(extend("90000", TOKEN_2), NOT_HOLDER));
}

static void an_expired_lock_is_never_revived(void **state)
{
	(void)state;
	acquire("20", "", TOKEN_1);
	wait_until(redis_exists(&r, LOCK) == 0, 5000);
	unchanged(&r, assert_int_equal(extend("30000", TOKEN_1), NOT_HOLDER));
	unchanged(&r, assert_int_equal(acquire("30000", TOKEN_1, TOKEN_2), NOT_HOLDER));
	unchanged(&r, assert_int_equal(release(TOKEN_1), NOT_HOLDER));
	assert_int_equal(redis_exists(&r, LOCK), 0);
}

static void a_look_changes_nothing(void **state)
{
	(void)state;
	run(&r, &lock_look_script, KEYS(LOCK, FENCE), ARGS());
	assert_int_equal(item_int(&r, 0), -1);
	assert_int_equal(item_int(&r, 2), 0);
	acquire("30000", "", TOKEN_1);
	int64_t fence = item_int(&r, 2);
	acquire("30000", TOKEN_1, TOKEN_2);
	int64_t expires_at_ms = item_int(&r, 6);
	unchanged(&r, run(&r, &lock_look_script, KEYS(LOCK, FENCE), ARGS()));
	run(&r, &lock_look_script, KEYS(LOCK), ARGS());
	assert_int_equal(item_int(&r, 2), fence);
	assert_string_equal(item_text(&r, 7), "");
	run(&r, &lock_look_script, KEYS(LOCK, FENCE), ARGS());
	assert_int_equal(item_int(&r, 0), 0);
	assert_int_equal(item_int(&r, 2), fence);
	assert_string_equal(item_text(&r, 3), "worker-7");
	assert_string_equal(item_text(&r, 4), "exclusive");
	assert_int_equal(item_int(&r, 5), 2);
	assert_int_equal(item_int(&r, 6), expires_at_ms);
	assert_string_equal(item_text(&r, 7), "{\"job\":1}");
	release(TOKEN_1);
	release(TOKEN_2);
	run(&r, &lock_look_script, KEYS(LOCK, FENCE), ARGS());
	assert_int_equal(item_int(&r, 0), -1);
	assert_int_equal(item_int(&r, 2), fence);
}

static void a_replay_gets_the_first_answer(void **state)
{
	(void)state;
	const char *const *keys = KEYS(LOCK, FENCE);
	const char *const *first = ARGS("30000", "me", "", "", TOKEN_1, SEALED);
	const char *const *again = ARGS("30000", "me", "", "", TOKEN_2, "another");

	run_with_record(&r, &lock_acquire_script, keys, first, RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, 0), TAKEN);
	int64_t now_ms = item_int(&r, 1), fence = item_int(&r, 2), expires_at_ms = item_int(&r, 6);
	assert_in_range(redis_pttl_ms(&r, RECORD), 86390000, 86400000);
	wait_until(redis_now_ms(&r) > now_ms, 5000);
	unchanged(&r, run_with_record(&r, &lock_acquire_script, keys, again, RECORD, FINGERPRINT_A));
	run_with_record(&r, &lock_acquire_script, keys, again, RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, 0), TAKEN);
	assert_true(item_int(&r, 1) > now_ms);
	assert_int_equal(item_int(&r, 2), fence);
	assert_int_equal(item_int(&r, 6), expires_at_ms);
	assert_string_equal(item_text(&r, 7), SEALED);
	unchanged(&r, run_with_record_fails(&r, &lock_acquire_script, keys, again, RECORD, FINGERPRINT_B,
					    "IDEMPOTENCY_KEY_REUSED"));

	/* Released, extended or re-entered since: still the first answer, and nothing happens again. */
	release(TOKEN_1);
	unchanged(&r, run_with_record(&r, &lock_acquire_script, keys, again, RECORD, FINGERPRINT_A));
	assert_int_equal(redis_exists(&r, LOCK), 0);
}

static void a_refusal_is_not_kept(void **state)
{
	(void)state;
	const char *const *keys = KEYS(LOCK, FENCE);
	const char *const *mine = ARGS("30000", "me", "", "", TOKEN_2, SEALED);

	acquire("30000", "", TOKEN_1);
	run_with_record(&r, &lock_acquire_script, keys, mine, RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, 0), HELD);
	run_with_record(&r, &lock_extend_script, KEYS(LOCK), ARGS("1", TOKEN_2), RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, 0), NOT_HOLDER);
	assert_int_equal(redis_exists(&r, RECORD), 0);
	release(TOKEN_1);
	run_with_record(&r, &lock_acquire_script, keys, mine, RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, 0), TAKEN);
}

static void a_replayed_extend_does_not_extend_again(void **state)
{
	(void)state;
	acquire("30000", "", TOKEN_1);
	run_with_record(&r, &lock_extend_script, KEYS(LOCK), ARGS("40000", TOKEN_1), RECORD, FINGERPRINT_A);
	int64_t now_ms = item_int(&r, 1), expires_at_ms = item_int(&r, 4);
	wait_until(redis_now_ms(&r) > now_ms, 5000);
	unchanged(&r,
		  run_with_record(&r, &lock_extend_script, KEYS(LOCK), ARGS("40000", TOKEN_1), RECORD, FINGERPRINT_A));
	run_with_record(&r, &lock_extend_script, KEYS(LOCK), ARGS("40000", TOKEN_1), RECORD, FINGERPRINT_A);
	assert_int_equal(item_int(&r, 4), expires_at_ms);
	assert_true(item_int(&r, 1) > now_ms);
}

/* What stands in the lock's place when it is not ours. */
static const char *const foreign_locks[] = {
	"RPUSH " LOCK " x",
	"SET " LOCK " x",
	"HSET " LOCK " fence 1 owner o mode exclusive metadata m",
	"HSET " LOCK " fence 1 owner o mode exclusive metadata m t:" TOKEN_1 " 1", /* no TTL */
	"HSET " LOCK " some thing",
};

static void a_foreign_lock_key_stays_as_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(foreign_locks) / sizeof(foreign_locks[0]); i++) {
		server_command(&r, "FLUSHALL");
		assert_int_not_equal(server_command(&r, foreign_locks[i])->type, REDIS_REPLY_ERROR);
		unchanged(&r, run_fails(&r, &lock_acquire_script, KEYS(LOCK, FENCE), ARGS("1", "", "", "", TOKEN_1, ""),
					"WRONGTYPE"));
		unchanged(&r, run_with_record_fails(&r, &lock_acquire_script, KEYS(LOCK, FENCE),
						    ARGS("1", "", "", TOKEN_1, TOKEN_2, ""), RECORD, FINGERPRINT_A,
						    "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &lock_extend_script, KEYS(LOCK), ARGS("1", TOKEN_1), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &lock_release_script, KEYS(LOCK), ARGS(TOKEN_1, "0"), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &lock_release_script, KEYS(LOCK), ARGS("", "1"), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &lock_look_script, KEYS(LOCK, FENCE), ARGS(), "WRONGTYPE"));
	}
}

static void a_foreign_fence_key_stays_as_it_is(void **state)
{
	(void)state;
	static const char *const plants[] = { "RPUSH " FENCE " x", "SET " FENCE " x", "SET " FENCE " 1e3" };

	for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
		server_command(&r, "FLUSHALL");
		server_command(&r, plants[i]);
		unchanged(&r, run_with_record_fails(&r, &lock_acquire_script, KEYS(LOCK, FENCE),
						    ARGS("30000", "", "", "", TOKEN_1, ""), RECORD, FINGERPRINT_A,
						    "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &lock_look_script, KEYS(LOCK, FENCE), ARGS(), "WRONGTYPE"));
	}
}

static void a_foreign_record_key_stays_as_it_is(void **state)
{
	(void)state;
	server_command(&r, "RPUSH " RECORD " x");
	unchanged(&r,
		  run_with_record_fails(&r, &lock_acquire_script, KEYS(LOCK, FENCE),
					ARGS("30000", "", "", "", TOKEN_1, ""), RECORD, FINGERPRINT_A, "WRONGTYPE"));
}

static void a_full_redis_refuses_a_lock_and_still_frees_one(void **state)
{
	(void)state;
	acquire("30000", "", TOKEN_1);
	server_command(&r, "CONFIG SET maxmemory 1");
	run_fails(&r, &lock_acquire_script, KEYS("p:lock:{b}", "p:lock:{b}:fence"),
		  ARGS("30000", "", "", "", TOKEN_2, ""), "OOM");
	assert_int_equal(redis_exists(&r, "p:lock:{b}"), 0);
	run(&r, &lock_look_script, KEYS(LOCK), ARGS());
	assert_int_equal(item_int(&r, 0), 0);
	assert_int_equal(release(TOKEN_1), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
	assert_int_equal(redis_exists(&r, LOCK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_free_lock_is_taken, script_stage_empty),
		cmocka_unit_test_setup(a_held_lock_is_refused, script_stage_empty),
		cmocka_unit_test_setup(one_of_many_gets_it, script_stage_empty),
		cmocka_unit_test_setup(fences_rise_over_expiry_and_release, script_stage_empty),
		cmocka_unit_test_setup(fences_rise_when_the_counter_is_lost, script_stage_empty),
		cmocka_unit_test_setup(fences_rise_when_the_clock_is_behind, script_stage_empty),
		cmocka_unit_test_setup(re_entry_counts_and_each_token_frees_once, script_stage_empty),
		cmocka_unit_test_setup(a_replayed_release_frees_nothing, script_stage_empty),
		cmocka_unit_test_setup(force_frees_whoever_holds, script_stage_empty),
		cmocka_unit_test_setup(extend_sets_longer_and_shorter, script_stage_empty),
		cmocka_unit_test_setup(an_expired_lock_is_never_revived, script_stage_empty),
		cmocka_unit_test_setup(a_look_changes_nothing, script_stage_empty),
		cmocka_unit_test_setup(a_replay_gets_the_first_answer, script_stage_empty),
		cmocka_unit_test_setup(a_refusal_is_not_kept, script_stage_empty),
		cmocka_unit_test_setup(a_replayed_extend_does_not_extend_again, script_stage_empty),
		cmocka_unit_test_setup(a_foreign_lock_key_stays_as_it_is, script_stage_empty),
		cmocka_unit_test_setup(a_foreign_fence_key_stays_as_it_is, script_stage_empty),
		cmocka_unit_test_setup(a_foreign_record_key_stays_as_it_is, script_stage_empty),
		cmocka_unit_test_setup(a_full_redis_refuses_a_lock_and_still_frees_one, script_stage_empty),
	};
	return cmocka_run_group_tests(tests, script_stage_open, script_stage_close);
}
