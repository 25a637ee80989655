/* The lock scripts on a real Redis: holders, fences, and foreign keys, which stay untouched. */
#include "line_look.h"
#include "lock_calls.h"
#include "script_stage.h"
#include "test.h"

#define LOCK "p:lock:{a}"
#define FENCE "p:lock:{a}:fence"
#define READERS "p:lock:{a}:readers"
#define LINE "p:lock:{a}:waiters"
#define RELEASED "p:lock:{a}:released"
#define RECORD "p:idem:{a}:k"
#define SEALED "5ea1ed5ea1ed5ea1ed5ea1ed5ea1ed00"

/* Tries to acquire the lock. Returns the outcome. */
static int64_t acquire(int64_t ttl_ms, const char *presented, const char *token)
{
	return lock_acquire(&r, (struct lock_try){ .ttl_ms = ttl_ms,
						   .owner = "worker-7",
						   .metadata = "{\"job\":1}",
						   .presented = presented,
						   .token = token });
}

static int64_t extend(int64_t ttl_ms, const char *token)
{
	return lock_extend(&r, "a", token, ttl_ms);
}

static int64_t release(const char *token)
{
	return lock_release(&r, "a", token);
}

static int64_t release_by_force(void)
{
	return lock_force(&r, "a");
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(a_free_lock_is_taken)
{
	int64_t before_ms = server_now_ms(&r);
	assert_int_equal(acquire(30000, "", TOKEN_1), LOCK_ACQUIRE_TAKEN);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS), fence = item_int(&r, LOCK_ACQUIRE_FENCES);
	assert_in_range(now_ms, before_ms, before_ms + 5000);
	assert_in_range(fence, before_ms * 1000, (now_ms + 1) * 1000);
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_OWNER), "worker-7");
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_MODE), "exclusive");
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_HOLDS), 1);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS), now_ms + 30000);
	assert_string_equal(server_command(&r, "HGET " LOCK " metadata")->str, "{\"job\":1}");
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, now_ms + 30000);
	assert_int_equal(redis_pttl_ms(&r, FENCE), -1);
	assert_int_equal(server_command(&r, "HEXISTS " LOCK " t:" TOKEN_1)->integer, 1);
	assert_int_equal(strtoll(server_command(&r, "GET " FENCE)->str, NULL, 10), fence);
}

TEST(a_held_lock_is_refused)
{
	acquire(30000, "", TOKEN_1);
	int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES), expires_at_ms = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	unchanged(&r, assert_int_equal(acquire(60000, "", TOKEN_2), LOCK_ACQUIRE_HELD));
	acquire(60000, "", TOKEN_2);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), expires_at_ms);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WHICH), 0);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_WAITER_COUNT), 0);
	assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "exclusive");
	assert_string_equal(item_text(&r, LOCK_REFUSAL_HOLDERS + LOCK_HOLDER_OWNER), "worker-7");
	assert_int_equal(item_int(&r, LOCK_REFUSAL_HOLDERS + LOCK_HOLDER_FENCE), fence);
	assert_int_equal(item_int(&r, LOCK_REFUSAL_HOLDERS + LOCK_HOLDER_EXPIRES_AT_MS), expires_at_ms);
	assert_int_equal(r.reply->elements, LOCK_REFUSAL_HOLDERS + LOCK_HOLDER_ITEMS);
	assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER);
}

/*
 * Two connections send many attempts before either reads a reply. One attempt of all gets the lock.
 */
