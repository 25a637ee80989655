/*
 * Schedules over HTTP: times in a zone, which data of zones counts, run now, limits and jitter.
 * (The instants of all zones: tests/time_zones.)
 */
#include <sys/stat.h>

#include "queue_stage.h"
#include "waiter.h"

enum { EVERY_MS = 100 };

static struct answer schedule_at(struct client *c, const char *method, const char *id, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "/queues/q/schedules/%s", id);
	return http(c, method, target, body);
}

static struct answer schedule(const char *method, const char *id, const char *body)
{
	return schedule_at(client, method, id, body);
}

static struct answer run_now(const char *id, const char *key_header)
{
	char tail[128];

	snprintf(tail, sizeof(tail), "/schedules/%s/run", id);
	return post(tail, NULL, key_header);
}

/* ---- Times in a zone ---- */

SUITE(.open = start, .close = stop, .after = forget_all);

TEST(a_time_is_by_its_zone)
{
	static const struct {
		const char *body;
		const char *next[3];
	} rows[] = {
		/* 2027-03-28 and 2027-10-31; the skipped hour ends at 3:00 */
		{ "{\"cron\":\"30 2 * * *\",\"time_zone\":\"Europe/Berlin\",\"start_at_ms\":1806102000000,\"body\":1}",
		  { "2027-03-27T02:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00" } },
		{ "{\"cron\":\"30 2 * * *\",\"time_zone\":\"Europe/Berlin\",\"start_at_ms\":1824940800000,\"body\":1}",
		  { "2027-10-31T02:30:00+02:00", "2027-11-01T02:30:00+01:00", "2027-11-02T02:30:00+01:00" } },
		{ "{\"cron\":\"*/30 2 * * *\",\"time_zone\":\"Europe/Berlin\",\"start_at_ms\":1824942600000,\"body\":1}",
		  { "2027-10-31T02:30:00+02:00", "2027-10-31T02:00:00+01:00", "2027-10-31T02:30:00+01:00" } },
		{ "{\"cron\":\"@daily\",\"time_zone\":\"America/St_Johns\",\"start_at_ms\":1806102000000,\"body\":1}",
		  { "2027-03-27T00:00:00-02:30", "2027-03-28T00:00:00-02:30", "2027-03-29T00:00:00-02:30" } },
		{ "{\"every_ms\":86400000,\"time_zone\":\"Europe/Berlin\",\"start_at_ms\":1806111000250,\"body\":1}",
		  { "2027-03-27T02:30:00.250+01:00", "2027-03-28T03:30:00.250+02:00",
		    "2027-03-29T03:30:00.250+02:00" } },
		{ "{\"cron\":\"30 2 * * *\",\"start_at_ms\":1806102000000,\"body\":1}",
		  { "2027-03-27T02:30:00+00:00", "2027-03-28T02:30:00+00:00", "2027-03-29T02:30:00+00:00" } },
	};
	char pointer[64];

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct answer a = schedule("PUT", "s", rows[i].body);
		assert_in_range(a.status, 200, 201);
		assert_int_equal(json_array_size(json_at(a, "/next")), 5);
		assert_int_equal(int_at(a, "/next_at_ms"), int_at(a, "/next/0/at_ms"));
		for (int k = 0; k < 3; k++) {
			snprintf(pointer, sizeof(pointer), "/next/%d/local_time", k);
			assert_string_equal(text_at(a, pointer), rows[i].next[k]);
		}
	}
}

/*
 * A change of the zone alone computes the next instant from now; other changes keep the next
 * instant.
 */
TEST(a_zone_can_be_changed)
{
	struct answer a = schedule("PUT", "s", "{\"cron\":\"0 12 1 1 *\",\"time_zone\":\"Asia/Tokyo\",\"body\":1}");
	int64_t tokyo_ms = int_at(a, "/next_at_ms");
	assert_string_equal(text_at(a, "/time_zone"), "Asia/Tokyo");
	a = schedule("PATCH", "s", "{\"body\":2,\"group\":\"tenant-7\"}");
	assert_string_equal(text_at(a, "/group"), "tenant-7");
	assert_int_equal(int_at(a, "/next_at_ms"), tokyo_ms);
	a = schedule("PATCH", "s", "{\"time_zone\":null}");
	assert_string_equal(text_at(a, "/time_zone"), "UTC");
	assert_true(json_is_null(json_at(a, "/time_zone_version")));
	assert_int_equal(int_at(a, "/next_at_ms"), tokyo_ms + 9 * 3600000);
	a = schedule("PATCH", "s", "{\"time_zone\":\"America/Lima\"}");
	assert_int_equal(int_at(a, "/next_at_ms"), tokyo_ms + 14 * 3600000);
	a = http(client, "GET", "/queues/q/schedules", NULL);
	assert_string_equal(text_at(a, "/items/0/time_zone"), "America/Lima");
	assert_null(json_at(a, "/items/0/next"));
}

