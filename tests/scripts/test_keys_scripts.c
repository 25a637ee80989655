/*
 * The key scripts on a real Redis: pages that return each element once, the bounds of a page, and
 * matches beside SSCAN.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define KEY "p:some {key}"
#define MIB 1048576

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* ---- Elements ---- */

enum { MOST = 2000 };

/* The arguments of a page without a match. */
#define PAGE(cursor, limit) ARGS(cursor, limit, "", "", "0")

#define LISTED(n) (KEY_ELEMENT_LIST_ELEMENTS + KEY_ELEMENT_ITEMS * (n))
#define FIRST(item) (KEY_ELEMENT_LIST_ELEMENTS + KEY_ELEMENT_##item)

/* Redis resizes such a table in steps, so that a scan may return an element twice. */
static bool is_table(void)
{
	return strcmp(server_command(&r, "OBJECT ENCODING %s", KEY)->str, "hashtable") == 0 ||
	       strcmp(r.reply->str, "skiplist") == 0;
}

/*
 * Reads the elements "m0", "m1", ... (of a set of integers: 0, 1, ...) in pages. Returns whether
 * the pages were as full as they may be.
 */
static bool walks_in_full_pages(int elements, int limit)
{
	static bool came[MOST];
	char cursor[64] = "0", count[16];
	bool may_repeat = is_table();
	int pages = 0, found = 0, last = -1;

	memset(came, 0, sizeof(came));
	snprintf(count, sizeof(count), "%d", limit);
	do {
		run(&r, &key_element_list_script, KEYS(KEY), PAGE(cursor, count));
		assert_int_equal(outcome(&r), 0);
		assert_true(r.reply->elements <= LISTED((size_t)limit));
		for (size_t i = KEY_ELEMENT_LIST_ELEMENTS; i < r.reply->elements; i += KEY_ELEMENT_ITEMS) {
			const char *element = item_text(&r, i + KEY_ELEMENT_ELEMENT);
			const char *beside = item_text(&r, i + KEY_ELEMENT_BESIDE);
			int n = atoi(element + (*element == 'm'));
			assert_in_range(n, 0, elements - 1);
			assert_true(may_repeat || !came[n]);
			found += !came[n];
			came[n] = true;
			assert_int_equal(item_int(&r, i + KEY_ELEMENT_IS_CUT), 0);
			if (strcmp(item_text(&r, KEY_ELEMENT_LIST_TYPE), "set") == 0)
				assert_string_equal(beside, "");
			else
				assert_int_equal(atoi(beside), n);
			if (strcmp(item_text(&r, KEY_ELEMENT_LIST_TYPE), "list") == 0)
				assert_int_equal(n, ++last); /* a list is returned in order */
		}
		snprintf(cursor, sizeof(cursor), "%s", item_text(&r, KEY_ELEMENT_LIST_NEXT_CURSOR));
		assert_true(++pages <= 2 * elements + 1);
	} while (strcmp(cursor, "0") != 0);
	assert_int_equal(found, elements);
	/*
	 * A page is full unless it is the last one, one call may not take enough steps to fill it,
	 * or Redis is busy and a millisecond has passed.
	 */
	return pages <= 2 * elements / (limit < 100 ? limit : 100) + 1;
}

/* Redis keeps a small key in one piece and a large one in tables. Pages divide both. */
TEST(every_element_is_returned)
{
	static const char *const fillers[] = { "SADD %s %d", "SADD %s m%d", "HSET %s m%d %d", "ZADD %s %d m%d",
					       "RPUSH %s m%d" };
	static const int sizes[] = { 1, 10, 21, 100, MOST }, limits[] = { 1, 7, 10, 99, 1000 };

	for (size_t f = 0; f < COUNT(fillers); f++) {
		script_stage_empty(NULL);
		for (size_t s = 0, i = 0; s < COUNT(sizes); s++) {
			for (; i < (size_t)sizes[s]; i++)
				server_command(&r, fillers[f], KEY, (int)i, (int)i);
			for (size_t l = 0; l < COUNT(limits); l++)
				if (sizes[s] / limits[l] <= 300)
					wait_until(walks_in_full_pages(sizes[s], limits[l]), 60000);
		}
	}
}

