/*
 * The scripts that merge leaderboards on a real Redis, called in turn as the handler calls them.
 * Results are compared with a plain model. Boards take many steps, and keys are lost or change
 * between steps.
 */
#include "board_calls.h"
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define B "p:board:{week}"
#define PLACES B ":merge:x:places"
#define RANKS B ":merge:x:ranks"

enum { SOURCES = 3, MEMBERS = 400, FOUND_MAX = 1000, PAGE_MAX = 1200, D = 2 };

static struct ranked found[FOUND_MAX];
static size_t dimensions = D; /* the dimensions of the boards that are merged */
static bool intersects;       /* whether they are intersected */
static const char *const sources[SOURCES] = { "mon", "tue", "wed" };

static uint32_t seed;
static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

static const char *number(char out[24], int64_t n)
{
	snprintf(out, 24, "%lld", (long long)n);
	return out;
}

/* ---- The steps ---- */

struct building {
	char cursor[24];
	int64_t built, ranked;
};

/* Runs leaderboard_merge_put with members and places as they are in Redis, which are bytes. */
static void put(const char *const args[], const redisReply *members)
{
	const char *words[PAGE_MAX] = { "EVAL", leaderboard_merge_put_script.text->source.at, "1", PLACES };
	size_t sizes[PAGE_MAX], n = 4;
	char *bytes = NULL;

	for (; *args; args++)
		words[n++] = *args;
	for (size_t i = 0; i < n; i++)
		sizes[i] = strlen(words[i]);
	assert_true(n + members->elements < PAGE_MAX);
	for (size_t i = 0; i < members->elements; i++) {
		sizes[n] = members->element[i]->len;
		words[n++] = members->element[i]->str;
	}
	sizes[n] = strlen(leaderboard_merge_put_script.name);
	words[n++] = leaderboard_merge_put_script.name;
	long long len = redisFormatCommandArgv(&bytes, (int)n, words, sizes);
	r.reply = server_send(&r, bytes, (size_t)len);
	redisFreeCommand(bytes);
	assert_int_equal(r.reply->type, REDIS_REPLY_ARRAY);
}

/* Adds a page of a board, source `nth` from 1. Returns the outcome. */
static int64_t add_page(struct building *b, const char *board, int nth, int64_t weight, const char *aggregate)
{
	char text[3][24];

	run(&r, &leaderboard_merge_page_script, KEYS(board_key(board, ""), board_key(board, ":places")),
	    ARGS(b->cursor, number(text[0], nth), board_lines(dimensions)));
	if (outcome(&r) < 0)
		return outcome(&r);
	snprintf(b->cursor, sizeof(b->cursor), "%s", item_text(&r, LEADERBOARD_MERGE_PAGE_NEXT_CURSOR));
	redisReply *page = r.reply;
	r.reply = NULL;
	put(ARGS(text[0], number(text[1], weight), aggregate, board_lines(dimensions), number(text[2], b->built),
		 intersects ? "intersection" : "union"),
	    page->element[LEADERBOARD_MERGE_PAGE_FOUND]);
	freeReplyObject(page);
	if (outcome(&r) < 0)
		return outcome(&r);
	b->built = item_int(&r, LEADERBOARD_MERGE_PUT_MEMBERS);
	if (b->built)
		assert_in_range(redis_pttl_ms(&r, PLACES), 1, 60000);
	return 0;
}

static int64_t add(struct building *b, int source, int64_t weight, const char *aggregate)
{
	return add_page(b, sources[source], source + 1, weight, aggregate);
}

static void add_all(struct building *b, int source, int64_t weight, const char *aggregate)
{
	snprintf(b->cursor, sizeof(b->cursor), "0");
	do
		assert_int_equal(add(b, source, weight, aggregate), 0);
	while (strcmp(b->cursor, "0") != 0);
}

