/*
 * Schedules over HTTP: messages that recur at an interval in milliseconds or at the times of
 * crontab(5), with one message per instant over any number of daemons; missed instants; and how
 * schedules change and end.
 */
#include <time.h>

#include "queue_stage.h"

enum { EVERY_MS = 100, WAIT_MS = 5000 };

static struct answer schedule(const char *method, const char *id, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "/queues/q/schedules%s%s", *id ? "/" : "", id);
	return http(client, method, target, body);
}

static void put(const char *id, const char *body)
{
	assert_status(schedule("PUT", id, body), 201);
}

/* Waits for one message, and acknowledges it. */
static struct answer next_message(void)
{
	struct answer a = receive("{\"wait_ms\":5000,\"acknowledge\":true}");

	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	return a;
}

static void pass_ms(int64_t ms)
{
	int64_t until_ms = server_now_ms(&redis) + ms;

	wait_until(server_now_ms(&redis) >= until_ms, WAIT_MS + ms);
}

/* ---- Messages ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(each_interval_makes_a_message)
{
	int64_t at_ms = 0, first_ms = 0;

	put("s", "{\"every_ms\":100,\"body\":{\"n\": 1.10},\"priority\":2,\"headers\":{\"tenant\":\"acme\"}}");
	for (int i = 0; i < 3; i++) {
		struct answer a = next_message();
		int64_t made_for_ms = int_at(a, "/messages/0/schedule/at_ms");
		int64_t instants = int_at(a, "/messages/0/schedule/missed") + 1;
		assert_string_equal(text_at(a, "/messages/0/schedule/id"), "s");
		assert_string_equal(text_at(a, "/messages/0/headers/tenant"), "acme");
		assert_int_equal(int_at(a, "/messages/0/priority"), 2);
		assert_non_null(strstr(a.body, "\"body\":{\"n\": 1.10}"));
		assert_true(server_now_ms(&redis) >= made_for_ms);
		assert_true(at_ms == 0 || made_for_ms == at_ms);
		first_ms = first_ms ? first_ms : made_for_ms;
		at_ms = made_for_ms + instants * EVERY_MS; /* the next one */
	}
	struct answer s = schedule("GET", "s", NULL);
	assert_true(int_at(s, "/sent") >= 3); /* another instant may have come */
	int64_t counted = int_at(s, "/sent") + int_at(s, "/missed") + int_at(s, "/skipped");
	assert_int_equal(int_at(s, "/next_at_ms"), first_ms + counted * EVERY_MS);
	assert_int_equal((int_at(s, "/next_at_ms") - int_at(s, "/last_at_ms")) % EVERY_MS, 0);
}

/*
 * Instants that pass while no call looks, or while the queue is paused, create one message
 * together.
 */
TEST(a_paused_queue_makes_none_until_it_continues)
{
	configure("{\"paused\":true}");
	put("s", "{\"every_ms\":100,\"body\":1,\"overlap\":\"allow\"}");
	pass_ms(3 * EVERY_MS);
	assert_int_equal(count_in(receive(NULL)), 0);
	assert_int_equal(int_at(queue("GET", NULL), "/ready"), 0);
	assert_int_equal(int_at(schedule("GET", "s", NULL), "/sent"), 0);
	assert_status(queue("PATCH", "{\"paused\":false}"), 200);
	struct answer a = receive("{\"limit\":100}");
	assert_int_equal(count_in(a), 1);
	int64_t missed = int_at(a, "/messages/0/schedule/missed");
	assert_in_range(missed, 2, 50);
	assert_int_equal(int_at(schedule("GET", "s", NULL), "/missed"), missed);
}

TEST(a_look_makes_what_is_due)
{
	put("s", "{\"every_ms\":100,\"body\":1}");
	assert_int_equal(int_at(queue("GET", NULL), "/delayed"), 0); /* a schedule is not a message */
	pass_ms(2 * EVERY_MS);
	assert_int_equal(int_at(queue("GET", NULL), "/ready"), 1);
	assert_int_equal(int_at(queue("GET", NULL), "/sent"), 1);
	struct answer a = list("?state=ready");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_string_equal(text_at(a, "/items/0/schedule/id"), "s");
	assert_int_equal(json_array_size(json_at(list("?state=delayed"), "/items")), 0);
	/* No worker received the message, so the next instants create none. */
	int64_t missed = int_at(a, "/items/0/schedule/missed");
	wait_until(int_at(schedule("GET", "s", NULL), "/skipped") > missed, WAIT_MS);
	assert_int_equal(int_at(schedule("GET", "s", NULL), "/missed"), missed);
	assert_int_equal(count_of("/sent"), 1);
}

/* ---- Changes ---- */