TEST(one_of_many_gets_it)
{
	enum { TRIES = 100 };
	const char *script = server_command(&r, "SCRIPT LOAD %s", lock_acquire_script.text->source.at)->str;
	redisContext *c[2] = { redisConnectUnix(r.socket_path), redisConnectUnix(r.socket_path) };
	int taken = 0, held = 0;

	for (int i = 0; i < TRIES; i++)
		redisAppendCommand(c[i % 2],
				   "EVALSHA %s 5 %s %s %s %s p:names:{}:lock 30000 o %s %s %032d %s %s %s 0 0 %s",
				   script, LOCK, FENCE, READERS, LINE, "", "", i, "", "", "", "lock_acquire");
	for (int i = 0; i < TRIES; i++) {
		redisReply *reply = NULL;
		assert_int_equal(redisGetReply(c[i % 2], (void **)&reply), REDIS_OK);
		assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
		taken += reply->element[REPLY_OUTCOME]->integer == LOCK_ACQUIRE_TAKEN;
		held += reply->element[REPLY_OUTCOME]->integer == LOCK_ACQUIRE_HELD;
		freeReplyObject(reply);
	}
	redisFree(c[0]);
	redisFree(c[1]);
	assert_int_equal(taken, 1);
	assert_int_equal(held, TRIES - 1);
	assert_int_equal(server_command(&r, "HLEN " LOCK)->integer, 5);
}

TEST(fences_rise_over_expiry_and_release)
{
	acquire(20, "", TOKEN_1);
	int64_t first = item_int(&r, LOCK_ACQUIRE_FENCES);
	wait_until(redis_exists(&r, LOCK) == 0, 5000);
	assert_int_equal(acquire(30000, "", TOKEN_2), LOCK_ACQUIRE_TAKEN);
	int64_t second = item_int(&r, LOCK_ACQUIRE_FENCES);
	assert_true(second > first);
	assert_int_equal(release(TOKEN_2), 1);
	assert_int_equal(redis_exists(&r, LOCK), 0);
	assert_int_equal(acquire(30000, "", TOKEN_3), LOCK_ACQUIRE_TAKEN);
	assert_true(item_int(&r, LOCK_ACQUIRE_FENCES) > second);
}

TEST(fences_rise_when_the_counter_is_lost)
{
	static const char *const modes[] = { "exclusive", "shared" }; /* the script handles each in its own way */

	for (int i = 0; i < 2; i++) {
		const struct lock_try t = { .token = TOKEN_1, .mode = modes[i] };
		acquire(30000, "", TOKEN_1);
		int64_t first = item_int(&r, LOCK_ACQUIRE_FENCES);
		server_command(&r, "FLUSHALL");
		wait_until(server_now_us(&r) > first, 5000);
		lock_acquire(&r, t);
		assert_true(item_int(&r, LOCK_ACQUIRE_FENCES) > first);
		server_command(&r, "FLUSHALL");
	}
}

/* The last fence is ahead of the clock, as if Redis's clock had been set back. */
TEST(fences_rise_when_the_clock_is_behind)
{
	server_command(&r, "SET " FENCE " 4102444800000000");
	acquire(30000, "", TOKEN_1);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_FENCES), 4102444800000001);
	release(TOKEN_1);
	acquire(30000, "", TOKEN_1);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_FENCES), 4102444800000002);
	assert_string_equal(server_command(&r, "GET " FENCE)->str, "4102444800000002");
}

TEST(re_entry_counts_and_each_token_frees_once)
{
	acquire(30000, "", TOKEN_1);
	int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
	const struct lock_try again = { .ttl_ms = 60000,
					.owner = "other",
					.metadata = "[]",
					.presented = TOKEN_1,
					.token = TOKEN_2,
					.sealed = SEALED };
	assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_ENTERED);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_FENCES), fence);
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_OWNER), "worker-7");
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_MODE), "exclusive");
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_HOLDS), 2);
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_SEALED), SEALED);
	int64_t expires_at_ms = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	assert_int_equal(expires_at_ms, item_int(&r, REPLY_NOW_MS) + 60000);
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, expires_at_ms);
	assert_int_equal(acquire(30000, TOKEN_2, TOKEN_3), LOCK_ACQUIRE_ENTERED);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_HOLDS), 3);
	assert_string_equal(server_command(&r, "HGET " LOCK " metadata")->str, "{\"job\":1}");

	assert_int_equal(release(TOKEN_1), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 2);
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
	unchanged(&r, assert_int_equal(acquire(30000, TOKEN_1, TOKEN_1), LOCK_ACQUIRE_NOT_HOLDER));
	assert_int_equal(release(TOKEN_3), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 1);
	assert_int_equal(release(TOKEN_2), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_int_equal(redis_exists(&r, LOCK), 0);
}