static int64_t rank(struct building *b)
{
	char text[2][24];

	run(&r, &leaderboard_merge_rank_script, KEYS(PLACES, RANKS),
	    ARGS(board_lines(dimensions), intersects ? "3" : "", b->cursor, number(text[0], b->ranked),
		 number(text[1], b->built)));
	if (outcome(&r) < LEADERBOARD_MERGE_RANK_UNFINISHED)
		return outcome(&r);
	bool is_last = outcome(&r) != LEADERBOARD_MERGE_RANK_UNFINISHED;
	snprintf(b->cursor, sizeof(b->cursor), "%s", is_last ? "0" : item_text(&r, LEADERBOARD_MERGE_RANK_NEXT_CURSOR));
	b->built = item_int(&r, is_last ? LEADERBOARD_MERGE_RANK_BUILT : LEADERBOARD_MERGE_RANK_MEMBERS);
	b->ranked = server_command(&r, "ZCARD " RANKS)->integer;
	assert_in_range(b->built, b->ranked, INT64_MAX);
	assert_int_equal(redis_exists(&r, PLACES), b->built > 0);
	if (b->ranked)
		assert_in_range(redis_pttl_ms(&r, RANKS), 1, 60000);
	return 0;
}

static void rank_all(struct building *b)
{
	snprintf(b->cursor, sizeof(b->cursor), "0");
	do
		assert_int_equal(rank(b), 0);
	while (strcmp(b->cursor, "0") != 0);
}

static int64_t end(const struct building *b)
{
	char text[24];

	run(&r, &leaderboard_merge_end_script, KEYS(B, B ":places", B ":ranks", PLACES, RANKS),
	    ARGS(board_lines(dimensions), number(text, b->built)));
	return outcome(&r);
}

/* ---- The model ---- */

struct entry {
	struct ranked is;
	bool there;
	int arrival;
};

static struct entry source_model[SOURCES][MEMBERS];

