/*
 * The scripts that write and look up many members of a leaderboard, on a real Redis. They are
 * compared with a board that gets the same members one by one, and with a plain sorted set.
 */
#include "board_calls.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define B "p:board:{b}"
#define BOARD_KEYS KEYS(B, B ":places", B ":ranks")

enum { MEMBERS = 40, D = 2, MOST = 250, TEXT = 24 };

static struct ranked found[2 * MOST];

static uint32_t seed;
static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* The arguments of one call. The texts live until begin_write begins the next. */
static const char *args[4 * MOST + 16];
static char texts[4 * MOST + 16][TEXT];
static size_t arg_count;

static void arg(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(texts[arg_count], TEXT, format, list);
	va_end(list);
	args[arg_count] = texts[arg_count];
	args[++arg_count] = NULL;
}

static void begin_write(const char *names, const char *largest, int removals)
{
	arg_count = 0;
	arg("%d", names ? names[2] ? 2 : 1 : 0);
	for (const char *at = names; at && *at; at += 2 + (at[2] != '\0'))
		arg("%.2s", at);
	arg("%s", largest);
	arg("%d", removals);
}

static int64_t write_board(void)
{
	arg("0"); /* the number of the part */
	run(&r, &leaderboard_member_write_script, BOARD_KEYS, args);
	return outcome(&r);
}

/* ---- A bulk call does what single calls do ---- */

static void same_boards(void)
{
	static struct ranked single[2 * MOST];
	int n = board_page("single", 0, 2 * MOST, "desc", D, single);

	assert_int_equal(board_page("b", 0, 2 * MOST, "desc", D, found), n);
	assert_memory_equal(found, single, (size_t)n * sizeof(*single));
	assert_int_equal(server_command(&r, "HLEN " B ":places")->integer, n);
}

/*
 * Removes some members, and puts others with few different scores, in the same order on both
 * boards.
 */
static void write_some(void)
{
	int64_t scores[MEMBERS][D], added = 0, updated = 0, removed = 0;
	int is_put[MEMBERS] = { 0 }, removals = (int)next_random(6);
	char member[16];

	begin_write("d1,d0", "9", removals);
	for (int i = 0; i < removals; i++) {
		int which = (int)next_random(MEMBERS);
		is_put[which] = 1; /* a call does not also put a member that it removes */
		arg("m%d", which);
		snprintf(member, sizeof(member), "m%d", which);
		run(&r, &leaderboard_member_delete_script,
		    KEYS(board_key("single", ""), board_key("single", ":places"), board_key("single", ":ranks")),
		    ARGS(member));
		removed += outcome(&r) == 1;
	}
	for (int i = (int)next_random(12); i > 0; i--) {
		int which = (int)next_random(MEMBERS);
		if (is_put[which]++)
			continue;
		scores[which][0] = next_random(3);
		scores[which][1] = next_random(3);
		arg("m%d", which);
		arg("%d", (int)scores[which][1]);
		arg("%d", (int)scores[which][0]);
		snprintf(member, sizeof(member), "m%d", which);
		int64_t how = board_put("single", member, "set", D, scores[which]);
		added += how == LEADERBOARD_MEMBER_PUT_NEW;
		updated += how == LEADERBOARD_MEMBER_PUT_KNOWN;
	}
	assert_int_equal(write_board(), 1);
	assert_int_equal(item_int(&r, LEADERBOARD_MEMBER_WRITE_REMOVED), removed);
	assert_int_equal(item_int(&r, LEADERBOARD_MEMBER_WRITE_ADDED), added);
	assert_int_equal(item_int(&r, LEADERBOARD_MEMBER_WRITE_UPDATED), updated);
	assert_int_equal(item_int(&r, LEADERBOARD_MEMBER_WRITE_DROPPED), 0);
	int64_t size = item_int(&r, LEADERBOARD_MEMBER_WRITE_SIZE);
	assert_int_equal(size, server_command(&r, "ZCARD " B ":ranks")->integer);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

TEST(many_are_as_one_by_one)
{
	seed = 4;
	board_make("b", D);
	board_make("single", D);
	for (int i = 0; i < 300; i++) {
		write_some();
		same_boards();
	}
}

/* A board with a bound keeps the first of its present and new members. */
TEST(a_bound_keeps_the_first)
{
	enum { KEPT = 7 };
	static struct ranked all[2 * MOST];

	seed = 5;
	for (int round = 0; round < 60; round++) {
		script_stage_empty(state);
		board_make("b", 1);
		board_make("single", 1);
		run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("", "7"));
		int64_t size = 0;
		for (int i = 0, named = 0; i < 4; i++) {
			int count = 1 + (int)next_random(12);
			begin_write("d0", "9", 0);
			for (int k = 0; k < count; k++) {
				const int64_t score[] = { next_random(4) };
				char member[16];
				snprintf(member, sizeof(member), "m%d", named++);
				arg("%s", member);
				arg("%d", (int)score[0]);
				board_put("single", member, "set", 1, score);
			}
			assert_int_equal(write_board(), 1);
			assert_int_equal(item_int(&r, LEADERBOARD_MEMBER_WRITE_ADDED), count);
			int64_t dropped = size + count > KEPT ? size + count - KEPT : 0;
			assert_int_equal(item_int(&r, LEADERBOARD_MEMBER_WRITE_DROPPED), dropped);
			size += count - dropped;
			assert_int_equal(item_int(&r, LEADERBOARD_MEMBER_WRITE_SIZE), size);
			board_page("single", 0, KEPT, "desc", 1, all);
			assert_int_equal(board_page("b", 0, KEPT, "desc", 1, found), (int)size);
			assert_memory_equal(found, all, (size_t)size * sizeof(*all));
			assert_int_equal(server_command(&r, "HLEN " B ":places")->integer, size);
		}
	}
}

