/*
 * Shared locks on a real Redis: each reader has its own token, fence and expiry, and writers get
 * their turn.
 */
#include "line_look.h"
#include "lock_calls.h"
#include "script_stage.h"
#include "test.h"

#define LOCK "p:lock:{a}"
#define READERS "p:lock:{a}:readers"
#define WRITER DAEMON_A ".0000000000000001.x"
#define READER_1 DAEMON_A ".0000000000000002.s"
#define READER_2 DAEMON_B ".0000000000000003.s"
#define READER_3 DAEMON_B ".0000000000000004.s"

enum { WAIT_MS = 20000 };

static int64_t read_with(const char *token, int64_t ttl_ms)
{
	return lock_acquire(&r,
			    (struct lock_try){ .token = token, .mode = "shared", .owner = token, .ttl_ms = ttl_ms });
}

static int64_t read_as(const char *ticket, const char *token)
{
	const struct lock_try t = { .token = token, .mode = "shared", .ticket = ticket, .wait_ms = WAIT_MS };

	return lock_acquire(&r, t);
}

static int64_t write_as(const char *ticket, const char *token)
{
	return lock_acquire(&r, (struct lock_try){ .token = token, .ticket = ticket, .wait_ms = WAIT_MS });
}

/* Makes a reader of at most two tokens expire, without a sweep. */
static void reader_ends(int64_t fence)
{
	server_command(&r, "ZADD " READERS " XX 1 %lld", (long long)fence);
	server_command(&r, "ZADD " READERS " XX 4503599627370497 %lld.2", (long long)fence);
}

/* Where the items of the i-th holder begin in a reply of lock_get, from 0. */
static size_t holder(size_t i)
{
	return LOCK_GET_HOLDERS + i * LOCK_HOLDER_ITEMS;
}

TEST(readers_share_the_lock)
{
	int64_t fences[3], ends[3];
	static const char *const tokens[] = { TOKEN_1, TOKEN_2, TOKEN_3 };

	for (int i = 0; i < 3; i++) {
		assert_int_equal(read_with(tokens[i], 20000 + 10000 * i), LOCK_ACQUIRE_TAKEN);
		assert_string_equal(item_text(&r, LOCK_ACQUIRE_MODE), "shared");
		assert_string_equal(item_text(&r, LOCK_ACQUIRE_OWNER), tokens[i]);
		assert_int_equal(item_int(&r, LOCK_ACQUIRE_HOLDS), 1);
		fences[i] = item_int(&r, LOCK_ACQUIRE_FENCES);
		ends[i] = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
		assert_true(i == 0 || fences[i] > fences[i - 1]);
	}
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(item_int(&r, LOCK_GET_FENCE), fences[2]);
	assert_int_equal(lock_get_holds(&r), 3);
	assert_int_equal(item_int(&r, LOCK_GET_EXPIRES_AT_MS), ends[2]);
	assert_int_equal(r.reply->elements, holder(3));
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(item_text(&r, holder(i) + LOCK_HOLDER_OWNER), tokens[i]);
		assert_int_equal(item_int(&r, holder(i) + LOCK_HOLDER_FENCE), fences[i]);
		assert_int_equal(item_int(&r, holder(i) + LOCK_HOLDER_EXPIRES_AT_MS), ends[i]);
	}
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, ends[2]);
	assert_int_equal(server_command(&r, "PEXPIRETIME " READERS)->integer, ends[2]);

	/* A refused writer gets a list of all readers. */
	unchanged(&r, assert_int_equal(lock_acquire(&r, (struct lock_try){ .token = TOKEN_4 }), LOCK_ACQUIRE_HELD));
	lock_acquire(&r, (struct lock_try){ .token = TOKEN_4 });
	assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "shared");
	assert_int_equal(item_int(&r, LOCK_REFUSAL_NEXT_AT_MS), ends[2]);
	assert_int_equal(r.reply->elements, LOCK_REFUSAL_HOLDERS + 3 * LOCK_HOLDER_ITEMS);
}