TEST(what_was_meant_is_named)
{
	static const struct {
		const char *zone, *hint;
	} rows[] = {
		{ "Europe/berlin", "did you mean 'Europe/Berlin'?" },
		{ "Berlin", "did you mean 'Europe/Berlin'?" },
		{ "America/NewYork", "did you mean 'America/New_York'?" },
		{ "utc", "did you mean 'UTC'?" },
		{ "Nowhere/Nothing", "where names are like Europe/Berlin" },
		{ "PST", "where names are like Europe/Berlin" },
		{ "posix/Europe/Berlin", "did you mean" },
		{ "localtime", "is not a time zone" },
		{ "Europe", "is not a time zone" },
		{ "/Europe/Berlin", "is not a time zone" },
		{ "Europe//Berlin", "is not a time zone" },
	};
	char body[160];

	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"every_ms\":1000,\"time_zone\":\"%s\",\"body\":1}", rows[i].zone);
		struct answer a = schedule("PUT", "s", body);
		assert_problem(a, 400, "invalid_value", "none");
		if (!strstr(a.body, rows[i].hint))
			fail_msg("%s: %s", rows[i].zone, a.body);
	}
}

/* ---- The data of zones ---- */

static void write_file(const char *folder, const char *name, const char *bytes, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

/* Creates a folder with one zone, Test/Here, which is `hours` hours ahead of UTC. */
static const char *make_zones(const char *version, int hours)
{
	const char *folder = temp_dir();
	static const char header[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
				     "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4";
	char file[256], line[160], path[80];
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/Test", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(line, sizeof(line),
		 "# version %s\nZ Test/Here 1 - X\nZ Test/Gone-without-a-file 1 - X\nZ Factory 0 - -00\n"
		 "L Test/Here US/Old-Name\n",
		 version);
	write_file(folder, "tzdata.zi", line, strlen(line));
	for (int part = 0; part < 2; part++) {
		const char type[] = { 0,   0, (char)(hours * 3600 >> 8), (char)(hours * 3600 & 0xff), 0, 0, 'A', 'A',
				      'A', 0 };
		memcpy(file + size, header, sizeof(header) - 1);
		memcpy(file + size + sizeof(header) - 1, type, sizeof(type));
		size += sizeof(header) - 1 + sizeof(type);
	}
	size += (size_t)sprintf(file + size, "\nAAA-%d\n", hours);
	write_file(folder, "Test/Here", file, size);
	write_file(folder, "Test/Cut", file, size - 3);
	snprintf(path, sizeof(path), "%s/Test/Pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	return folder;
}

/* A hint can be followed: it is never the name that was refused, nor one without a file. */
TEST(hints_are_zones_that_are_there)
{
	static const struct {
		const char *zone, *hint;
	} rows[] = {
		{ "US/Old-Name", "did you mean 'Test/Here'?" },
		{ "US/Old-Nane", "did you mean 'Test/Here'?" },
		{ "test/here", "did you mean 'Test/Here'?" },
		{ "Test/Gone-without-a-file", NULL },
		{ "Test/Gone-without-a-fill", NULL },
		{ "Factory", NULL },
		{ "factory", NULL },
	};
	struct daemon d = { 0 };
	char body[160];

	daemon_start(&d, "--redis", redis.url, "--zoneinfo", make_zones("2026a", 1));
	struct client *c = client_open(d.port);
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(body, sizeof(body), "{\"every_ms\":1000,\"time_zone\":\"%s\",\"body\":1}", rows[i].zone);
		struct answer a = schedule_at(c, "PUT", "s", body);
		assert_problem(a, 400, "invalid_value", "none");
		const char *found = strstr(a.body, "did you mean");
		if (rows[i].hint ? !strstr(a.body, rows[i].hint) : found != NULL)
			fail_msg("%s: %s", rows[i].zone, a.body);
	}
	client_close(c);
	daemon_stop(&d);
}

/*
 * If daemons have different data, the newest counts, whichever daemon is asked last, and all
 * daemons compute the same instants.
 */
TEST(the_newest_data_counts)
{
	static const char body[] = "{\"cron\":\"0 12 1 1 *\",\"time_zone\":\"Test/Here\",\"body\":1}";
	struct daemon daemons[2] = { 0 };
	struct client *clients[2];
	const char *folders[2];

	for (int i = 0; i < 2; i++) {
		folders[i] = make_zones(i ? "2026b" : "2026a", i + 1);
		daemon_start(&daemons[i], "--redis", redis.url, "--zoneinfo", folders[i]);
		clients[i] = client_open(daemons[i].port);
	}
	struct answer a = schedule_at(clients[0], "PUT", "s", body);
	assert_string_equal(text_at(a, "/time_zone_version"), "2026a");
	int64_t before_ms = int_at(a, "/next_at_ms");
	a = schedule_at(clients[1], "GET", "s", NULL);
	assert_int_equal(int_at(a, "/next_at_ms"), before_ms);
	assert_string_equal(text_at(a, "/next/0/local_time") + 19, "+01:00");
	a = schedule_at(clients[1], "PATCH", "s", "{\"priority\":1}"); /* which names no zone */
	assert_int_equal(int_at(a, "/next_at_ms"), before_ms);
	for (int i = 1; i >= 0; i--) { /* a program at each daemon puts the schedule again */
		a = schedule_at(clients[i], "PUT", "s", body);
		assert_status(a, 200);
		assert_string_equal(text_at(a, "/time_zone_version"), "2026b");
		assert_int_equal(int_at(a, "/next_at_ms"), before_ms - 3600000);
		assert_string_equal(text_at(a, "/next/4/local_time") + 19, "+02:00");
	}
	a = http(clients[1], "GET", "/info", NULL);
	assert_string_equal(text_at(a, "/time_zones/version"), "2026b");
	assert_string_equal(text_at(a, "/time_zones/folder"), folders[1]);
	assert_problem(schedule_at(clients[0], "PUT", "t",
				   "{\"cron\":\"@daily\",\"time_zone\":\"Test/Cut\",\"body\":1}"),
		       400, "invalid_value", "none");
	assert_problem(schedule_at(clients[0], "PUT", "t",
				   "{\"cron\":\"@daily\",\"time_zone\":\"Test/Pipe\",\"body\":1}"),
		       400, "invalid_value", "none");
	for (int i = 0; i < 2; i++) {
		client_close(clients[i]);
		daemon_stop(&daemons[i]);
	}
}

TEST(without_data_there_is_utc)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url, "--zoneinfo", "/nonexistent/zoneinfo");
	struct client *c = client_open(d.port);
	struct answer a =
		schedule_at(c, "PUT", "s", "{\"cron\":\"@daily\",\"time_zone\":\"Europe/Berlin\",\"body\":1}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_non_null(strstr(a.body, "/nonexistent/zoneinfo"));
	assert_status(schedule_at(c, "PUT", "s", "{\"cron\":\"@daily\",\"time_zone\":\"UTC\",\"body\":1}"), 201);
	assert_true(json_is_null(json_at(http(c, "GET", "/info", NULL), "/time_zones/version")));
	/* A schedule that another daemon created continues. */
	assert_status(schedule("PUT", "t", "{\"cron\":\"@daily\",\"time_zone\":\"Asia/Tokyo\",\"body\":1}"), 201);
	a = schedule_at(c, "PATCH", "t", "{\"cron\":\"@weekly\"}");
	assert_string_equal(text_at(a, "/next/0/local_time") + 10, "T00:00:00+09:00");
	client_close(c);
	daemon_stop(&d);
}

