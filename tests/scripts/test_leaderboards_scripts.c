/*
 * The leaderboard scripts on a real Redis: order, ranks, pages and neighbours, compared with a
 * plain list that is sorted each time; and the cost of a large board compared with a small one.
 * (Merges: test_leaderboards_merge_scripts.c.)
 */
#include "board_calls.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define B "p:board:{b}"
#define BOARD_KEYS KEYS(B, B ":places", B ":ranks")

enum { MEMBERS = 60, PAGE_MAX = 1000 };

static struct ranked found[PAGE_MAX];
static const int64_t ONE_MAX = (INT64_C(1) << 53) - 1; /* the largest score of a board with one dimension */

/* The state of a pseudo-random walk that is the same in every run. */
static uint32_t seed;
static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* ---- The model: a list, sorted by scores and then by arrival ---- */

struct entry {
	struct ranked is;
	int arrival; /* 0: not on the board */
};

static struct entry model[MEMBERS];
static int arrivals;
static size_t dimensions;

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	for (size_t i = 0; i < dimensions; i++)
		if (x->is.scores[i] != y->is.scores[i])
			return x->is.scores[i] > y->is.scores[i] ? -1 : 1;
	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

static int compare_ascending(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	for (size_t i = 0; i < dimensions; i++)
		if (x->is.scores[i] != y->is.scores[i])
			return x->is.scores[i] < y->is.scores[i] ? -1 : 1;
	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

/* Copies the model in an order. Returns the number of members. */
static int sorted(const char *order, struct entry out[MEMBERS])
{
	int n = 0;

	for (size_t i = 0; i < MEMBERS; i++)
		if (model[i].arrival)
			out[n++] = model[i];
	qsort(out, (size_t)n, sizeof(*out), strcmp(order, "asc") == 0 ? compare_ascending : compare);
	return n;
}

static void same(const struct entry *wanted, int from, int count, int size)
{
	int there = from >= size ? 0 : from + count > size ? size - from : count;

	assert_int_equal(r.reply->element[BOARD_PAGE_ELEMENTS]->elements, there);
	for (int i = 0; i < there; i++)
		assert_memory_equal(&found[i], &wanted[from + i].is, sizeof(found[i]));
}

static int64_t some_score(void);

/*
 * Compares a page of a range of first scores, its position in the board, and the size of the range.
 */
static void range_is_as_the_model(const struct entry *all, int size, const char *order)
{
	struct entry wanted[MEMBERS];
	const int64_t min = some_score(), max = some_score();
	int n = 0, first = size, from = (int)next_random(4), count = 1 + (int)next_random(20);
	char text[2][24];

	for (int i = 0; i < size; i++) {
		if (all[i].is.scores[0] < min || all[i].is.scores[0] > max)
			continue;
		first = n ? first : i;
		wanted[n++] = all[i];
	}
	snprintf(text[0], sizeof(text[0]), "%lld", (long long)min);
	snprintf(text[1], sizeof(text[1]), "%lld", (long long)max);
	board_range("b", from, count, order, text[0], text[1], dimensions, found);
	same(wanted, from, count, n);
	assert_int_equal(item_int(&r, BOARD_PAGE_NEXT), from + count < n ? from + count : -1);
	if (n > from)
		assert_int_equal(item_int(&r, BOARD_PAGE_POSITION), first + from);
	assert_int_equal(board_count("b", text[0], text[1]), n);
	assert_int_equal(board_count("b", NULL, NULL), size);
}

static void board_is_as_the_model(const char *order)
{
	struct entry all[MEMBERS];
	int size = sorted(order, all), from = (int)next_random(MEMBERS + 5), count = 1 + (int)next_random(20);

	board_page("b", 0, MEMBERS, order, dimensions, found);
	same(all, 0, MEMBERS, size);
	assert_int_equal(item_int(&r, BOARD_PAGE_NEXT), -1);
	board_page("b", from, count, order, dimensions, found);
	same(all, from, count, size);
	assert_int_equal(item_int(&r, BOARD_PAGE_NEXT), from + count < size ? from + count : -1);
	range_is_as_the_model(all, size, order);
	if (size == 0)
		return;
	int at = (int)next_random((uint32_t)size), around = 1 + (int)next_random(12);
	assert_int_equal(board_position("b", all[at].is.member, order), at);
	board_around("b", all[at].is.member, around, order, dimensions, found);
	int first = at - (around - 1) / 2;
	first = first > size - around ? size - around : first;
	first = first < 0 ? 0 : first;
	assert_int_equal(item_int(&r, BOARD_PAGE_POSITION), first);
	same(all, first, around, size);
}

/* One of few scores, so that many are equal. The ends of the allowed range are among them. */
static int64_t some_score(void)
{
	static const int64_t scores[] = { 0, 1, 2, 255, 256, 4294967294, 4294967295, 4294967296, ONE_MAX - 1, ONE_MAX };

	return scores[next_random(COUNT(scores) - (dimensions == 1 ? 0 : 3))];
}

static int kept; /* the board's max_members; 0: no bound */

/* Drops from the model what the board does not keep. Returns the number of members left. */
static int drop(void)
{
	struct entry all[MEMBERS];
	int size = sorted("desc", all);

	for (int i = kept; kept && i < size; i++)
		for (size_t k = 0; k < MEMBERS; k++)
			if (strcmp(model[k].is.member, all[i].is.member) == 0) {
				model[k].arrival = 0;
				memset(model[k].is.scores, 0, sizeof(model[k].is.scores));
			}
	return kept && size > kept ? kept : size;
}

static void is_ranked(const struct entry *e, int64_t outcome, bool was_there)
{
	struct entry all[MEMBERS];
	int size = sorted("desc", all), at = 0;

	while (at < size && strcmp(all[at].is.member, e->is.member) != 0)
		at++;
	assert_int_equal(outcome, was_there    ? LEADERBOARD_MEMBER_PUT_KNOWN
				  : at == size ? LEADERBOARD_MEMBER_PUT_NOT_KEPT
					       : LEADERBOARD_MEMBER_PUT_NEW);
	assert_int_equal(item_int(&r, BOARD_MEMBER_POSITION), at == size ? -1 : at);
}

static void step(void)
{
	struct entry *e = &model[next_random(MEMBERS)];
	int64_t scores[BOARD_DIMENSIONS] = { 0 };
	bool adds = next_random(3) == 0, was_there = e->arrival, is_same = was_there, fits = true;

	if (next_random(kept ? 8 : 4) == 0) {
		run(&r, &leaderboard_member_delete_script, BOARD_KEYS, ARGS(e->is.member));
		assert_int_equal(outcome(&r), e->arrival ? 1 : -2);
		e->arrival = 0;
		memset(e->is.scores, 0, sizeof(e->is.scores));
		return;
	}
	for (size_t i = 0; i < dimensions; i++) {
		scores[i] = adds ? (int64_t)next_random(3) - 1 : some_score();
		int64_t becomes = scores[i] + (adds ? e->is.scores[i] : 0);
		fits = fits && becomes >= 0 && becomes <= (dimensions == 1 ? ONE_MAX : UINT32_MAX);
		is_same = is_same && becomes == e->is.scores[i];
	}
	int64_t outcome = board_put("b", e->is.member, adds ? "add" : "set", dimensions, scores);
	if (!fits) {
		assert_int_equal(outcome, LEADERBOARD_MEMBER_PUT_OUT_OF_RANGE);
		return;
	}
	for (size_t i = 0; i < dimensions; i++)
		e->is.scores[i] = scores[i] + (adds ? e->is.scores[i] : 0);
	if (!is_same)
		e->arrival = ++arrivals;
	drop();
	is_ranked(e, outcome, was_there);
}

static void begin_model(void **state, size_t of)
{
	script_stage_empty(state);
	dimensions = of;
	board_make("b", of);
	seed = (uint32_t)of;
	memset(model, 0, sizeof(model));
	for (int i = 0; i < MEMBERS; i++)
		snprintf(model[i].is.member, sizeof(model[i].is.member), "%c%d", "zam"[i % 3], i);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

TEST(boards_follow_their_model)
{
	kept = 0;
	for (size_t of = 1; of <= BOARD_DIMENSIONS; of++) {
		begin_model(state, of);
		for (int i = 0; i < 400; i++) {
			step();
			board_is_as_the_model("desc");
			board_is_as_the_model("asc");
		}
	}
}

/* Does the same with a bound that changes. Many scores are equal at the bound. */
TEST(bounded_boards_follow_their_model)
{
	char text[24];

	for (size_t of = 1; of <= BOARD_DIMENSIONS; of++) {
		begin_model(state, of);
		for (int i = 0; i < 600; i++) {
			if (i % 50 == 0) {
				kept = (int)next_random(12) * 2;
				snprintf(text, sizeof(text), "%d", kept);
				run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("", kept ? text : "null"));
				assert_int_equal(outcome(&r), 1);
				assert_int_equal(item_int(&r, LEADERBOARD_MAX_MEMBERS), kept ? kept : -1);
				assert_int_equal(item_int(&r, LEADERBOARD_SIZE), drop());
			}
			step();
			board_is_as_the_model(i % 2 ? "desc" : "asc");
			assert_int_equal(server_command(&r, "HLEN " B ":places")->integer,
					 server_command(&r, "ZCARD " B ":ranks")->integer);
		}
	}
	kept = 0;
}

/* ---- Against Redis's own commands ---- */

/*
 * Both lists must have the same members in order. If `turned_at` is not 0, a member's number in
 * Redis is `turned_at` minus its number on the board.
 */
static void same_as_redis(const redisReply *wanted, int n, int turned_at)
{
	assert_int_equal(n, (int)wanted->elements);
	for (int i = 0; i < n; i++) {
		int number = atoi(wanted->element[i]->str + 1);
		assert_int_equal(atoi(found[i].member + 1), turned_at ? turned_at - number : number);
	}
}

/*
 * ZRANGEBYSCORE and ZREVRANGEBYSCORE with LIMIT, and ZCOUNT, of plain sorted sets. Redis orders
 * equals by name: names that rise with arrival for the one, and names that fall for the other.
 */
TEST(ranges_equal_redis_own)
{
	enum { MANY = 300 };

	dimensions = 1;
	seed = 3;
	board_make("b", 1);
	for (int i = 0; i < MANY; i++) {
		const int64_t score[] = { next_random(2) ? next_random(20) : some_score() };
		char member[16];
		snprintf(member, sizeof(member), "m%03d", i);
		board_put("b", member, "set", 1, score);
		server_command(&r, "ZADD z:asc %lld m%03d", (long long)score[0], i);
		server_command(&r, "ZADD z:desc %lld m%03d", (long long)score[0], MANY - i);
	}
	for (int i = 0; i < 400; i++) {
		char bound[2][24];
		int from = (int)next_random(10), count = 1 + (int)next_random(MANY);
		snprintf(bound[0], sizeof(bound[0]), "%lld", (long long)(i % 2 ? next_random(20) : some_score()));
		snprintf(bound[1], sizeof(bound[1]), "%lld", (long long)(i % 3 ? next_random(25) : some_score()));
		const char *min = i % 7 ? bound[0] : NULL, *max = i % 5 ? bound[1] : NULL;
		int n = board_range("b", from, count, "asc", min, max, 1, found);
		same_as_redis(server_command(&r, "ZRANGEBYSCORE z:asc %s %s LIMIT %d %d", min ? min : "-inf",
					     max ? max : "+inf", from, count),
			      n, 0);
		n = board_range("b", from, count, "desc", min, max, 1, found);
		same_as_redis(server_command(&r, "ZREVRANGEBYSCORE z:desc %s %s LIMIT %d %d", max ? max : "+inf",
					     min ? min : "-inf", from, count),
			      n, MANY);
		int64_t counted = board_count("b", min, max);
		assert_int_equal(
			counted,
			server_command(&r, "ZCOUNT z:asc %s %s", min ? min : "-inf", max ? max : "+inf")->integer);
	}
}

/* ---- By hand ---- */

/* As when two changes have the same microsecond, or the clock was set back. */
TEST(arrivals_rise_with_any_clock)
{
	static const int64_t five[] = { 5 };

	board_make("b", 1);
	server_command(&r, "HSET " B " last 4000000000000000");
	board_put("b", "z", "set", 1, five);
	board_put("b", "a", "set", 1, five);
	assert_int_equal(board_position("b", "z", "desc"), 0);
	assert_string_equal(server_command(&r, "HGET " B " last")->str, "4000000000000002");
}

/* All existing keys expire together, in at most `most` ms. -1: they do not expire. */
static void assert_expiry(int keys, int most)
{
	static const char *const names[] = { B, B ":places", B ":ranks" };
	const long long at = server_command(&r, "PEXPIRETIME " B)->integer;

	assert_true(most < 0 ? at == -1 : at > server_now_ms(&r) && at <= server_now_ms(&r) + most);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(redis_exists(&r, names[i]), (int)i < keys);
		if ((int)i < keys)
			assert_int_equal(server_command(&r, "PEXPIRETIME %s", names[i])->integer, at);
	}
	run(&r, &leaderboard_get_script, BOARD_KEYS, ARGS());
	assert_int_equal(item_int(&r, LEADERBOARD_EXPIRES_AT_MS), at);
}