TEST(each_reader_releases_its_own)
{
	read_with(TOKEN_1, 20000);
	read_with(TOKEN_2, 40000);
	int64_t second = item_int(&r, LOCK_ACQUIRE_FENCES);
	read_with(TOKEN_3, 30000);
	int64_t third = item_int(&r, LOCK_ACQUIRE_FENCES), third_ends = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	assert_int_equal(lock_release(&r, "a", TOKEN_2), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HELD_FENCE), third);
	unchanged(&r, assert_int_equal(lock_release(&r, "a", TOKEN_2), LOCK_RELEASE_RELEASED_BEFORE));
	unchanged(&r, assert_int_equal(lock_extend(&r, "a", TOKEN_2, 50000), LOCK_EXTEND_NOT_HOLDER));
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, third_ends); /* third ends last */
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(lock_get_holds(&r), 2);
	assert_true(item_int(&r, holder(0) + LOCK_HOLDER_FENCE) != second &&
		    item_int(&r, holder(1) + LOCK_HOLDER_FENCE) == third);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_3), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_int_equal(redis_exists(&r, LOCK) + redis_exists(&r, READERS), 0);
}

TEST(each_reader_extends_its_own)
{
	read_with(TOKEN_1, 20000);
	int64_t first = item_int(&r, LOCK_ACQUIRE_FENCES);
	read_with(TOKEN_2, 30000);
	int64_t second_ends = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	assert_int_equal(lock_extend(&r, "a", TOKEN_1, 60000), 1);
	assert_int_equal(item_int(&r, LOCK_EXTEND_FENCE), first);
	assert_int_equal(item_int(&r, LOCK_EXTEND_HOLDS), 1);
	int64_t first_ends = item_int(&r, LOCK_EXTEND_EXPIRES_AT_MS);
	assert_int_equal(first_ends, item_int(&r, REPLY_NOW_MS) + 60000);
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, first_ends);
	lock_get(&r, "a");
	assert_int_equal(item_int(&r, holder(0) + LOCK_HOLDER_EXPIRES_AT_MS), second_ends);
	assert_int_equal(item_int(&r, holder(1) + LOCK_HOLDER_EXPIRES_AT_MS), first_ends);
	assert_int_equal(lock_extend(&r, "a", TOKEN_1, 5000), 1);
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, second_ends);
}

TEST(readers_end_one_by_one)
{
	read_with(TOKEN_1, 20000);
	int64_t first = item_int(&r, LOCK_ACQUIRE_FENCES);
	lock_acquire(&r, (struct lock_try){ .presented = TOKEN_1, .token = TOKEN_3 });
	read_with(TOKEN_2, 30000);
	reader_ends(first);
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(lock_get_holds(&r), 1);
	assert_int_equal(r.reply->elements, holder(1));
	unchanged(&r, assert_int_equal(lock_extend(&r, "a", TOKEN_1, 30000), LOCK_EXTEND_NOT_HOLDER));
	unchanged(&r, assert_int_equal(lock_release(&r, "a", TOKEN_3), LOCK_RELEASE_NOT_HOLDER));
	const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_4 };
	unchanged(&r, assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_NOT_HOLDER));
	/* The next change forgets the expired reader, with all its tokens. */
	assert_int_equal(lock_extend(&r, "a", TOKEN_2, 25000), 1);
	assert_int_equal(server_command(&r, "HLEN " LOCK)->integer, 4 + 2);
	assert_int_equal(server_command(&r, "ZCARD " READERS)->integer, 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_2), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
}