/* A program puts its schedules at each start, which must change no instant. */
TEST(a_put_of_the_same_times_keeps_the_next_one)
{
	static const char *const same[] = {
		"{\"every_ms\":3600000,\"body\":2,\"overlap\":\"allow\"}",
		"{\"every_ms\":3600000,\"body\":{\"a\":1},\"priority\":9,\"end_at_ms\":253402300799999}",
	};

	put("s", "{\"every_ms\":3600000,\"body\":1}");
	int64_t next_at_ms = int_at(schedule("GET", "s", NULL), "/next_at_ms");
	for (size_t i = 0; i < COUNT(same); i++) {
		next_ms();
		struct answer a = schedule("PUT", "s", same[i]);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/next_at_ms"), next_at_ms);
	}
	assert_true(int_at(schedule("PUT", "s", "{\"every_ms\":3600001,\"body\":1}"), "/next_at_ms") > next_at_ms);
	struct answer a = schedule("PUT", "s", "{\"every_ms\":3600001,\"body\":1,\"start_at_ms\":4102444800000}");
	assert_int_equal(int_at(a, "/next_at_ms"), 4102444800000);
}

/* An instant that came due before the change is not lost. */
TEST(a_change_keeps_what_came_due)
{
	put("s", "{\"every_ms\":100,\"body\":1}");
	pass_ms(EVERY_MS);
	assert_status(schedule("PATCH", "s", "{\"every_ms\":3600000}"), 200);
	assert_int_equal(count_in(receive(NULL)), 1);
	assert_int_equal(int_at(schedule("GET", "s", NULL), "/sent"), 1);
}

TEST(fields_are_merged)
{
	put("s",
	    "{\"every_ms\":60000,\"body\":{\"a\":1},\"priority\":7,\"headers\":{\"x\":\"y\"},\"overlap\":\"allow\"}");
	int64_t next_at_ms = int_at(schedule("GET", "s", NULL), "/next_at_ms");

	struct answer a = schedule("PATCH", "s", "{\"body\":[2],\"priority\":null}");
	assert_status(a, 200);
	assert_int_equal(int_at(a, "/body/0"), 2);
	assert_int_equal(int_at(a, "/priority"), 4);
	assert_string_equal(text_at(a, "/headers/x"), "y");
	assert_string_equal(text_at(a, "/overlap"), "allow");
	assert_int_equal(int_at(a, "/next_at_ms"), next_at_ms);

	a = schedule("PATCH", "s", "{\"cron\":\"0 0 1 1 *\",\"headers\":null,\"overlap\":null}");
	assert_true(json_is_null(json_at(a, "/every_ms")));
	assert_string_equal(text_at(a, "/cron"), "0 0 1 1 *");
	assert_null(json_at(a, "/headers"));
	assert_string_equal(text_at(a, "/overlap"), "skip");
	assert_int_equal(int_at(a, "/next_at_ms") % 86400000, 0);

	assert_problem(schedule("PATCH", "t", "{\"priority\":1}"), 404, "not_found", "none");
}

TEST(a_schedule_ends)
{
	char body[160];
	int64_t now_ms = server_now_ms(&redis);

	snprintf(body, sizeof(body),
		 "{\"every_ms\":100,\"start_at_ms\":%lld,\"end_at_ms\":%lld,\"body\":1,\"overlap\":\"allow\"}",
		 (long long)now_ms + 100, (long long)now_ms + 299);
	put("s", body);
	wait_until(server_now_ms(&redis) >= now_ms + 300, WAIT_MS);
	struct answer a = receive("{\"limit\":100}");
	assert_int_equal(count_in(a), 1);
	assert_int_equal(int_at(a, "/messages/0/schedule/at_ms"), now_ms + 100);
	assert_int_equal(int_at(a, "/messages/0/schedule/missed"), 1);
	assert_problem(schedule("GET", "s", NULL), 404, "not_found", "none");
	assert_int_equal(json_array_size(json_at(schedule("GET", "", NULL), "/items")), 0);
}

TEST(schedules_are_listed_and_deleted)
{
	enum { COUNT = 25 };
	char id[16], page[64] = "/queues/q/schedules?limit=10";
	size_t found = 0;

	for (int i = 0; i < COUNT; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		put(id, "{\"every_ms\":60000,\"body\":1}");
	}
	do {
		struct answer a = http(client, "GET", page, NULL);
		assert_status(a, 200);
		found += json_array_size(json_at(a, "/items"));
		const char *cursor = json_string_value(json_at(a, "/next_cursor"));
		snprintf(page, sizeof(page), cursor ? "/queues/q/schedules?limit=10&cursor=%s" : "", cursor);
	} while (*page);
	assert_int_equal(found, COUNT);

	assert_status(http(client, "POST", "/queues/q/purge", "{}"), 200); /* purges messages only */
	assert_status(schedule("DELETE", "s0", NULL), 204);
	assert_problem(schedule("DELETE", "s0", NULL), 404, "not_found", "none");
	assert_int_equal(json_array_size(json_at(schedule("GET", "", NULL), "/items")), COUNT - 1);
	assert_status(queue("DELETE", NULL), 204);
	assert_int_equal(server_keys(&redis), 0);
}