/*
 * Between two pages, a returned element is removed and another is added. The walk still returns all
 * others.
 */
TEST(a_walk_misses_none_that_stays)
{
	bool came[101] = { false };
	char cursor[64] = "0", gone[16] = "";
	int pages = 0;

	for (int i = 0; i < 100; i++)
		server_command(&r, "HSET %s m%d %d", KEY, i, i);
	do {
		assert_true(++pages <= 101);
		run(&r, &key_element_list_script, KEYS(KEY), PAGE(cursor, "3"));
		snprintf(cursor, sizeof(cursor), "%s", item_text(&r, KEY_ELEMENT_LIST_NEXT_CURSOR));
		for (size_t i = KEY_ELEMENT_LIST_ELEMENTS; i < r.reply->elements; i += KEY_ELEMENT_ITEMS) {
			const char *element = item_text(&r, i + KEY_ELEMENT_ELEMENT);
			came[atoi(element + 1)] = true;
		}
		if (!gone[0]) {
			snprintf(gone, sizeof(gone), "%s", item_text(&r, FIRST(ELEMENT)));
			server_command(&r, "HDEL %s %s", KEY, gone);
			server_command(&r, "HSET %s m100 100", KEY);
		}
	} while (strcmp(cursor, "0") != 0);
	for (int i = 0; i < 100; i++)
		assert_true(came[i]);
}

/* Reads 40 fields of 10000 bytes. Returns the number of pages. */
static int walk_large_fields(void)
{
	char cursor[64] = "0";
	int found = 0, pages = 0;

	do {
		run(&r, &key_element_list_script, KEYS(KEY), PAGE(cursor, "1000"));
		size_t items = (r.reply->elements - KEY_ELEMENT_LIST_ELEMENTS) / KEY_ELEMENT_ITEMS;
		assert_in_range(items, 1, 14); /* 14 of them are more than 128 KiB */
		found += (int)items;
		snprintf(cursor, sizeof(cursor), "%s", item_text(&r, KEY_ELEMENT_LIST_NEXT_CURSOR));
		pages++;
	} while (strcmp(cursor, "0") != 0);
	assert_int_equal(found, 40);
	return pages;
}

TEST(a_page_has_128_kib)
{
	static char text[2 * MIB];
	int pages = 0;

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 40; i++)
		server_command(&r, "HSET %s f%d %b", KEY, i, text, (size_t)10000);
	/* On a busy Redis a page may also end after a millisecond, so the walk is repeated. */
	wait_until((pages = walk_large_fields()) == 3 || pages < 3, 60000);
	assert_int_equal(pages, 3);
	script_stage_empty(NULL);
	server_command(&r, "RPUSH %s %b %b %s", KEY, text, (size_t)MIB, text, (size_t)MIB + 1, "small");
	run(&r, &key_element_list_script, KEYS(KEY), PAGE("0", "1000"));
	assert_int_equal(r.reply->elements, LISTED(1));
	assert_int_equal(r.reply->element[FIRST(ELEMENT)]->len, MIB);
	assert_int_equal(item_int(&r, FIRST(IS_CUT)), 0);
	assert_string_equal(item_text(&r, KEY_ELEMENT_LIST_NEXT_CURSOR), "1");
	run(&r, &key_element_list_script, KEYS(KEY), PAGE("1", "1000"));
	assert_int_equal(r.reply->elements, LISTED(1));
	assert_int_equal(r.reply->element[FIRST(ELEMENT)]->len, MIB);
	assert_int_equal(item_int(&r, FIRST(IS_CUT)), 1);
	run(&r, &key_element_list_script, KEYS(KEY), PAGE("2", "1000"));
	assert_string_equal(item_text(&r, FIRST(ELEMENT)), "small");
	assert_string_equal(item_text(&r, KEY_ELEMENT_LIST_NEXT_CURSOR), "0");
}

/* ---- Elements that match ---- */