TEST(a_replayed_release_frees_nothing)
{
	acquire(30000, "", TOKEN_1);
	assert_int_equal(release(TOKEN_1), 1);
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
	acquire(30000, "", TOKEN_2);
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_RELEASED_BEFORE));
	unchanged(&r, assert_int_equal(extend(60000, TOKEN_1), LOCK_EXTEND_NOT_HOLDER));
}

TEST(force_frees_any_hold)
{
	unchanged(&r, assert_int_equal(release_by_force(), LOCK_RELEASE_NOT_HOLDER));
	acquire(30000, "", TOKEN_1);
	int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
	acquire(30000, TOKEN_1, TOKEN_2);
	unchanged(&r, assert_int_equal(release(""), LOCK_RELEASE_NOT_HOLDER)); /* does not release by force */
	assert_int_equal(release_by_force(), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_int_equal(redis_exists(&r, LOCK), 0);
	assert_int_equal(strtoll(server_command(&r, "GET " FENCE)->str, NULL, 10), fence);
	unchanged(&r, assert_int_equal(release_by_force(), LOCK_RELEASE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
	assert_int_equal(acquire(30000, "", TOKEN_3), LOCK_ACQUIRE_TAKEN);
	assert_true(item_int(&r, LOCK_ACQUIRE_FENCES) > fence);
	unchanged(&r, assert_int_equal(release(TOKEN_2), LOCK_RELEASE_NOT_HOLDER));
	server_command(&r, "CONFIG SET maxmemory 1");
	assert_int_equal(release_by_force(), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
}

TEST(extend_sets_longer_and_shorter)
{
	acquire(30000, "", TOKEN_1);
	int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
	assert_int_equal(extend(90000, TOKEN_1), 1);
	assert_int_equal(item_int(&r, LOCK_EXTEND_FENCE), fence);
	assert_int_equal(item_int(&r, LOCK_EXTEND_HOLDS), 1);
	assert_int_equal(item_int(&r, LOCK_EXTEND_EXPIRES_AT_MS), item_int(&r, REPLY_NOW_MS) + 90000);
	assert_in_range(redis_pttl_ms(&r, LOCK), 85000, 90000);
	assert_int_equal(extend(10000, TOKEN_1), 1);
	assert_in_range(redis_pttl_ms(&r, LOCK), 5000, 10000);
	unchanged(&r, assert_int_equal(extend(90000, TOKEN_2), LOCK_EXTEND_NOT_HOLDER));
}

TEST(an_expired_lock_is_never_revived)
{
	acquire(20, "", TOKEN_1);
	wait_until(redis_exists(&r, LOCK) == 0, 5000);
	unchanged(&r, assert_int_equal(extend(30000, TOKEN_1), LOCK_EXTEND_NOT_HOLDER));
	unchanged(&r, assert_int_equal(acquire(30000, TOKEN_1, TOKEN_2), LOCK_ACQUIRE_NOT_HOLDER));
	unchanged(&r, assert_int_equal(release(TOKEN_1), LOCK_RELEASE_NOT_HOLDER));
	assert_int_equal(redis_exists(&r, LOCK), 0);
}

/* Lists use the short form, which reads fewer fields. */
TEST(a_look_changes_nothing)
{
	assert_int_equal(lock_get(&r, "a"), -1);
	assert_int_equal(item_int(&r, LOCK_GET_WAITER_COUNT), 0);
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), 0);
	acquire(30000, "", TOKEN_1);
	int64_t fence = item_int(&r, LOCK_ACQUIRE_FENCES);
	acquire(30000, TOKEN_1, TOKEN_2);
	int64_t expires_at_ms = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	unchanged(&r, lock_get(&r, "a"));
	unchanged(&r, run(&r, &lock_get_script, lock_keys("a", parts_to_change), ARGS()));
	run(&r, &lock_get_script, lock_keys("a", parts_to_change), ARGS());
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), fence);
	assert_string_equal(item_text(&r, LOCK_GET_HOLDERS + LOCK_HOLDER_METADATA), "");
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(item_int(&r, LOCK_GET_WAITER_COUNT), 0);
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), fence);
	assert_string_equal(item_text(&r, LOCK_GET_MODE), "exclusive");
	assert_int_equal(item_int(&r, LOCK_GET_EXPIRES_AT_MS), expires_at_ms);
	assert_int_equal(r.reply->elements, LOCK_GET_HOLDERS + LOCK_HOLDER_ITEMS);
	assert_int_equal(item_int(&r, LOCK_GET_HOLDERS + LOCK_HOLDER_HOLDS), 2);
	assert_string_equal(item_text(&r, LOCK_GET_HOLDERS + LOCK_HOLDER_METADATA), "{\"job\":1}");
	assert_string_equal(item_text(&r, LOCK_GET_HOLDERS + LOCK_HOLDER_OWNER), "worker-7");
	assert_int_equal(item_int(&r, LOCK_GET_HOLDERS + LOCK_HOLDER_FENCE), fence);
	assert_int_equal(item_int(&r, LOCK_GET_HOLDERS + LOCK_HOLDER_EXPIRES_AT_MS), expires_at_ms);
	release(TOKEN_1);
	release(TOKEN_2);
	assert_int_equal(lock_get(&r, "a"), -1);
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), fence);
	run(&r, &lock_get_script, lock_keys("a", parts_to_change), ARGS());
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), 0);
}