/* ---- Run now ---- */

TEST(a_run_moves_nothing)
{
	struct answer a =
		schedule("PUT", "s", "{\"cron\":\"0 0 1 1 *\",\"limit\":1,\"jitter_ms\":60000,\"body\":{\"n\":1}}");
	int64_t next_ms = int_at(a, "/next_at_ms");
	a = run_now("s", KEY "once");
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/id"), "s");
	char id[64];
	snprintf(id, sizeof(id), "%s", text_at(a, "/message_id"));
	assert_string_equal(text_at(run_now("s", KEY "once"), "/message_id"), id); /* a replay */
	assert_counts(1, 0, 0, 0);                                                 /* due at once, without jitter */
	a = message("GET", id, NULL);
	assert_true(json_is_true(json_at(a, "/schedule/requested")));
	assert_null(json_at(a, "/schedule/last"));
	assert_int_equal(int_at(a, "/schedule/at_ms"), int_at(a, "/sent_at_ms"));
	a = schedule("GET", "s", NULL);
	assert_int_equal(int_at(a, "/next_at_ms"), next_ms);
	assert_int_equal(int_at(a, "/sent"), 1);
	assert_int_equal(json_array_size(json_at(a, "/next")), 1); /* the run does not count for the limit */
	assert_problem(run_now("t", NULL), 404, "not_found", "none");
}

/*
 * The message of a run counts as the last message: while it is there, a second run is refused and
 * the next instants are skipped.
 */