/* Counts the different elements that a walk with this match returns. */
static int walk_matching(const char *match, const char *glob, const char *limit)
{
	static char found[MOST][16];
	char cursor[64] = "0", depth[8];
	const char *star = strrchr(match, '*');
	int count = 0, pages = 0;

	snprintf(depth, sizeof(depth), "%zu", star ? strlen(star + 1) : (size_t)0);
	do {
		run(&r, &key_element_list_script, KEYS(KEY), ARGS(cursor, limit, match, glob, depth));
		assert_int_equal(outcome(&r), 0);
		assert_true(r.reply->elements <= LISTED((size_t)atoi(limit)));
		for (size_t i = KEY_ELEMENT_LIST_ELEMENTS; i < r.reply->elements; i += KEY_ELEMENT_ITEMS) {
			const char *element = item_text(&r, i + KEY_ELEMENT_ELEMENT);
			bool again = false;
			for (int k = 0; k < count && !again; k++)
				again = strcmp(found[k], element) == 0;
			if (!again)
				snprintf(found[count++], sizeof(found[0]), "%s", element);
		}
		snprintf(cursor, sizeof(cursor), "%s", item_text(&r, KEY_ELEMENT_LIST_NEXT_CURSOR));
		assert_true(++pages <= 2 * MOST);
	} while (strcmp(cursor, "0") != 0);
	return count;
}

/*
 * Returns how many elements SSCAN finds in "same", a set of the same elements. One step of SSCAN
 * reads all.
 */
static int sscan_finds(const char *glob)
{
	redisReply *reply = server_command(&r, "SSCAN same 0 MATCH %s COUNT 100000", glob);

	assert_string_equal(reply->element[0]->str, "0");
	return (int)reply->element[1]->elements;
}

TEST(a_match_finds_what_scan_match_finds)
{
	static const char *const fillers[] = { "SADD %s %s", "HSET %s %s x", "ZADD %s 1 %s", "RPUSH %s %s" };
	static const char *const odd[] = { "a?b", "a[x]b", "a\\b", "a^b", "axb", "ab", "aab", "b" };
	/* A match, and the glob that the daemon makes of it: every byte but a star is literal. */
	static const char *const rows[][2] = {
		{ "*", "*" },         { "m1", "m1" },       { "m1*", "m1*" },   { "*7", "*7" },
		{ "m*7*", "m*7*" },   { "*1*9", "*1*9" },   { "a?b", "a\\?b" }, { "a[x]b", "a\\[x\\]b" },
		{ "?", "\\?" },       { "a\\*", "a\\\\*" }, { "a^b", "a\\^b" }, { "a*b", "a*b" },
		{ "a*ab", "a*ab" },   { "**", "**" },       { "none", "none" }, { "m*", "m*" },
		{ "*99*9", "*99*9" }, { "a*b*", "a*b*" },   { "*b*", "*b*" },   { "m1999", "m1999" },
	};
	static const int sizes[] = { 20, MOST - 10 };

	for (size_t f = 0; f < COUNT(fillers); f++) {
		for (size_t s = 0; s < COUNT(sizes); s++) {
			char name[16];
			script_stage_empty(NULL);
			for (size_t i = 0; i < COUNT(odd); i++) {
				server_command(&r, fillers[f], KEY, odd[i]);
				server_command(&r, "SADD same %s", odd[i]);
			}
			for (int i = 0; i < sizes[s]; i++) {
				snprintf(name, sizeof(name), "m%d", i);
				server_command(&r, fillers[f], KEY, name);
				server_command(&r, "SADD same %s", name);
			}
			for (size_t i = 0; i < COUNT(rows); i++) {
				int wanted = sscan_finds(rows[i][1]);
				assert_int_equal(walk_matching(rows[i][0], rows[i][1], "7"), wanted);
				assert_int_equal(walk_matching(rows[i][0], rows[i][1], "1000"), wanted);
			}
		}
	}
}

/* What frees memory works when there is none. */
TEST(a_full_redis_still_frees)
{
	server_command(&r, "SADD %s a b", KEY);
	server_command(&r, "CONFIG SET maxmemory 1");
	run(&r, &key_ttl_put_script, KEYS(KEY), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
	run(&r, &key_ttl_put_script, KEYS(KEY), ARGS(""));
	assert_int_equal(item_int(&r, KEY_STATE_EXPIRES_AT_MS), -1);
	run(&r, &key_delete_script, KEYS(KEY), ARGS());
	assert_int_equal(outcome(&r), 1);
	server_command(&r, "CONFIG SET maxmemory 0");
}