/* More readers expire than one step forgets. */
TEST(many_readers_end_and_the_lock_is_free)
{
	enum { READERS_BEFORE = 250 };
	char token[64];

	for (int i = 0; i < READERS_BEFORE; i++) {
		snprintf(token, sizeof(token), "%032x", i);
		assert_int_equal(read_with(token, 20000), LOCK_ACQUIRE_TAKEN);
	}
	read_with(TOKEN_1, 30000);
	redisReply *all = server_command(&r, "ZRANGE " READERS " 0 %d", READERS_BEFORE - 1);
	int64_t fences[READERS_BEFORE];
	for (size_t i = 0; i < READERS_BEFORE; i++)
		fences[i] = strtoll(all->element[i]->str, NULL, 10);
	for (size_t i = 0; i < READERS_BEFORE; i++)
		reader_ends(fences[i]);
	assert_int_equal(write_as(WRITER, TOKEN_2), LOCK_ACQUIRE_HELD);
	line_subscribe(&r, LOCK);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_string_equal(line_published(&r), "A1 0");
	assert_int_equal(redis_exists(&r, LOCK) + redis_exists(&r, READERS), 0);
	line_subscribe(&r, NULL);
}

static void looks_with(int64_t holders, int64_t holds)
{
	assert_int_equal(lock_get(&r, "a"), 0);
	assert_int_equal(item_int(&r, LOCK_GET_HOLDER_COUNT), holders);
	assert_int_equal(lock_get_holds(&r), holds);
}

/* Exactly the live readers count, however many readers have expired since the last sweep. */
TEST(only_live_readers_count)
{
	enum { ENDED = 250, LIVE = 5 };
	char token[64], further[64];
	int64_t fences[ENDED + LIVE];

	for (int i = 0; i < ENDED + LIVE; i++) {
		snprintf(token, sizeof(token), "%032x", i);
		snprintf(further, sizeof(further), "%032x", i + 1000);
		read_with(token, 20000);
		fences[i] = item_int(&r, LOCK_ACQUIRE_FENCES);
		if (i % 2 == 0)
			lock_acquire(&r, (struct lock_try){ .presented = token, .token = further, .ttl_ms = 20000 });
	}
	for (int i = 0; i < ENDED; i++)
		reader_ends(fences[i]);
	looks_with(LIVE, LIVE + (LIVE + 1) / 2);
	assert_int_equal(lock_extend(&r, "a", further, 30000), 1);
	looks_with(LIVE, LIVE + (LIVE + 1) / 2);
	assert_int_equal(lock_release(&r, "a", further), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 1);
	looks_with(LIVE, LIVE + (LIVE + 1) / 2 - 1);
	assert_int_equal(lock_release(&r, "a", token), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	looks_with(LIVE - 1, LIVE + (LIVE + 1) / 2 - 2);
	assert_int_equal(server_command(&r, "ZCARD " READERS)->integer, LIVE - 1);
}

TEST(a_reader_enters_again)
{
	read_with(TOKEN_1, 20000);
	int64_t first = item_int(&r, LOCK_ACQUIRE_FENCES);
	read_with(TOKEN_2, 30000);
	int64_t second_ends = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
	const struct lock_try again = { .presented = TOKEN_1, .token = TOKEN_3, .ttl_ms = 25000, .owner = "other" };
	assert_int_equal(lock_acquire(&r, again), LOCK_ACQUIRE_ENTERED);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_FENCES), first);
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_HOLDS), 2);
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_OWNER), TOKEN_1);
	assert_string_equal(item_text(&r, LOCK_ACQUIRE_MODE), "shared");
	assert_int_equal(item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS), item_int(&r, REPLY_NOW_MS) + 25000);
	assert_int_equal(server_command(&r, "PEXPIRETIME " LOCK)->integer, second_ends);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 1);
	assert_int_equal(lock_extend(&r, "a", TOKEN_3, 40000), 1);
	assert_int_equal(item_int(&r, LOCK_EXTEND_FENCE), first);
	assert_int_equal(item_int(&r, LOCK_EXTEND_HOLDS), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_3), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
}

