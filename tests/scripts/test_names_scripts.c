/*
 * The indexes of names on a real Redis: a name is in its index while its key exists, and an index
 * never makes a call fail.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define INDEX "p:names:{}:set"

static void put(const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "p:set:{%s}", name);
	run(&r, &set_member_put_script, KEYS(key), ARGS("member"));
}

/* The names of a page, each followed by a blank. */
static const char *page(const char *after, const char *match, const char *most, const char *tags)
{
	static char all[1024];

	run(&r, &name_page_script, KEYS(), ARGS("p:set:{", "p:names:{", "}:set", after, match, most, tags));
	*all = '\0';
	size_t end = NAME_PAGE_NAMES + (size_t)item_int(&r, NAME_PAGE_COUNT);
	for (size_t i = NAME_PAGE_NAMES; i < end; i++)
		strcat(strcat(all, item_text(&r, i)), " ");
	return all;
}

static int64_t index_size(void)
{
	return server_command(&r, "ZCARD " INDEX)->integer;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .after = script_stage_empty);

TEST(names_come_in_order)
{
	put("b");
	put("c/d");
	put("a");
	put("b");
	assert_string_equal(page("", "", "10", ","), "a b c/d ");
	assert_int_equal(item_int(&r, NAME_PAGE_ENDED), 1);
	assert_string_equal(item_text(&r, NAME_PAGE_STOPPED_AT), "");
	assert_string_equal(page("", "", "2", ","), "a b ");
	assert_int_equal(item_int(&r, NAME_PAGE_ENDED), 0);
	assert_string_equal(item_text(&r, NAME_PAGE_STOPPED_AT), "b");
	assert_string_equal(page("b", "", "2", ","), "c/d ");
	assert_string_equal(page("d", "", "2", ","), "");
}

TEST(a_match_is_literal_but_for_its_stars)
{
	static const char *const names[] = { "a", "a.c", "abc", "a%c", "b[a]", "b", NULL };
	static const char *const rows[][2] = {
		{ "a", "a " },
		{ "a.c", "a.c " },
		{ "a*", "a a%c a.c abc " },
		{ "*c", "a%c a.c abc " },
		{ "a%c", "a%c " },
		{ "*[*", "b[a] " },
		{ "*", "a a%c a.c abc b b[a] " },
		{ "b[a]", "b[a] " },
		{ "a*b*", "abc " },
		{ "x*", "" },
		{ "a*a", "" },
		{ "*b*c", "abc " },
		{ "**", "a a%c a.c abc b b[a] " },
	};
	for (size_t i = 0; names[i]; i++)
		put(names[i]);
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(page("", rows[i][0], "10", ","), rows[i][1]);
}

static void forget(const char *key)
{
	run(&r, &name_forget_script, KEYS(key), ARGS());
}

/* The key was deleted, by whatever means, or expired. */
TEST(what_is_gone_is_found_and_forgotten)
{
	put("a");
	put("b");
	put("c");
	server_command(&r, "DEL p:set:{b}");
	server_command(&r, "PEXPIRE p:set:{c} 1");
	wait_until(server_command(&r, "EXISTS p:set:{c}")->integer == 0, 1000);
	unchanged(&r, page("", "", "10", ","));
	assert_string_equal(page("", "", "10", ","), "a ");
	size_t gone = NAME_PAGE_NAMES + (size_t)item_int(&r, NAME_PAGE_COUNT);
	assert_int_equal(r.reply->elements, gone + 2);
	assert_string_equal(item_text(&r, gone++), "b");
	assert_string_equal(item_text(&r, gone), "c");
	forget("p:set:{b}");
	forget("p:set:{c}");
	unchanged(&r, forget("p:set:{a}"));
	unchanged(&r, forget("p:set:{c}"));
	assert_int_equal(index_size(), 1);
	put("b");
	assert_string_equal(page("", "", "10", ","), "a b ");
}

/*
 * A thousand names that live for one call each do not fill the index, although only one of eight
 * new names makes room, at random. Names whose keys exist stay.
 */
TEST(names_that_go_make_room)
{
	char name[24], key[40];

	put("lives");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		snprintf(key, sizeof(key), "p:set:{%s}", name);
		put(name);
		server_command(&r, "DEL %s", key);
		assert_in_range(index_size(), 1, 200);
	}
	assert_string_equal(page("", "", "10", ","), "lives ");
}

/* Two stars, and names that nearly match at each of their bytes. A Lua pattern took 0.18 s. */
TEST(a_match_takes_no_longer_for_hostile_names)
{
	char key[256], match[160];

	for (int i = 0; i < 64; i++) {
		snprintf(key, sizeof(key), "p:set:{%0196d%04d}", 0, i);
		run(&r, &set_member_put_script, KEYS(key), ARGS("member"));
	}
	snprintf(match, sizeof(match), "*%065d*%065db", 0, 0);
	server_command(&r, "CONFIG RESETSTAT");
	assert_string_equal(page("", match, "10", ","), "");
	const char *of = strstr(server_command(&r, "INFO commandstats")->str, "cmdstat_evalsha:");
	assert_in_range(atoll(strstr(of, "usec=") + strlen("usec=")), 1, 50000);
}

TEST(a_known_name_costs_nothing)
{
	put("a");
	long long before = server_calls(&r, "zadd");
	for (int i = 0; i < 10; i++)
		put("a");
	assert_int_equal(server_calls(&r, "zadd"), before);
}

TEST(a_foreign_index_refuses_nothing)
{
	server_command(&r, "SET " INDEX " mine");
	put("a");
	assert_int_equal(server_command(&r, "SCARD p:set:{a}")->integer, 1);
	run_fails(&r, &name_page_script, KEYS(), ARGS("p:set:{", "p:names:{", "}:set", "", "", "10", ","), "WRONGTYPE");
	assert_string_equal(server_command(&r, "GET " INDEX)->str, "mine");
}

TEST(several_indexes_are_read_in_turn)
{
	for (const char *const *n = (const char *const[]){ "a", "b", "c", NULL }; *n; n++)
		server_command(&r, "SADD p:set:{%s} m", *n);
	server_command(&r, "ZADD p:names:{3}:set 0 b");
	server_command(&r, "ZADD p:names:{7}:set 0 a 0 c");
	assert_string_equal(page("", "", "10", "1,3,5,7,"), "b a c ");
	assert_int_equal(item_int(&r, NAME_PAGE_ENDED), 4);
	assert_string_equal(page("", "", "2", "1,3,5,7,"), "b a ");
	assert_int_equal(item_int(&r, NAME_PAGE_ENDED), 3);
	assert_string_equal(item_text(&r, NAME_PAGE_STOPPED_AT), "a");
	assert_string_equal(page("a", "", "2", "7,"), "c ");
}

TEST(a_key_that_exists_is_added)
{
	server_command(&r, "SADD p:set:{a} m");
	run(&r, &name_add_script, KEYS("p:set:{a}"), ARGS());
	assert_int_equal(outcome(&r), 1);
	run(&r, &name_add_script, KEYS("p:set:{a}"), ARGS());
	assert_int_equal(outcome(&r), 0);
	run(&r, &name_add_script, KEYS("p:set:{b}"), ARGS());
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(index_size(), 1);
}