TEST(all_keys_of_a_board_expire_together)
{
	static const int64_t one[] = { 1 }, two[] = { 2 };

	run(&r, &leaderboard_put_script, BOARD_KEYS, ARGS("d0", "60000", ""));
	assert_expiry(1, 60000);
	board_put("b", "m", "set", 1, one); /* makes the other keys */
	assert_expiry(3, 60000);
	board_put("b", "m", "add", 1, two); /* the ranks lose their only element, then get another */
	assert_expiry(3, 60000);
	run(&r, &leaderboard_member_delete_script, BOARD_KEYS, ARGS("m"));
	board_put("b", "m", "set", 1, one);
	board_put("b", "n", "set", 1, one);
	assert_expiry(3, 60000);
	run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("", ""));
	assert_expiry(3, 60000);
	run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("null", ""));
	assert_expiry(3, -1);
	run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("90", ""));
	assert_expiry(3, 90);
	wait_until(server_keys(&r) == 0, 5000);
	unchanged(&r, run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("90", "")));
	run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("90", ""));
	assert_int_equal(outcome(&r), -1);
}

/* A large board disappears at once, and its members are freed in the background. */
TEST(a_large_board_is_deleted_in_no_time)
{
	enum { MANY = 100000 };

	board_fill("b", MANY, 1);
	server_command(&r, "CONFIG RESETSTAT");
	run(&r, &leaderboard_delete_script, BOARD_KEYS, ARGS());
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(server_keys(&r), 0);
	assert_non_null(strstr(server_command(&r, "INFO commandstats")->str, "cmdstat_unlink:calls=1,"));
	assert_null(strstr(server_command(&r, "INFO commandstats")->str, "cmdstat_del:"));
	run(&r, &leaderboard_delete_script, BOARD_KEYS, ARGS());
	assert_int_equal(outcome(&r), -1);
}