TEST(a_token_holds_in_its_own_mode)
{
	static const struct {
		const char *held, *wanted;
		int64_t outcome;
	} rows[] = {
		{ "shared", "exclusive", LOCK_ACQUIRE_MODE_CONFLICT },
		{ "exclusive", "shared", LOCK_ACQUIRE_MODE_CONFLICT },
		{ "shared", "shared", LOCK_ACQUIRE_ENTERED },
		{ "exclusive", "exclusive", LOCK_ACQUIRE_ENTERED },
		{ "shared", NULL, LOCK_ACQUIRE_ENTERED },
		{ "exclusive", NULL, LOCK_ACQUIRE_ENTERED },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		script_stage_empty(NULL);
		lock_acquire(&r, (struct lock_try){ .token = TOKEN_1, .mode = rows[i].held });
		const struct lock_try t = { .presented = TOKEN_1, .token = TOKEN_2, .mode = rows[i].wanted };
		if (rows[i].outcome == LOCK_ACQUIRE_MODE_CONFLICT)
			unchanged(&r, lock_acquire(&r, t));
		assert_int_equal(lock_acquire(&r, t), rows[i].outcome);
		if (rows[i].outcome == LOCK_ACQUIRE_MODE_CONFLICT)
			assert_string_equal(item_text(&r, LOCK_ACQUIRE_HELD_MODE), rows[i].held);
		else
			assert_string_equal(item_text(&r, LOCK_ACQUIRE_MODE), rows[i].held);
	}
}

TEST(a_writer_in_line_stops_new_readers)
{
	read_with(TOKEN_1, 20000);
	assert_int_equal(write_as(WRITER, TOKEN_2), LOCK_ACQUIRE_HELD);
	assert_int_equal(read_with(TOKEN_3, 20000), LOCK_ACQUIRE_HELD);
	assert_string_equal(item_text(&r, LOCK_REFUSAL_MODE), "shared");
	assert_int_equal(read_as(READER_1, TOKEN_3), LOCK_ACQUIRE_HELD);
	assert_int_equal(read_as(READER_2, TOKEN_4), LOCK_ACQUIRE_HELD);
	line_subscribe(&r, LOCK);
	lock_release(&r, "a", TOKEN_1);
	assert_string_equal(line_published(&r), "A1 0, B3 1000");
	assert_int_equal(read_as(READER_1, TOKEN_3), LOCK_ACQUIRE_HELD);
	assert_int_equal(write_as(WRITER, TOKEN_2), LOCK_ACQUIRE_TAKEN);
	assert_string_equal(line_published(&r), "A2 31001"); /* B3 looks first */
	assert_string_equal(line_tickets(&r, LOCK), READER_1 " " READER_2);
	line_subscribe(&r, NULL);
}

TEST(readers_in_a_row_go_in_together)
{
	lock_acquire(&r, (struct lock_try){ .token = TOKEN_1 });
	read_as(READER_1, TOKEN_2);
	read_as(READER_2, TOKEN_3);
	write_as(WRITER, TOKEN_1);
	read_as(READER_3, TOKEN_4);
	line_subscribe(&r, LOCK);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(read_as(READER_1, TOKEN_2), LOCK_ACQUIRE_TAKEN);
	assert_int_equal(read_as(READER_2, TOKEN_3), LOCK_ACQUIRE_TAKEN);
	assert_string_equal(line_published(&r), "A2 0, B4 1000, B3 0, A1 1000"); /* each offer with a guard */
	assert_int_equal(read_as(READER_3, TOKEN_4), LOCK_ACQUIRE_HELD);         /* behind the writer */
	lock_release(&r, "a", TOKEN_2);
	assert_string_equal(line_published(&r), "");
	lock_release(&r, "a", TOKEN_3);
	assert_string_equal(line_published(&r), "A1 0, B4 1000");
	line_subscribe(&r, NULL);
}

/* When the writer gives up, the readers behind it go in at once. */
TEST(a_writer_that_leaves_lets_readers_in)
{
	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		read_with(TOKEN_1, 20000);
		write_as(WRITER, TOKEN_2);
		read_as(READER_1, TOKEN_3);
		line_subscribe(&r, LOCK);
		if (way)
			lock_leave(&r, "a", WRITER, TOKEN_2);
		else
			lock_acquire(&r, (struct lock_try){ .token = TOKEN_2, .ticket = WRITER });
		assert_string_equal(line_published(&r), "A2 0");
		assert_int_equal(read_as(READER_1, TOKEN_3), LOCK_ACQUIRE_TAKEN);
	}
	line_subscribe(&r, NULL);
}