/* ---- Look-ups ---- */

/*
 * Compares with ZMSCORE, ZREVRANK and ZRANK of a plain sorted set, in which no two scores are
 * equal.
 */
TEST(lookups_equal_redis_own)
{
	const char *zmscore[MOST + 2] = { "ZMSCORE", "z" };
	size_t lengths[MOST + 2] = { 7, 1 };

	seed = 6;
	board_make("b", 1);
	begin_write("d0", "9007199254740991", 0);
	for (int i = 0; i < 100; i++) {
		int64_t score = next_random(1 << 20) * INT64_C(8000000000) + i;
		arg("m%d", i * 2);
		arg("%lld", (long long)score);
		server_command(&r, "ZADD z %lld m%d", (long long)score, i * 2);
	}
	assert_int_equal(write_board(), 1);
	for (int asc = 0; asc < 2; asc++) {
		arg_count = 0;
		arg("%s", asc ? "asc" : "desc");
		for (int i = 0; i < 200; i++) {
			arg("m%d", (i * 7) % 200);
			zmscore[2 + i] = texts[1 + i];
			lengths[2 + i] = strlen(texts[1 + i]);
		}
		redisReply *scores = redisCommandArgv(r.context, 202, zmscore, lengths);
		run(&r, &leaderboard_member_lookup_script, BOARD_KEYS, args);
		assert_int_equal(outcome(&r), 0);
		assert_int_equal(r.reply->elements, LEADERBOARD_MEMBER_LOOKUP_MEMBERS + 200 * BOARD_FOUND_ITEMS);
		struct found_item {
			int64_t position;
			uint64_t head;
		} items[200];
		for (size_t i = 0; i < 200; i++) {
			size_t at = LEADERBOARD_MEMBER_LOOKUP_MEMBERS + i * BOARD_FOUND_ITEMS;
			const redisReply *element = r.reply->element[at + BOARD_FOUND_ELEMENT];
			items[i] = (struct found_item){ item_int(&r, at + BOARD_FOUND_POSITION), 0 };
			for (size_t k = 0; k < 8 && element->len; k++)
				items[i].head = items[i].head << 8 | (unsigned char)element->str[k];
		}
		for (size_t i = 0; i < 200; i++) {
			const redisReply *score = scores->element[i];
			const redisReply *rank =
				server_command(&r, "%s z %s", asc ? "ZRANK" : "ZREVRANK", zmscore[2 + i]);
			if (score->type == REDIS_REPLY_NIL) {
				assert_int_equal(items[i].position, -1);
				continue;
			}
			assert_int_equal(items[i].position, rank->integer);
			assert_true((double)((UINT64_C(1) << 53) - 1 - items[i].head) == strtod(score->str, NULL));
		}
		freeReplyObject(scores);
	}
}

/* ---- By hand ---- */

/* The expiry stays even if a step removes all present members and adds others. */
TEST(all_keys_keep_the_expiry)
{
	run(&r, &leaderboard_put_script, BOARD_KEYS, ARGS("d0", "60000", ""));
	const long long at = server_command(&r, "PEXPIRETIME " B)->integer;
	for (int i = 0; i < 3; i++) {
		begin_write("d0", "5", i > 0);
		if (i > 0)
			arg("m%d", i - 1);
		arg("m%d", i), arg("5");
		assert_int_equal(write_board(), 1);
		assert_int_equal(server_command(&r, "PEXPIRETIME " B)->integer, at);
		assert_int_equal(server_command(&r, "PEXPIRETIME " B ":places")->integer, at);
		assert_int_equal(server_command(&r, "PEXPIRETIME " B ":ranks")->integer, at);
	}
}