TEST(a_run_does_not_overlap)
{
	assert_status(schedule("PUT", "s", "{\"every_ms\":3600000,\"body\":1}"), 201);
	assert_status(queue("PATCH", "{\"paused\":true}"), 200);
	assert_status(run_now("s", NULL), 200);
	assert_problem(run_now("s", NULL), 409, "schedule_overlap", "none");
	assert_status(queue("PATCH", "{\"paused\":false}"), 200);
	assert_status(schedule("PATCH", "s", "{\"every_ms\":100}"), 200);
	wait_until(int_at(schedule("GET", "s", NULL), "/skipped") > 0, SOON_MS);
	assert_int_equal(int_at(schedule("GET", "s", NULL), "/sent"), 1);
	assert_status(schedule("PATCH", "s", "{\"every_ms\":3600000}"), 200);
	assert_status(acknowledge(receipt_in(receive(NULL))), 204);
	assert_status(run_now("s", NULL), 200);
	assert_status(schedule("PATCH", "s", "{\"overlap\":\"allow\"}"), 200);
	assert_status(run_now("s", NULL), 200);
	assert_int_equal(count_of("/ready"), 2);
}

/* A run wakes a waiting receive. */
TEST(a_run_wakes_a_waiter)
{
	assert_status(schedule("PUT", "s", "{\"cron\":\"0 0 1 1 *\",\"body\":\"x\"}"), 201);
	struct raw *w = waiter_parked(&patternd, &redis, "q", "{\"wait_ms\":20000}");
	assert_status(run_now("s", NULL), 200);
	struct answer a = waiter_answer(w, "/queues/q/receive", SOON_MS);
	assert_int_equal(count_in(a), 1);
	raw_close(w);
}

/* ---- Limit and jitter ---- */

TEST(a_limit_ends_it)
{
	assert_status(schedule("PUT", "s", "{\"every_ms\":100,\"limit\":2,\"overlap\":\"allow\",\"body\":1}"), 201);
	struct answer a = receive("{\"wait_ms\":5000,\"acknowledge\":true}");
	assert_int_equal(count_in(a), 1);
	assert_null(json_at(a, "/messages/0/schedule/last"));
	a = receive("{\"wait_ms\":5000,\"acknowledge\":true}");
	assert_int_equal(count_in(a), 1);
	assert_true(json_is_true(json_at(a, "/messages/0/schedule/last")));
	assert_problem(schedule("GET", "s", NULL), 404, "not_found", "none");
	assert_int_equal(count_of("/sent"), 2);
	/*
	 * A skipped instant does not count for the limit. A limit that has been reached cannot be
	 * set.
	 */
	assert_status(schedule("PUT", "s", "{\"every_ms\":100,\"limit\":2,\"body\":1}"), 201);
	wait_until(int_at(schedule("GET", "s", NULL), "/skipped") > 2, SOON_MS);
	a = schedule("PATCH", "s", "{\"every_ms\":3600000,\"limit\":1}");
	assert_problem(a, 400, "invalid_value", "none");
	assert_string_equal(text_at(a, "/errors/0/pointer"), "/limit");
	assert_non_null(strstr(a.body, "messages made so far: 1"));
}

TEST(jitter_is_known_before)
{
	enum { HOUR_MS = 3600000 };
	static const char body[] =
		"{\"cron\":\"@hourly\",\"start_at_ms\":1806102000000,\"jitter_ms\":600000,\"body\":1}";
	int64_t late_ms[2][5];
	char pointer[32];

	for (int i = 0; i < 4; i++) {
		struct answer a =
			i < 2 ? schedule("PUT", i ? "t" : "s", body) : schedule("GET", i == 3 ? "t" : "s", NULL);
		for (int k = 0; k < 5; k++) {
			snprintf(pointer, sizeof(pointer), "/next/%d/at_ms", k);
			int64_t late = int_at(a, pointer) - 1806102000000 - k * (int64_t)HOUR_MS;
			assert_in_range(late, 0, 600000);
			if (i >= 2)
				assert_int_equal(late, late_ms[i - 2][k]);
			else
				late_ms[i][k] = late;
		}
	}
	assert_memory_not_equal(late_ms[0], late_ms[1], sizeof(late_ms[0])); /* two schedules differ */
	assert_true(late_ms[0][0] != late_ms[0][1] || late_ms[0][1] != late_ms[0][2]);
}

/*
 * The message is due at the instant that GET showed before. While it is delayed, it counts as the
 * last message, so the next instants are skipped.
 */
TEST(a_late_message_is_delayed)
{
	struct answer a = schedule("PUT", "s", "{\"every_ms\":100,\"jitter_ms\":86400000,\"body\":1}");
	int64_t due_ms = int_at(a, "/next_at_ms");
	wait_until(int_at(schedule("GET", "s", NULL), "/skipped") > 0, SOON_MS);
	assert_int_equal(int_at(schedule("GET", "s", NULL), "/sent"), 1);
	a = list("?state=delayed");
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_int_equal(int_at(a, "/items/0/deliver_at_ms"), due_ms);
	assert_in_range(due_ms - int_at(a, "/items/0/schedule/at_ms"), 0, 86400000);
	assert_int_equal(count_in(receive(NULL)), 0);
}