/* ---- Replays ---- */

static void acquire_with_record(const struct lock_try *t, const char *fingerprint)
{
	run_with_record(&r, &lock_acquire_script, lock_try_keys(t), lock_try_args(t), RECORD, fingerprint);
}

static void extend_with_record(const char *ttl_ms, const char *token)
{
	run_with_record(&r, &lock_extend_script, lock_keys("a", parts_to_change), ARGS(ttl_ms, token), RECORD,
			FINGERPRINT_A);
}

TEST(a_replay_gets_the_first_answer)
{
	const struct lock_try first = { .owner = "me", .token = TOKEN_1, .sealed = SEALED };
	const struct lock_try again = { .owner = "me", .token = TOKEN_2, .sealed = "another" };

	acquire_with_record(&first, FINGERPRINT_A);
	assert_int_equal(outcome(&r), LOCK_ACQUIRE_TAKEN);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS), fence = item_int(&r, LOCK_ACQUIRE_FENCES),
		expires_at_ms = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	assert_in_range(redis_pttl_ms(&r, RECORD), 50000, 60000); /* a minute, or as long as the grant */
	wait_until(server_now_ms(&r) > now_ms, 5000);
	unchanged(&r, acquire_with_record(&again, FINGERPRINT_A));
	acquire_with_record(&again, FINGERPRINT_A);
	assert_int_equal(outcome(&r), LOCK_ACQUIRE_TAKEN);
	assert_true(item_int(&r, REPLY_NOW_MS) > now_ms);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_FENCES), fence);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS), expires_at_ms);
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_SEALED), SEALED);
	unchanged(&r, run_with_record_fails(&r, &lock_acquire_script, lock_try_keys(&again), lock_try_args(&again),
					    RECORD, FINGERPRINT_B, "IDEMPOTENCY_KEY_REUSED"));
}

static void must_have_ended(const struct lock_try *t)
{
	unchanged(&r, run_with_record_ended(&r, &lock_acquire_script, lock_try_keys(t), lock_try_args(t), RECORD,
					    FINGERPRINT_A));
}

TEST(a_replay_knows_how_the_lock_is_now)
{
	static const char *const modes[] = { "exclusive", "shared" };

	for (int i = 0; i < 2; i++) {
		script_stage_empty(state);
		const struct lock_try mine = { .token = TOKEN_1, .sealed = SEALED, .mode = modes[i] };
		const struct lock_try again = { .token = TOKEN_2, .sealed = "another", .mode = modes[i] };
		acquire_with_record(&mine, FINGERPRINT_A);
		lock_extend(&r, "a", TOKEN_1, 90000);
		int64_t expires_at_ms = item_int(&r, LOCK_EXTEND_EXPIRES_AT_MS);
		unchanged(&r, acquire_with_record(&again, FINGERPRINT_A));
		acquire_with_record(&again, FINGERPRINT_A);
		assert_int_equal(item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS), expires_at_ms);
		release(TOKEN_1);
		must_have_ended(&again);
		const struct lock_try others = { .token = TOKEN_2, .mode = modes[i] };
		lock_acquire(&r, others);
		must_have_ended(&again);
	}
}

