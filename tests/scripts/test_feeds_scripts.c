/*
 * The scripts of feeds on a real Redis: steps, bounds, ids that are never reused, and the expiry of
 * both keys.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define FEED "p:feed:{a}"
#define META "p:feed:{a}:meta"

/* Pushes items `from` to `to - 1` in one call. Returns the length that the script reports. */
static int64_t push(const char *keep, int from, int to)
{
	static char text[1000][16];
	static const char *args[1002];
	int n = 0;

	args[n++] = keep;
	for (int i = from; i < to; i++, n++) {
		snprintf(text[n - 1], sizeof(text[0]), "%d", i);
		args[n] = text[n - 1];
	}
	args[n] = NULL;
	run(&r, &feed_item_push_script, KEYS(FEED, META), args);
	assert_int_equal(outcome(&r), 1);
	return item_int(&r, FEED_ITEM_PUSH_SIZE);
}

/* The id of the last item of the latest page; "" before the first. */
static char cursor[64];

/* Reads the page after an id. It must have `count` items, whose numbers count down from `first`. */
static void page_is(const char *after, const char *limit, int first, int count, bool has_more)
{
	char last[64] = "";

	run(&r, &feed_item_list_script, KEYS(FEED), ARGS(after, limit));
	assert_int_equal(outcome(&r), 0);
	assert_int_equal(r.reply->elements, FEED_ITEM_LIST_ITEMS + FEED_ITEM_ITEMS * count);
	assert_int_equal(item_int(&r, FEED_ITEM_LIST_MORE), has_more);
	for (int i = 0; i < count; i++) {
		size_t at = FEED_ITEM_LIST_ITEMS + FEED_ITEM_ITEMS * (size_t)i;
		assert_int_equal(atoi(item_text(&r, at + FEED_ITEM_ITEM)), first - i);
		snprintf(last, sizeof(last), "%s", item_text(&r, at + FEED_ITEM_ID));
	}
	snprintf(cursor, sizeof(cursor), "%s", last);
}