static void fill_sources(void)
{
	int arrival = 0;

	for (int s = 0; s < SOURCES; s++)
		board_make(sources[s], D);
	memset(source_model, 0, sizeof(source_model));
	for (int i = 0; i < SOURCES * MEMBERS; i++) {
		int s = (int)next_random(SOURCES);
		struct entry *e = &source_model[s][next_random(MEMBERS)];
		int64_t scores[D] = { next_random(3), next_random(4) };
		snprintf(e->is.member, sizeof(e->is.member), "m%d", (int)(e - source_model[s]));
		if (e->there && e->is.scores[0] == scores[0] && e->is.scores[1] == scores[1])
			continue;
		board_put(sources[s], e->is.member, "set", D, scores);
		e->there = true;
		e->arrival = ++arrival;
		for (int d = 0; d < D; d++)
			e->is.scores[d] = scores[d];
	}
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	for (int d = 0; d < D; d++)
		if (x->is.scores[d] != y->is.scores[d])
			return x->is.scores[d] > y->is.scores[d] ? -1 : 1;
	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

static int merged(const int64_t weights[SOURCES], const char *aggregate, struct entry out[MEMBERS])
{
	int n = 0;

	for (int i = 0; i < MEMBERS; i++) {
		struct entry sum = { 0 };
		int sources_met = 0;
		for (int s = 0; s < SOURCES; s++) {
			const struct entry *e = &source_model[s][i];
			if (!e->there)
				continue;
			for (int d = 0; d < D; d++) {
				int64_t score = e->is.scores[d] * weights[s], *had = &sum.is.scores[d];
				if (!sum.there)
					*had = score;
				else if (strcmp(aggregate, "sum") == 0)
					*had += score;
				else if ((score > *had) == (strcmp(aggregate, "max") == 0))
					*had = score;
			}
			memcpy(sum.is.member, e->is.member, sizeof(sum.is.member));
			sum.arrival = e->arrival > sum.arrival ? e->arrival : sum.arrival;
			sum.there = true;
			sources_met++;
		}
		if (sum.there && (!intersects || sources_met == SOURCES))
			out[n++] = sum;
	}
	qsort(out, (size_t)n, sizeof(*out), compare);
	return n;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

TEST(merges_follow_their_model)
{
	static const struct {
		const char *aggregate;
		int64_t weights[SOURCES];
	} rows[] = { { "sum", { 1, 1, 1 } }, { "sum", { 3, 0, 1 } }, { "min", { 1, 2, 1 } }, { "max", { 1, 1, 2 } } };
	enum { ROWS = COUNT(rows) };
	struct entry wanted[MEMBERS];

	seed = 7;
	fill_sources();
	for (size_t i = 0; i < 2 * ROWS; i++) {
		struct building b = { .cursor = "0" };
		size_t row = i % ROWS;
		intersects = i >= ROWS;
		for (int s = 0; s < SOURCES; s++)
			add_all(&b, s, rows[row].weights[s], rows[row].aggregate);
		rank_all(&b);
		assert_int_equal(end(&b), 1);
		int n = merged(rows[row].weights, rows[row].aggregate, wanted);
		assert_int_equal(item_int(&r, LEADERBOARD_SIZE), n);
		assert_int_equal(board_page("week", 0, FOUND_MAX, "desc", D, found), n);
		for (int k = 0; k < n; k++)
			assert_memory_equal(&found[k], &wanted[k].is, sizeof(found[k]));
		assert_int_equal(redis_exists(&r, PLACES) + redis_exists(&r, RANKS), 0);
		assert_int_equal(redis_pttl_ms(&r, B ":places"), -1);
		assert_int_equal(redis_pttl_ms(&r, B ":ranks"), -1);
		assert_in_range(n, 2, intersects ? MEMBERS / 2 : MEMBERS);
	}
	intersects = false;
	/*
	 * A merged board is like any other: its members move and are removed, and it can be a
	 * source.
	 */
	assert_int_equal(board_put("week", found[0].member, "set", D, (const int64_t[]){ 0, 0 }), 1);
	run(&r, &leaderboard_member_delete_script, KEYS(B, B ":places", B ":ranks"), ARGS(found[1].member));
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(server_command(&r, "ZCARD " B ":ranks")->integer,
			 server_command(&r, "HLEN " B ":places")->integer);
	assert_true(board_position("week", found[0].member, "desc") > 0);
}

/* HSCAN may return a member twice while its hash grows or shrinks. */
TEST(what_is_returned_twice_counts_once)
{
	struct building b = { .cursor = "0" };
	int64_t size;

	seed = 8;
	fill_sources();
	size = server_command(&r, "HLEN %s", board_key("mon", ":places"))->integer;
	add_all(&b, 0, 1, "sum");
	add_all(&b, 0, 1, "sum"); /* adds the whole source a second time */
	assert_int_equal(b.built, size);
	rank_all(&b);
	rank_all(&b);
	assert_int_equal(end(&b), 1);
	int n = board_page("mon", 0, FOUND_MAX, "desc", D, found);
	struct ranked mon[FOUND_MAX];
	memcpy(mon, found, sizeof(mon));
	assert_int_equal(board_page("week", 0, FOUND_MAX, "desc", D, found), n);
	assert_memory_equal(found, mon, sizeof(mon));
}

TEST(a_step_takes_few_members)
{
	struct building b = { .cursor = "0" };

	dimensions = 3;
	board_fill("large", 20000, 1);
	server_command(&r, "HSET %s dimensions %s", board_key("large", ""), board_lines(3));
	for (int steps = 0; steps < 20; steps++) {
		int64_t before = b.built;
		assert_int_equal(add_page(&b, "large", 1, 1, "sum"), 0);
		assert_in_range(b.built - before, 1, 200);
	}
	dimensions = D;
}

/* ---- Overflow, and lost keys ---- */

static void make_sources(size_t count)
{
	for (int s = 0; s < SOURCES; s++)
		board_make(sources[s], count);
}

TEST(what_changes_on_the_way_is_refused)
{
	static const int64_t one[] = { 1, 1 };
	struct building b = { .cursor = "0" };

	make_sources(D);
	board_put("mon", "m", "set", D, one);
	add_all(&b, 0, 1, "sum");
	server_command(&r, "DEL %s", board_key("tue", ""));
	assert_int_equal(add(&b, 1, 1, "sum"), LEADERBOARD_MERGE_PAGE_NO_SOURCE);
	server_command(&r, "DEL " PLACES);
	b = (struct building){ .cursor = "0" };
	add_all(&b, 0, 1, "sum");
	board_make("tue", 1);
	assert_int_equal(add(&b, 1, 1, "sum"), LEADERBOARD_MERGE_PAGE_DIFFERS);
	server_command(&r, "DEL " PLACES);
	b = (struct building){ .cursor = "0" };
	add_all(&b, 0, 1, "sum");
	rank_all(&b);
	board_make("week", 1);
	board_put("week", "m", "set", 1, one);
	unchanged(&r, end(&b));
	assert_int_equal(end(&b), LEADERBOARD_MERGE_END_DIFFERS);
}

TEST(what_was_lost_is_noticed)
{
	static const int64_t one[] = { 1, 1 };
	struct building b = { .cursor = "0" };

	make_sources(D);
	board_put("mon", "m", "set", D, one);
	board_put("week", "old", "set", D, one);
	add_all(&b, 0, 1, "sum");
	server_command(&r, "DEL " PLACES);
	assert_int_equal(add(&b, 1, 1, "sum"), LEADERBOARD_MERGE_PUT_LOST);
	assert_int_equal(rank(&b), LEADERBOARD_MERGE_RANK_LOST);
	assert_int_equal(end(&b), LEADERBOARD_MERGE_END_LOST);
	b = (struct building){ .cursor = "0" };
	add_all(&b, 0, 1, "sum");
	rank_all(&b);
	server_command(&r, "DEL " RANKS);
	unchanged(&r, end(&b));
	assert_int_equal(end(&b), LEADERBOARD_MERGE_END_LOST);
}

/* A minimum is too large only if the score is too large in all sources. */
TEST(a_minimum_fits_if_one_score_does)
{
	static const int64_t most[] = { 4294967295, 4294967295 }, half[] = { 1, 4294967295 };
	static const struct {
		int first;
		int64_t weights[2], scores[2]; /* scores[1] is 0: too large */
	} rows[] = { { 0, { 2, 1 }, { 1, 4294967295 } },
		     { 1, { 2, 1 }, { 2, 4294967295 } },
		     { 0, { 3, 2 }, { 2, 0 } },
		     { 1, { 3, 2 }, { 3, 0 } } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		server_command(&r, "FLUSHALL");
		board_make("mon", D);
		board_make("tue", D);
		board_put("mon", "m", "set", D, most);
		board_put("tue", "m", "set", D, half);
		struct building b = { .cursor = "0" };
		add_all(&b, rows[i].first, rows[i].weights[0], "min");
		add_all(&b, 1 - rows[i].first, rows[i].weights[1], "min");
		snprintf(b.cursor, sizeof(b.cursor), "0");
		if (!rows[i].scores[1]) {
			assert_int_equal(rank(&b), LEADERBOARD_MERGE_RANK_TOO_LARGE);
			assert_string_equal(item_text(&r, LEADERBOARD_MERGE_RANK_DIMENSION), "d1");
			continue;
		}
		rank_all(&b);
		assert_int_equal(end(&b), 1);
		board_page("week", 0, 1, "desc", D, found);
		assert_memory_equal(found[0].scores, rows[i].scores, sizeof(rows[i].scores));
	}
}

/* A score that would be too large causes no refusal if its member is not in the intersection. */
TEST(only_members_of_the_intersection_can_be_too_large)
{
	static const int64_t most[] = { 1, 4294967295 }, one[] = { 1, 1 };
	struct building b = { .cursor = "0" };

	intersects = true;
	make_sources(D);
	for (int s = 0; s < SOURCES; s++) {
		board_put(sources[s], "all", "set", D, one);
		if (s < 2)
			board_put(sources[s], "two", "set", D, most);
	}
	for (int s = 0; s < SOURCES; s++)
		add_all(&b, s, 1, "sum");
	rank_all(&b);
	assert_int_equal(end(&b), 1);
	assert_int_equal(board_page("week", 0, 10, "desc", D, found), 1);
	assert_string_equal(found[0].member, "all");
	assert_int_equal(found[0].scores[1], 3);
	intersects = false;
}

/* ZUNIONSTORE and ZINTERSTORE of plain sorted sets give the same members and scores. */
TEST(merges_equal_redis_own)
{
	static const char *const aggregates[] = { "sum", "min", "max" };
	static const int64_t weights[SOURCES] = { 2, 0, 3 };

	dimensions = 1;
	seed = 9;
	make_sources(1);
	for (int i = 0; i < SOURCES * MEMBERS; i++) {
		const int64_t score[] = { next_random(1000000000) * INT64_C(1000000) };
		int s = (int)next_random(SOURCES);
		char member[16];
		snprintf(member, sizeof(member), "m%u", next_random(MEMBERS));
		board_put(sources[s], member, "set", 1, score);
		server_command(&r, "ZADD z:%s %lld %s", sources[s], (long long)score[0], member);
	}
	for (int i = 0; i < 12; i++) {
		struct building b = { .cursor = "0" };
		intersects = i >= 6;
		const int64_t *w = i % 2 ? weights : (const int64_t[]){ 1, 1, 1 };
		for (int s = 0; s < SOURCES; s++)
			add_all(&b, s, w[s], aggregates[i / 2 % 3]);
		rank_all(&b);
		assert_int_equal(end(&b), 1);
		server_command(&r, "%s z:week 3 z:mon z:tue z:wed WEIGHTS %d %d %d AGGREGATE %s",
			       intersects ? "ZINTERSTORE" : "ZUNIONSTORE", (int)w[0], (int)w[1], (int)w[2],
			       aggregates[i / 2 % 3]);
		int n = board_page("week", 0, FOUND_MAX, "desc", 1, found);
		assert_int_equal(n, server_command(&r, "ZCARD z:week")->integer);
		assert_in_range(n, 10, MEMBERS);
		for (int k = 0; k < n; k++) {
			const redisReply *score = server_command(&r, "ZMSCORE z:week %s", found[k].member);
			assert_true((double)found[k].scores[0] == strtod(score->element[0]->str, NULL));
		}
	}
	intersects = false;
	dimensions = D;
}

/*
 * A board with a bound keeps the first members of the merge. The others are dropped in bounded
 * steps.
 */
TEST(a_merge_keeps_as_many_as_its_board)
{
	enum { MANY = 1200, KEPT = 10 };
	struct building b = { .cursor = "0" };
	struct ranked first[KEPT];
	int steps = 0;

	dimensions = 3;
	board_fill("mon", MANY, 1);
	run(&r, &leaderboard_put_script, KEYS(B, B ":places", B ":ranks"), ARGS(board_lines(3), "null", "10"));
	add_all(&b, 0, 1, "sum");
	rank_all(&b);
	while (end(&b) == LEADERBOARD_MERGE_END_DROPPING) {
		assert_int_equal(item_int(&r, LEADERBOARD_MERGE_END_MEMBERS), b.built - 500);
		b.built -= 500;
		steps++;
		assert_in_range(redis_pttl_ms(&r, PLACES), 1, 60000);
	}
	assert_int_equal(outcome(&r), 1);
	assert_int_equal(steps, 2);
	assert_int_equal(item_int(&r, LEADERBOARD_SIZE), KEPT);
	assert_int_equal(item_int(&r, LEADERBOARD_MAX_MEMBERS), KEPT);
	board_page("mon", 0, KEPT, "desc", 3, found);
	memcpy(first, found, sizeof(first));
	assert_int_equal(board_page("week", 0, FOUND_MAX, "desc", 3, found), KEPT);
	assert_memory_equal(found, first, sizeof(first));
	assert_int_equal(server_command(&r, "HLEN " B ":places")->integer, KEPT);
	dimensions = D;
}

/* The result had a TTL while it was built. The board keeps its own expiry. */
TEST(a_merge_keeps_the_expiry_of_its_board)
{
	static const char *const keys[] = { B, B ":places", B ":ranks" };
	static const int64_t one[] = { 1, 1 };

	make_sources(D);
	board_make("week", D);
	board_put("mon", "m", "set", D, one);
	for (int round = 0; round < 3; round++) {
		struct building b = { .cursor = "0" };
		long long at = -1;
		if (round > 0) {
			at = server_now_ms(&r) + 100000 * round;
			server_command(&r, "PEXPIREAT " B " %lld", at);
		}
		add_all(&b, 0, 1, "sum");
		rank_all(&b);
		assert_int_equal(end(&b), 1);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(server_command(&r, "PEXPIRETIME %s", keys[i])->integer, at);
	}
}