/* A smaller bound drops members in bounded steps. The last step changes the settings. */
TEST(a_bound_comes_in_steps)
{
	enum { MANY = 1300 };

	for (int puts = 0; puts < 2; puts++) {
		script_stage_empty(state);
		board_fill("b", MANY, 1);
		for (int left = MANY; left > 500 + 7; left -= 500) {
			if (puts)
				run(&r, &leaderboard_put_script, BOARD_KEYS, ARGS("d0\nd1\nd2", "60000", "7"));
			else
				run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("60000", "7"));
			assert_int_equal(outcome(&r), puts ? LEADERBOARD_PUT_DROPPING : LEADERBOARD_PATCH_DROPPING);
			assert_int_equal(server_command(&r, "ZCARD " B ":ranks")->integer, left - 500);
			assert_int_equal(server_command(&r, "HLEN " B ":places")->integer, left - 500);
			assert_int_equal(redis_pttl_ms(&r, B), -1);
			run(&r, &leaderboard_get_script, BOARD_KEYS, ARGS());
			assert_int_equal(item_int(&r, LEADERBOARD_MAX_MEMBERS), -1);
		}
		if (puts)
			run(&r, &leaderboard_put_script, BOARD_KEYS, ARGS("d0\nd1\nd2", "60000", "7"));
		else
			run(&r, &leaderboard_patch_script, BOARD_KEYS, ARGS("60000", "7"));
		assert_int_equal(outcome(&r), 1);
		assert_int_equal(item_int(&r, LEADERBOARD_SIZE), 7);
		assert_int_equal(item_int(&r, LEADERBOARD_MAX_MEMBERS), 7);
		assert_expiry(3, 60000);
	}
	/* Another program added to the ranks: each write drops a part of the excess. */
	server_command(&r, "EVAL %s 1 " B ":ranks", "for i = 1, 600 do redis.call('ZADD', KEYS[1], 0, '~' .. i) end");
	assert_int_equal(board_put("b", "n", "set", 3, (const int64_t[]){ UINT32_MAX, 1, 1 }), 2);
	assert_int_equal(server_command(&r, "ZCARD " B ":ranks")->integer, 108);
}