static int64_t length(void)
{
	return server_command(&r, "XLEN " FEED)->integer;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* Neither new nor removed items move the next page, even if the item of the cursor was removed. */
TEST(a_page_begins_where_the_last_one_ended)
{
	char first[64];

	push("10", 0, 10);
	page_is("", "4", 9, 4, true);
	snprintf(first, sizeof(first), "%s", cursor);
	push("20", 100, 105);
	run(&r, &feed_item_delete_script, KEYS(FEED, META), ARGS(first));
	assert_int_equal(outcome(&r), 1);
	page_is(first, "3", 5, 3, true);
	push("6", 200, 201); /* only 0 to 5 are older, but only the newest six items are kept */
	page_is(cursor, "10", 0, 0, false);
}

/*
 * A call drops at most 250 items, or as many as it pushes if that is more. It reports the length,
 * which includes items still to be dropped.
 */
TEST(much_is_dropped_in_steps)
{
	push("10000", 0, 1000);
	push("10000", 1000, 2000);
	assert_int_equal(push("500", 2000, 2010), 1760);
	page_is("", "3", 2009, 3, true);
	assert_int_equal(push("500", 0, 0), 1510);
	assert_int_equal(push("500", 3000, 3300), 1510);
	for (int size = 1260; size > 500; size -= 250)
		assert_int_equal(push("500", 0, 0), size);
	assert_int_equal(push("500", 0, 0), 500);
	unchanged(&r, assert_int_equal(push("500", 0, 0), 500));
	page_is("", "3", 3299, 3, true);
	assert_int_equal(server_command(&r, "HEXISTS " META " excess")->integer, 0);
}

/*
 * A push fixes which items to drop. A later call drops no item of a push that keeps more, and none
 * of a new feed.
 */
TEST(a_late_call_drops_what_was_there)
{
	push("10000", 0, 1000);
	assert_int_equal(push("10", 1000, 1001), 751);
	assert_string_equal(server_command(&r, "HGET " META " excess")->str, "741");
	assert_int_equal(push("1000", 2000, 2500), 751); /* the push drops as many as it adds */
	assert_int_equal(push("10", 0, 0), 510);
	unchanged(&r, assert_int_equal(push("10", 0, 0), 510));
	page_is("", "500", 2499, 500, true);
	push("10000", 3000, 4000);
	push("10", 4000, 4001);
	server_command(&r, "DEL " FEED);
	push("1000", 0, 300);
	unchanged(&r, assert_int_equal(push("10", 0, 0), 300));
}

static size_t items_of_page(const char *after)
{
	run(&r, &feed_item_list_script, KEYS(FEED), ARGS(after, "1000"));
	size_t count = (r.reply->elements - FEED_ITEM_LIST_ITEMS) / FEED_ITEM_ITEMS;
	snprintf(cursor, sizeof(cursor), "%s",
		 item_text(&r, FEED_ITEM_LIST_ITEMS + FEED_ITEM_ITEMS * (count - 1) + FEED_ITEM_ID));
	return count;
}

/*
 * Of 10 items of 60000 bytes, four fit in a page. A page after one large item has all small ones.
 */
TEST(a_page_is_bounded_in_bytes)
{
	static char large[60001], too_large[300001];

	memset(large, '1', sizeof(large) - 1);
	for (int i = 0; i < 10; i++)
		run(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("100", large));
	assert_int_equal(items_of_page(""), 4);
	assert_int_equal(item_int(&r, FEED_ITEM_LIST_MORE), 1);
	assert_int_equal(items_of_page(cursor), 4);
	assert_int_equal(items_of_page(cursor), 2);
	assert_int_equal(item_int(&r, FEED_ITEM_LIST_MORE), 0);
	memset(too_large, '1', sizeof(too_large) - 1); /* patternd never stores such an item, but a page still has it */
	run(&r, &feed_item_push_script, KEYS(FEED, META), ARGS("100", "7", too_large));
	assert_int_equal(items_of_page(""), 1);
	assert_int_equal(items_of_page(cursor), 5);
	assert_string_equal(item_text(&r, FEED_ITEM_LIST_ITEMS + FEED_ITEM_ITEM), "7");
}

/* ---- Ids ---- */

struct id {
	long long ms, seq;
};

static struct id first_id(void)
{
	return (struct id){ item_int(&r, FEED_ITEM_PUSH_FIRST_MS), item_int(&r, FEED_ITEM_PUSH_FIRST_SEQ) };
}

static bool is_after(struct id a, struct id b)
{
	return a.ms > b.ms || (a.ms == b.ms && a.seq > b.seq);
}

static const char *id_text(struct id id)
{
	static char text[64];

	snprintf(text, sizeof(text), "%lld-%lld", id.ms, id.seq);
	return text;
}

static int64_t remove_item(struct id id)
{
	run(&r, &feed_item_delete_script, KEYS(FEED, META), ARGS(id_text(id)));
	return outcome(&r);
}

/* If Redis's clock is set back by a day, ids still rise, even if the newest item was removed. */
TEST(ids_rise_when_the_clock_leaps_back)
{
	struct id last = { server_now_ms(&r) + 86400000, 5 };

	push("10", 0, 1);
	server_command(&r, "XADD " FEED " %s item 1", id_text(last));
	push("10", 2, 4);
	assert_true(is_after(first_id(), last));
	last = first_id();
	last.seq++;
	page_is("", "10", 3, 4, false);
	assert_int_equal(remove_item(last), 1);
	push("10", 3, 4);
	assert_true(is_after(first_id(), last));
	page_is("", "10", 3, 4, false);
}

/* If a feed is deleted and made again in the same millisecond, no id repeats. */
TEST(a_new_feed_repeats_no_id)
{
	struct id last = { 0, 0 };

	for (int i = 0; i < 2000; i++) {
		push("10", 0, 3);
		assert_true(is_after(first_id(), last));
		push("10", 3, 6);
		last = first_id();
		last.seq += 2;
		run(&r, &feed_delete_script, KEYS(FEED, META), ARGS());
	}
}

/*
 * A removal first drops what a push left to drop: afterwards the stored count of these items would
 * be wrong.
 */
TEST(removing_an_item_drops_what_is_left_to_drop)
{
	push("10000", 0, 600);
	struct id oldest = first_id();
	push("100", 600, 601);
	struct id newest = first_id();
	assert_int_equal(length(), 351);
	assert_int_equal(remove_item(newest), FEED_ITEM_DELETE_AGAIN);
	assert_int_equal(length(), 101);
	assert_int_equal(remove_item(oldest), FEED_ITEM_DELETE_AGAIN);
	assert_int_equal(length(), 100);
	unchanged(&r, assert_int_equal(remove_item(oldest), 0));
	assert_int_equal(remove_item(newest), 1);
	page_is("", "1000", 599, 99, false);
}

static int64_t expires_at(const char *key)
{
	return server_command(&r, "PEXPIRETIME %s", key)->integer;
}

TEST(both_keys_expire_together)
{
	push("10", 0, 1);
	run(&r, &feed_patch_script, KEYS(FEED, META), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
	int64_t at = item_int(&r, FEED_EXPIRES_AT_MS);
	assert_int_equal(expires_at(FEED), at);
	assert_int_equal(expires_at(META), at);
	push("10", 1, 2);
	assert_int_equal(expires_at(FEED), at);
	server_command(&r, "DEL " META);
	push("20", 2, 3); /* this makes META again */
	assert_int_equal(expires_at(FEED), at);
	assert_int_equal(expires_at(META), at);
	run(&r, &feed_patch_script, KEYS(FEED, META), ARGS("null"));
	assert_int_equal(item_int(&r, FEED_EXPIRES_AT_MS), -1);
	assert_int_equal(expires_at(FEED), -1);
	assert_int_equal(expires_at(META), -1);
	server_command(&r, "PEXPIRE " META " 60000");
	server_command(&r, "DEL " FEED);
	push("10", 0, 1); /* a new feed does not get the expiry that an old feed left behind */
	assert_int_equal(expires_at(FEED), -1);
	assert_int_equal(expires_at(META), -1);
}