/* ---- crontab(5), against a search through all minutes by glibc's calendar ---- */

enum { FIELDS = 5, VALUES = 60 };

struct drawn {
	char text[256];
	bool matches[FIELDS][VALUES];
	bool is_star[FIELDS];
};

static void draw_field(struct drawn *d, int f, unsigned *seed)
{
	static const int first[FIELDS] = { 0, 0, 1, 1, 0 }, last[FIELDS] = { 59, 23, 31, 12, 7 };
	char *at = d->text + strlen(d->text);
	int count = last[f] - first[f] + 1, kind = rand_r(seed) % 3;
	int low = first[f] + rand_r(seed) % count, high = low + rand_r(seed) % (last[f] - low + 1);
	int step = kind == 1 ? 1 + rand_r(seed) % 7 : 1;

	d->is_star[f] = kind == 0 || rand_r(seed) % 4 == 0;
	if (d->is_star[f]) {
		low = first[f];
		high = last[f];
		at += sprintf(at, "*");
	} else {
		at += sprintf(at, "%d-%d", low, high);
	}
	if (step > 1)
		at += sprintf(at, "/%d", step);
	strcat(at, f < FIELDS - 1 ? " " : "");
	for (int value = low; value <= high; value += step)
		d->matches[f][f == FIELDS - 1 ? value % 7 : value] = true;
}

static bool is_match(const struct drawn *d, const struct tm *t)
{
	bool by_date = d->matches[2][t->tm_mday], by_weekday = d->matches[4][t->tm_wday];
	bool by_day = d->is_star[2] || d->is_star[4] ? by_date && by_weekday : by_date || by_weekday;

	return by_day && d->matches[0][t->tm_min] && d->matches[1][t->tm_hour] && d->matches[3][t->tm_mon + 1];
}

TEST(times_of_cron_match_a_calendar)
{
	enum { DRAWS = 60, MINUTES_MOST = 60 * 24 * 400 };
	unsigned seed = 5;

	for (int i = 0; i < DRAWS; i++) {
		struct drawn d = { 0 };
		char body[512];
		time_t minute = 30000000 + rand_r(&seed) % 30000000; /* from 2027 to 2084 */
		for (int f = 0; f < FIELDS; f++)
			draw_field(&d, f, &seed);
		snprintf(body, sizeof(body), "{\"cron\":\"%s\",\"start_at_ms\":%lld,\"body\":1}", d.text,
			 (long long)minute * 60000 - 1);
		struct answer a = schedule("PUT", "s", body);
		if (a.status == 400) /* no month has that day */
			continue;
		struct tm t;
		int searched = 0;
		for (time_t at = minute * 60; !is_match(&d, gmtime_r(&at, &t)) && searched < MINUTES_MOST;
		     at = ++minute * 60)
			searched++;
		if (searched < MINUTES_MOST && int_at(a, "/next_at_ms") != (int64_t)minute * 60000)
			fail_msg("%s: next_at_ms %lld, not %lld", body, (long long)int_at(a, "/next_at_ms"),
				 (long long)minute * 60000);
	}
}

/*
 * A queue reports the earliest instant of its schedules, also in the list of queues and while it is
 * paused.
 */
TEST(a_queue_has_its_next_instant)
{
	put("late", "{\"every_ms\":86400000,\"body\":1}");
	put("soon", "{\"every_ms\":600000,\"body\":1}");
	int64_t next_ms = int_at(schedule("GET", "soon", NULL), "/next_at_ms");
	assert_int_equal(int_at(queue("GET", NULL), "/next_schedule_at_ms"), next_ms);
	assert_int_equal(int_at(http(client, "GET", "/queues", NULL), "/items/0/next_schedule_at_ms"), next_ms);
	for (int i = 0; i < 2; i++)
		assert_status(schedule("DELETE", i ? "late" : "soon", NULL), 204);
	assert_true(json_is_null(json_at(queue("GET", NULL), "/next_schedule_at_ms")));
	put("s", "{\"every_ms\":100,\"body\":1}");
	configure("{\"paused\":true}");
	pass_ms(2 * EVERY_MS);
	assert_true(int_at(queue("GET", NULL), "/next_schedule_at_ms") < server_now_ms(&redis));
}