/* Invalid places and settings are refused, and not read as scores. */
TEST(foreign_bytes_are_not_a_place)
{
	static const char bits[] = "\x00\x20\0\0\0\0\0\0\0\x05\0\0\0\0\0\0",
			  arrival[] = "\0\0\0\0\0\0\0\x05\xff\0\0\0\0\0\0\0";
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = { { "", 0 }, { "short", 5 }, { bits, 15 }, { bits, 16 }, { arrival, 16 } };
	static const char *const lasts[] = { "x", "nan", "-1", "1e300", "9007199254740991", "inf" };
	static const char *const bounds[] = { "", "x", "nan", "0", "-1", "0.5", "1e300", "inf" };

	board_make("b", 1);
	for (size_t i = 0; i < COUNT(rows); i++) {
		server_command(&r, "HSET " B ":places m %b", rows[i].bytes, rows[i].len);
		unchanged(&r, run_fails(&r, &leaderboard_member_put_script, BOARD_KEYS, ARGS("m", "add", "d0", "1"),
					"WRONGTYPE"));
		unchanged(&r, run_fails(&r, &leaderboard_member_get_script, BOARD_KEYS, ARGS("m", "asc"), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &leaderboard_member_delete_script, BOARD_KEYS, ARGS("m"), "WRONGTYPE"));
	}
	server_command(&r, "DEL " B ":places");
	for (size_t i = 0; i < COUNT(lasts); i++) {
		server_command(&r, "HSET " B " last %s", lasts[i]);
		unchanged(&r, run_fails(&r, &leaderboard_member_put_script, BOARD_KEYS, ARGS("m", "add", "d0", "1"),
					"WRONGTYPE"));
	}
	server_command(&r, "HDEL " B " last");
	for (size_t i = 0; i < COUNT(bounds); i++) {
		server_command(&r, "HSET " B " max_members %s", bounds[i]);
		unchanged(&r, run_fails(&r, &leaderboard_get_script, BOARD_KEYS, ARGS(), "WRONGTYPE"));
		unchanged(&r, run_fails(&r, &leaderboard_member_put_script, BOARD_KEYS, ARGS("m", "add", "d0", "1"),
					"WRONGTYPE"));
	}
}