TEST(a_refusal_is_not_kept)
{
	const struct lock_try mine = { .owner = "me", .token = TOKEN_2, .sealed = SEALED };

	acquire(30000, "", TOKEN_1);
	acquire_with_record(&mine, FINGERPRINT_A);
	assert_int_equal(outcome(&r), LOCK_ACQUIRE_HELD);
	extend_with_record("1", TOKEN_2);
	assert_int_equal(outcome(&r), LOCK_EXTEND_NOT_HOLDER);
	assert_int_equal(redis_exists(&r, RECORD), 0);
	release(TOKEN_1);
	acquire_with_record(&mine, FINGERPRINT_A);
	assert_int_equal(outcome(&r), LOCK_ACQUIRE_TAKEN);
}

TEST(a_replayed_extend_does_not_extend_again)
{
	acquire(30000, "", TOKEN_1);
	extend_with_record("40000", TOKEN_1);
	int64_t now_ms = item_int(&r, REPLY_NOW_MS), expires_at_ms = item_int(&r, LOCK_EXTEND_EXPIRES_AT_MS);
	wait_until(server_now_ms(&r) > now_ms, 5000);
	unchanged(&r, extend_with_record("40000", TOKEN_1));
	extend_with_record("40000", TOKEN_1);
	assert_int_equal(item_int(&r, LOCK_EXTEND_EXPIRES_AT_MS), expires_at_ms);
	assert_true(item_int(&r, REPLY_NOW_MS) > now_ms);
	release(TOKEN_1);
	acquire(30000, "", TOKEN_2);
	unchanged(&r, run_with_record_ended(&r, &lock_extend_script, lock_keys("a", parts_to_change),
					    ARGS("40000", TOKEN_1), RECORD, FINGERPRINT_A));
}

/* Foreign content of the lock's key. */
static const char *const foreign_locks[] = {
	"RPUSH " LOCK " x",
	"SET " LOCK " x",
	"HSET " LOCK " fence 1 owner o mode exclusive metadata m",
	"HSET " LOCK " some thing",
};

/* Each script of one lock. args_of calls some of them in several ways. */
static const struct script *const each_script[] = {
	&lock_acquire_script, &lock_acquire_script, &lock_acquire_script, &lock_extend_script,
	&lock_release_script, &lock_release_script, &lock_leave_script,   &lock_get_script,
};
enum { EACH = COUNT(each_script) };

static const char *const *keys_of(const struct script *s)
{
	return lock_keys("a", s == &lock_acquire_script   ? parts_to_acquire
			      : s == &lock_release_script ? parts_to_release
			      : s == &lock_get_script     ? parts_to_look
							  : parts_to_change);
}

static const char *const *args_of(size_t i)
{
	static const char *const args[EACH][11] = {
		{ "30000", "", "", "", TOKEN_2, "", "", "", "0", "0" },
		{ "30000", "", "", "", TOKEN_2, "", "shared", DAEMON_A ".1.s", "5000", "0" },
		{ "30000", "", "", TOKEN_1, TOKEN_2, "", "", "", "0", "0" },
		{ "1", TOKEN_1 },
		{ TOKEN_1, "0" },
		{ "", "1" },
		{ DAEMON_A ".2.x", TOKEN_1 },
		{ NULL },
	};

	return args[i];
}

TEST(a_foreign_lock_key_stays_as_it_is)
{
	for (size_t i = 0; i < COUNT(foreign_locks); i++) {
		server_command(&r, "FLUSHALL");
		assert_int_not_equal(server_command(&r, foreign_locks[i])->type, REDIS_REPLY_ERROR);
		for (size_t k = 0; k < EACH; k++)
			unchanged(&r, run_fails(&r, each_script[k], keys_of(each_script[k]), args_of(k), "WRONGTYPE"));
		const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_2 };
		unchanged(&r, run_with_record_fails(&r, &lock_acquire_script, lock_try_keys(&again),
						    lock_try_args(&again), RECORD, FINGERPRINT_A, "WRONGTYPE"));
	}
}