/* The first waiter would have looked when the released reader ended. It must look earlier. */
TEST(waiters_are_notified_of_the_last_readers_end)
{
	for (int way = 0; way < 2; way++) {
		script_stage_empty(NULL);
		read_with(TOKEN_1, 5000);
		int64_t ends = item_int(&r, LOCK_ACQUIRE_EXPIRES_AT_MS);
		read_with(TOKEN_2, 60000);
		write_as(WRITER, TOKEN_3);
		line_subscribe(&r, LOCK);
		if (way)
			lock_leave(&r, "a", "", TOKEN_2);
		else
			lock_release(&r, "a", TOKEN_2);
		int64_t now = item_int(&r, REPLY_NOW_MS);
		char announced[32];
		snprintf(announced, sizeof(announced), "A1 %lld", (long long)(ends + 1 - now));
		assert_string_equal(line_published(&r), announced);
	}
	line_subscribe(&r, NULL);
}

TEST(force_frees_all_readers)
{
	read_with(TOKEN_1, 20000);
	read_with(TOKEN_2, 20000);
	assert_int_equal(lock_force(&r, "a"), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_int_equal(redis_exists(&r, LOCK) + redis_exists(&r, READERS), 0);
	assert_int_equal(lock_release(&r, "a", TOKEN_1), LOCK_RELEASE_NOT_HOLDER);
}

TEST(a_look_lists_sixteen_of_many)
{
	char token[64];

	for (int i = 0; i < 40; i++) {
		snprintf(token, sizeof(token), "%032x", i);
		read_with(token, 60000 - 100 * i);
	}
	lock_get(&r, "a");
	assert_int_equal(r.reply->elements, holder(16));
	assert_string_equal(item_text(&r, holder(0) + LOCK_HOLDER_OWNER), token); /* the first reader to end */
}

/* Another program deleted the lock alone. The keys beside it do not count. */
TEST(readers_of_a_lock_that_is_gone_do_not_count)
{
	read_with(TOKEN_1, 20000);
	read_with(TOKEN_2, 20000);
	server_command(&r, "DEL " LOCK);
	assert_int_equal(read_with(TOKEN_3, 10000), LOCK_ACQUIRE_TAKEN);
	lock_get(&r, "a");
	assert_int_equal(lock_get_holds(&r), 1);
	assert_int_equal(lock_release(&r, "a", TOKEN_3), 1);
	assert_int_equal(item_int(&r, LOCK_RELEASE_HOLDS), 0);
	assert_int_equal(redis_exists(&r, LOCK) + redis_exists(&r, READERS), 0);
}

/* The first reader's daemon is dead: its offer lapses, and the readers behind it go in. */
TEST(a_reader_that_does_not_come_is_passed)
{
	lock_acquire(&r, (struct lock_try){ .token = TOKEN_1 });
	read_as(READER_1, TOKEN_2);
	read_as(READER_2, TOKEN_3);
	read_as(READER_3, TOKEN_4);
	lock_release(&r, "a", TOKEN_1);
	assert_int_equal(read_as(READER_3, TOKEN_4), LOCK_ACQUIRE_HELD);
	line_lapse(&r, LOCK);
	line_subscribe(&r, LOCK);
	assert_int_equal(read_as(READER_3, TOKEN_4), LOCK_ACQUIRE_HELD);
	assert_string_equal(line_published(&r), "A!, B3 0");
	assert_int_equal(read_as(READER_2, TOKEN_3), LOCK_ACQUIRE_TAKEN);
	assert_string_equal(line_published(&r), "B4 0");
	assert_int_equal(read_as(READER_3, TOKEN_4), LOCK_ACQUIRE_TAKEN);
	assert_string_equal(line_tickets(&r, LOCK), "");
	line_subscribe(&r, NULL);
}

static int open_attended(void **state)
{
	script_stage_open_by_clock(state);
	line_attend(&r, LOCK);
	return 0;
}

SUITE(.open = open_attended, .close = script_stage_close, .after = script_stage_empty);