/* ---- What it costs ---- */

enum { SMALL = 1000, LARGE = 100000, CALLS = 200 };

static double microseconds_a_call(void)
{
	const char *stats = server_command(&r, "INFO commandstats")->str;
	const char *of = strstr(stats, "cmdstat_evalsha:"), *at = of ? strstr(of, "usec_per_call=") : NULL;

	assert_non_null(at);
	return strtod(at + strlen("usec_per_call="), NULL);
}

/* Measures rank, page and neighbours of random members in both orders, in microseconds per call. */
static void cost(const char *board, uint32_t members, double out[3])
{
	for (int kind = 0; kind < 3; kind++) {
		server_command(&r, "CONFIG RESETSTAT");
		for (int i = 0; i < CALLS; i++) {
			char member[16];
			const char *order = i % 2 ? "asc" : "desc";
			uint32_t at = next_random(members - 10);
			snprintf(member, sizeof(member), "m%u", at);
			if (kind == 0)
				assert_true(board_position(board, member, order) >= 0);
			else if (kind == 1)
				assert_int_equal(board_page(board, at, 10, order, 3, found), 10);
			else
				assert_int_equal(board_around(board, member, 11, order, 3, found), 11);
		}
		out[kind] = microseconds_a_call();
	}
}

/*
 * With a hundred times the members, a call may cost a logarithm more and cache misses: at most five
 * times as much.
 */
TEST(a_large_board_costs_hardly_more)
{
	static const char *const kinds[] = { "rank", "page", "around" };
	double small[3], large[3];

	seed = 1;
	board_fill("small", SMALL, 1);
	board_fill("large", LARGE, 1);
	cost("small", SMALL, small); /* the first call for each board fills the caches */
	cost("small", SMALL, small);
	cost("large", LARGE, large);
	for (int kind = 0; kind < 3; kind++) {
		print_message("%s: %.1f us of %d members, %.1f us of %d\n", kinds[kind], small[kind], SMALL,
			      large[kind], LARGE);
		if (large[kind] > 5 * small[kind])
			fail_msg("%s: %.1f us, and %.1f us on a board of %d", kinds[kind], large[kind], small[kind],
				 SMALL);
	}
}