/*
 * The state that an interrupted script leaves. The token holds the lock, the lock gets an expiry,
 * and force frees it.
 */
TEST(a_lock_without_a_ttl_heals)
{
	static const char *const modes[] = { "exclusive", "shared" };
	const struct lock_try other = { .token = TOKEN_2 };

	for (size_t i = 0; i < 2; i++) {
		server_command(&r, "FLUSHALL");
		server_command(&r, "HSET " LOCK " fence 1 owner o mode %s metadata m t:" TOKEN_1 " 1", modes[i]);
		run(&r, &lock_get_script, keys_of(&lock_get_script), ARGS());
		assert_int_equal(outcome(&r), LOCK_GET_HELD);
		assert_int_equal(lock_acquire(&r, other), LOCK_ACQUIRE_HELD);
		assert_in_range(server_command(&r, "PTTL " LOCK)->integer, 86390000, 86400000);
		server_command(&r, "PERSIST " LOCK);
		assert_int_equal(release_by_force(), LOCK_RELEASE_RELEASED);
		assert_int_equal(lock_acquire(&r, other), LOCK_ACQUIRE_TAKEN);
	}
}

/* A script either refuses without a change, or leaves the foreign key alone. */
TEST(no_foreign_key_beside_a_lock_is_touched)
{
	static const char *const plants[][2] = {
		{ FENCE, "RPUSH " FENCE " x" },     { FENCE, "SET " FENCE " x" }, { FENCE, "SET " FENCE " 1e3" },
		{ READERS, "RPUSH " READERS " x" }, { LINE, "SET " LINE " x" },   { RELEASED, "RPUSH " RELEASED " x" },
	};
	static const char *const modes[] = { NULL, "exclusive", "shared" };
	unsigned refused = 0;

	for (size_t i = 0; i < COUNT(plants); i++)
		for (size_t k = 0; k < 3 * EACH; k++) {
			const struct script *s = each_script[k / 3];
			server_command(&r, "FLUSHALL");
			if (modes[k % 3])
				lock_acquire(&r, (struct lock_try){ .token = TOKEN_1, .mode = modes[k % 3] });
			server_command(&r, "DEL %s", plants[i][0]);
			server_command(&r, plants[i][1]);
			char *before = server_picture(&r);
			if (!run_may_fail(&r, s, keys_of(s), args_of(k / 3), "WRONGTYPE")) {
				char *after = server_picture(&r);
				assert_string_equal(after, before);
				free(after);
				refused++;
			}
			if (!redis_exists(&r, plants[i][0]))
				fail_msg("%s (call %zu) of a lock %s removed %s", s->name, k / 3, modes[k % 3],
					 plants[i][1]);
			free(before);
		}
	assert_in_range(refused, 50, 6 * 3 * EACH);
}

TEST(a_foreign_record_key_stays_as_it_is)
{
	const struct lock_try t = { .token = TOKEN_1 };

	server_command(&r, "RPUSH " RECORD " x");
	unchanged(&r, run_with_record_fails(&r, &lock_acquire_script, lock_try_keys(&t), lock_try_args(&t), RECORD,
					    FINGERPRINT_A, "WRONGTYPE"));
}

TEST(a_full_redis_refuses_a_lock_and_still_frees_one)
{
	acquire(30000, "", TOKEN_1);
	server_command(&r, "CONFIG SET maxmemory 1");
	const struct lock_try b = { .names = "b", .token = TOKEN_2 };
	run_fails(&r, &lock_acquire_script, lock_try_keys(&b), lock_try_args(&b), "OOM");
	assert_int_equal(redis_exists(&r, "p:lock:{b}"), 0);
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(release(TOKEN_1), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
	assert_int_equal(redis_exists(&r, LOCK), 0);
}
