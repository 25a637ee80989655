#include "board_calls.h"

#include "run_script.h"
#include "script_stage.h"
#include "test.h"

enum { ARRIVAL = 8, DIGITS = 24 };

const char *board_key(const char *board, const char *part)
{
	static char keys[8][96];
	static unsigned next;
	char *key = keys[next++ % 8];

	snprintf(key, sizeof(keys[0]), "p:board:{%s}%s", board, part);
	return key;
}

const char *board_lines(size_t dimensions)
{
	static const char lines[] = "d0\nd1\nd2\nd3";
	static char some[BOARD_DIMENSIONS + 1][sizeof(lines)];

	snprintf(some[dimensions], sizeof(lines), "%.*s", (int)(3 * dimensions - 1), lines);
	return some[dimensions];
}

#define BOARD_KEYS(board) KEYS(board_key(board, ""), board_key(board, ":places"), board_key(board, ":ranks"))

void board_make(const char *board, size_t dimensions)
{
	run(&r, &leaderboard_put_script, BOARD_KEYS(board), ARGS(board_lines(dimensions), "null", ""));
	assert_int_equal(outcome(&r), LEADERBOARD_PUT_CREATED);
}

int64_t board_put(const char *board, const char *member, const char *how, size_t dimensions, const int64_t *scores)
{
	static const char *const names[] = { "d0", "d1", "d2", "d3" };
	const char *args[2 + 2 * BOARD_DIMENSIONS + 1] = { member, how };
	char text[BOARD_DIMENSIONS][DIGITS];

	for (size_t i = 0; i < dimensions; i++) {
		snprintf(text[i], DIGITS, "%lld", (long long)scores[i]);
		args[2 + 2 * i] = names[i];
		args[3 + 2 * i] = text[i];
	}
	run(&r, &leaderboard_member_put_script, BOARD_KEYS(board), args);
	return outcome(&r);
}

static void take_apart(const redisReply *element, size_t dimensions, struct ranked *out)
{
	const unsigned char *b = (const unsigned char *)element->str;
	const size_t bytes = dimensions == 1 ? 8 : 4, head = dimensions * bytes + ARRIVAL;
	const int64_t most = dimensions == 1 ? (INT64_C(1) << 53) - 1 : UINT32_MAX;

	assert_int_equal(element->type, REDIS_REPLY_STRING);
	assert_in_range(element->len, head + 1, head + BOARD_NAME - 1);
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < dimensions; i++) {
		int64_t behind = 0;
		for (size_t k = 0; k < bytes; k++)
			behind = behind << 8 | *b++;
		out->scores[i] = most - behind;
	}
	memcpy(out->member, element->str + head, element->len - head);
}

static int read_page(size_t dimensions, struct ranked *found)
{
	if (outcome(&r) < 0)
		return (int)outcome(&r);
	const redisReply *elements = r.reply->element[BOARD_PAGE_ELEMENTS];
	for (size_t i = 0; i < elements->elements; i++)
		take_apart(elements->element[i], dimensions, &found[i]);
	return (int)elements->elements;
}

int board_range(const char *board, int64_t from, int64_t count, const char *order, const char *min, const char *max,
		size_t dimensions, struct ranked *found)
{
	char text[2][DIGITS];

	snprintf(text[0], DIGITS, "%lld", (long long)from);
	snprintf(text[1], DIGITS, "%lld", (long long)count);
	run(&r, &leaderboard_member_list_script, KEYS(board_key(board, ""), board_key(board, ":ranks")),
	    ARGS(text[0], text[1], order, min ? min : "", max ? max : ""));
	return read_page(dimensions, found);
}

int board_page(const char *board, int64_t from, int64_t count, const char *order, size_t dimensions,
	       struct ranked *found)
{
	return board_range(board, from, count, order, NULL, NULL, dimensions, found);
}

int64_t board_count(const char *board, const char *min, const char *max)
{
	run(&r, &leaderboard_member_count_script, KEYS(board_key(board, ""), board_key(board, ":ranks")),
	    ARGS(min ? min : "", max ? max : ""));
	return outcome(&r) < 0 ? outcome(&r) : item_int(&r, LEADERBOARD_MEMBER_COUNT_COUNT);
}

int board_around(const char *board, const char *member, int64_t count, const char *order, size_t dimensions,
		 struct ranked *found)
{
	char text[DIGITS];

	snprintf(text, DIGITS, "%lld", (long long)count);
	run(&r, &leaderboard_neighbor_list_script, BOARD_KEYS(board), ARGS(member, text, order));
	return read_page(dimensions, found);
}

int64_t board_position(const char *board, const char *member, const char *order)
{
	run(&r, &leaderboard_member_get_script, BOARD_KEYS(board), ARGS(member, order));
	return outcome(&r) < 0 ? outcome(&r) : item_int(&r, BOARD_MEMBER_POSITION);
}

void board_fill(const char *board, size_t members, unsigned seed)
{
	static const char source[] =
		"math.randomseed(ARGV[3]) local hash, set = {}, {} "
		"for i = tonumber(ARGV[1]), ARGV[2] - 1 do "
		"  local name = 'm' .. string.format('%d', i) "
		"  local place = struct.pack('>I4I4I4I4I4', 4294967295 - math.random(0, 99), 4294967295 - math.random(0, 9), "
		"    4294967295 - math.random(0, 1000000), 417000, i) "
		"  hash[#hash + 1] = name hash[#hash + 1] = place set[#set + 1] = 0 set[#set + 1] = place .. name "
		"end "
		"redis.call('HSET', KEYS[1], unpack(hash)) redis.call('ZADD', KEYS[2], unpack(set)) return 0";
	enum { CHUNK = 1000 };

	board_make(board, 3);
	for (size_t i = 0; i < members; i += CHUNK)
		server_command(&r, "EVAL %s 2 %s %s %d %d %d", source, board_key(board, ":places"),
			       board_key(board, ":ranks"), (int)i, (int)(i + CHUNK < members ? i + CHUNK : members),
			       (int)(seed + i));
}
