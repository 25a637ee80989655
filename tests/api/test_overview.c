/*
 * GET /overview returns each kind of finding in Redis, worst first and within its bounds. A value
 * that cannot be read is null. All clients that ask at the same time share one look at Redis;
 * without clients there is none. (A Cluster that lost a shard: tests/faults/test_overview_away.c.)
 */
#include <signal.h>
#include <time.h>

#include "../support/leap.h"
#include "../support/raw.h"
#include "../support/waiter.h"
#include "overview_stage.h"

enum { MANY = 10000, ASKERS = 20 };

/* The code of a part that could not be asked about; "" if it could. */
static const char *unknown(struct answer a, const char *of)
{
	const json_t *part = json_item(a, "/unknown", "of", of);

	return part ? json_string_value(json_object_get(part, "code")) : "";
}

/* Receives one message, and settles its delivery: `end` follows the receipt in the target. */
static void settle_one(const char *method, const char *queue, const char *end, const char *body)
{
	char target[256];

	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	struct answer a = http(client, "POST", target, NULL);
	snprintf(target, sizeof(target), "/queues/%s/deliveries/%s%s", queue, text_at(a, "/messages/0/receipt"), end);
	done(method, target, body);
}

/* ---- What is found ---- */

/* The clock of this Redis is days away from the clock of the machine. */
TEST(clocks_that_differ_are_found)
{
	struct answer a = look();
	int64_t off_ms = (int64_t)time(NULL) * 1000 - server_now_ms(&redis);
	char detail[128];

	snprintf(detail, sizeof(detail), "the clock of Redis is %.1f s behind the clock of the daemon's machine",
		 (double)number(finding(a, "clock_off"), "value") / 1000);
	assert_detail(finding(a, "clock_off"), detail);
	assert_in_range(number(finding(a, "clock_off"), "value"), off_ms - 3600000, off_ms + 60000);
	a = http(client, "GET", "/info", NULL);
	assert_in_range(-int_at(a, "/redis/nodes/0/clock_offset_ms"), off_ms - 3600000, off_ms + 60000);
	assert_in_range(metric_value(&patternd, "redis_clock_offset_seconds"), off_ms / 1000 - 3600,
			off_ms / 1000 + 60);
}

/* An idle daemon learns of no clock, and Redis's may have been set since. */
TEST(a_clock_that_was_read_long_ago_is_no_finding)
{
	struct daemon d = { 0 };

	if (daemon_is_sanitized())
		skip(); /* it would wait for minutes */
	may_leap(&d);
	daemon_start(&d, "--redis", redis.url);
	struct client *c = client_open(d.port);
	assert_status(http(c, "GET", "/counters/a", NULL), 200);
	assert_true(metric_value(&d, "redis_clock_offset_seconds") > 2);
	leap(&d, 601);
	assert_true(metric_value(&d, "redis_clock_offset_seconds") == 0);
	client_close(c);
	daemon_stop(&d);
}

TEST(nothing_needs_a_person)
{
	done("POST", "/queues/calm/messages", "{\"messages\":[{\"body\":1},{\"body\":2,\"delay_ms\":600000}]}");
	done("POST", "/locks/calm", "{\"ttl_ms\":600000}");
	struct answer a = look();
	assert_true(bool_at(a, "/complete"));
	assert_int_equal(found(a), 0);
	assert_int_equal(found(a), 0);
	assert_int_equal(json_array_size(json_at(a, "/unknown")), 0);
	json_t *wanted = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "count", 1, "ready", 1, "blocked", 0,
				   "delayed", 1, "in_flight", 0, "dead", 0, "paused", 0);
	assert_true(json_equal(json_at(a, "/queues"), wanted));
	json_decref(wanted);
	assert_int_equal(int_at(a, "/locks/count"), 1);
	assert_int_equal(int_at(a, "/locks/waiters"), 0);
	assert_int_equal(int_at(a, "/push/targets"), 0);
}

static void make_trouble(void)
{
	done("POST", "/queues/old/messages", "{\"body\":1}");
	done("POST", "/queues/shut/messages", "{\"messages\":[{\"body\":1},{\"body\":2}]}");
	done("PATCH", "/queues/shut", "{\"paused\":true}");
	done("PUT", "/queues/late/schedules/s", "{\"every_ms\":1000,\"body\":1}");
	done("PUT", "/queues/shut/schedules/s", "{\"every_ms\":1000,\"body\":1}");
	done("POST", "/queues/held/messages",
	     "{\"messages\":[{\"body\":1,\"group\":\"g\"},{\"body\":2,\"group\":\"g\"}]}");
	done("POST", "/queues/held/groups/g/pause", "{\"for_ms\":7200000}");
	for (int i = 0; i < 3; i++) {
		const char *queue = i ? "more-dead" : "dead";
		char target[64];
		snprintf(target, sizeof(target), "/queues/%s/messages", queue);
		done("POST", target, "{\"body\":1}");
		settle_one("POST", queue, "/reject", "{\"dead\":true}");
	}
	done("POST", "/locks/a", "{\"ttl_ms\":600000,\"owner\":\"worker-7\"}");
}

TEST(all_that_waits_is_found)
{
	make_trouble();
	struct raw *waiting = waiter_at(&patternd, "/locks/a", "{\"ttl_ms\":1000,\"wait_ms\":60000}", "");
	wait_until(tickets_at(&redis, "p:lock:{a}") == 1, SOON_MS);
	struct answer a = look();
	assert_int_equal(found(a), 2); /* nothing is old yet */
	assert_text(finding(a, "dead_letters"), "name", "more-dead");
	assert_int_equal(number(finding(a, "dead_letters"), "value"), 2);
	assert_detail(finding(a, "dead_letters"), "2 dead letters wait for a redrive or a purge");
	assert_string_equal(text_at(a, "/findings/2/name"), "dead"); /* behind the clock */

	*redis_clock_us += 20000000;
	a = look();
	assert_int_equal(number(finding(a, "lock_waiting"), "value"), 20000);
	assert_detail(finding(a, "lock_waiting"), "1 request waits for the lock, which worker-7 holds");
	assert_text(finding(a, "schedule_missed"), "name", "late");
	assert_detail(finding(a, "schedule_missed"),
		      "a schedule is due, and no worker receives from the queue to make its message");
	assert_in_range(number(finding(a, "schedule_missed"), "value"), 19000, 20000);
	assert_int_equal(number(finding(a, "schedule_missed"), "since_at_ms"),
			 server_now_ms(&redis) - number(finding(a, "schedule_missed"), "value"));
	assert_null(finding(a, "messages_waiting"));
	assert_null(finding(a, "groups_blocked"));
	raw_close(waiting);

	*redis_clock_us += 50000000;
	a = look();
	assert_text(finding(a, "groups_blocked"), "name", "held");
	assert_int_equal(number(finding(a, "groups_blocked"), "value"), 2);
	assert_detail(finding(a, "groups_blocked"),
		      "2 messages are due, and wait for their groups: 1 is paused, 0 limited, 0 in a backoff; "
		      "the oldest waits for group g");
	assert_int_equal(number(finding(a, "groups_blocked"), "since_at_ms"), server_now_ms(&redis) - 70000);
	assert_int_equal(number(finding(a, "groups_blocked"), "until_ms"), server_now_ms(&redis) + 7200000 - 70000);
	assert_int_equal(number(finding(a, "messages_waiting"), "value"), 70000);
	assert_int_equal(found(a), 5); /* none about a lock, nor yet about a paused queue */
	*redis_clock_us += 3600000000;
	assert_int_equal(found(a = look()), 7);
	static const char *const order[] = { "clock_off",    "dead_letters",   "dead_letters",    "messages_waiting",
					     "queue_paused", "groups_blocked", "schedule_missed", "schedule_missed" };
	for (size_t i = 0; i < COUNT(order); i++)
		assert_text(json_array_get(json_at(a, "/findings"), i), "kind", order[i]);
	assert_string_equal(text_at(a, "/findings/7/name"), "shut");
	assert_string_equal(text_at(a, "/findings/7/detail"), "a schedule is due, and the queue is paused");
}

/* The row of a kind; NULL without one. */
static const json_t *row(struct answer a, const char *kind)
{
	return json_item(a, "/kinds", "kind", kind);
}

/* 60 queues with a message each hide neither the queue with ten, nor a pause that was forgotten. */
TEST(one_kind_hides_no_other)
{
	char queue[32];

	done("POST", "/queues/newsletter/messages", "{\"messages\":[{\"body\":1},{\"body\":2}]}");
	done("PATCH", "/queues/newsletter", "{\"paused\":true}");
	*redis_clock_us += 3600000000;
	for (int i = 0; i < 60; i++) {
		snprintf(queue, sizeof(queue), "/queues/q%d/messages", i);
		done("POST", queue, "{\"body\":1}");
	}
	*redis_clock_us += 5000000;
	done("POST", "/queues/payments/messages",
	     "{\"messages\":[{\"body\":1},{\"body\":1},{\"body\":1},{\"body\":1},{\"body\":1}]}");
	*redis_clock_us += 61000000;
	struct answer a = look();
	assert_int_equal(found(a), 62);
	assert_int_equal(json_array_size(json_at(a, "/findings")), 22);
	assert_int_equal(number(row(a, "messages_waiting"), "finding_count"), 61);
	assert_int_equal(number(row(a, "messages_waiting"), "count"), 65);
	assert_int_equal(number(row(a, "messages_waiting"), "since_at_ms"), server_now_ms(&redis) - 66000);
	assert_text(finding(a, "messages_waiting"), "name", "payments"); /* although others wait for longer */
	assert_int_equal(number(finding(a, "messages_waiting"), "count"), 5);
	assert_text(finding(a, "queue_paused"), "name", "newsletter");
	assert_int_equal(number(row(a, "queue_paused"), "count"), 2);
	a = http(client, "GET", "/overview?kind=queue_paused", NULL);
	assert_int_equal(json_array_size(json_at(a, "/findings")), 1);
	assert_int_equal(json_array_size(json_at(a, "/kinds")), 3);
	a = http(client, "GET", "/overview?kind=messages_waiting&limit=1000", NULL);
	assert_int_equal(json_array_size(json_at(a, "/findings")), 61);
	a = http(client, "GET", "/overview?limit=1", NULL);
	assert_int_equal(json_array_size(json_at(a, "/findings")), 3);
	assert_problem(http(client, "GET", "/overview?kind=paused", NULL), 400, "invalid_value", "none");
}

static void send_of_group(const char *queue, const char *group, int count)
{
	char target[64], body[64];

	snprintf(target, sizeof(target), "/queues/%s/messages", queue);
	snprintf(body, sizeof(body), "{\"body\":1,\"group\":\"%s\"}", group);
	for (int i = 0; i < count; i++)
		done("POST", target, body);
}

/* Messages that wait behind a message in flight do not count, however long a worker holds it. */
TEST(a_paused_group_is_found_while_others_work)
{
	char group[32];

	done("PUT", "/queues/gq", "{\"order\":\"strict\"}");
	send_of_group("gq", "live", 3);
	done("POST", "/queues/gq/receive", "{\"visibility_ms\":3600000}");
	*redis_clock_us += 70000000;
	struct answer a = look();
	assert_int_equal(int_at(a, "/queues/in_flight"), 1);
	assert_int_equal(int_at(a, "/queues/blocked"), 2);
	assert_int_equal(found(a), 0);
	assert_true(bool_at(a, "/complete"));

	for (int i = 0; i < 1100; i++) { /* more groups than fit into a page, all before `stuck` by name */
		snprintf(group, sizeof(group), "group-%d", i);
		send_of_group("gq", group, 1);
	}
	for (int i = 0; i < 11; i++)
		done("POST", "/queues/gq/receive", "{\"limit\":100,\"visibility_ms\":3600000}");
	done("POST", "/queues/gq/groups/stuck/pause", "{\"for_ms\":3600000}");
	send_of_group("gq", "stuck", 5);
	*redis_clock_us += 50000000;
	assert_null(finding(look(), "groups_blocked"));
	*redis_clock_us += 11000000;
	a = look();
	assert_int_equal(int_at(a, "/queues/in_flight"), 1101);
	assert_text(finding(a, "groups_blocked"), "name", "gq");
	assert_int_equal(number(finding(a, "groups_blocked"), "value"), 5);
	assert_detail(finding(a, "groups_blocked"),
		      "5 messages are due, and wait for their groups: 1 is paused, 0 limited, 0 in a backoff; "
		      "the oldest waits for group stuck");
	assert_in_range(server_now_ms(&redis) - number(finding(a, "groups_blocked"), "since_at_ms"), 60900, 61000);
	assert_int_equal(found(a), 1);
	done("POST", "/queues/gq/groups/stuck/resume", NULL);
	assert_null(finding(look(), "groups_blocked"));
	done("POST", "/queues/gq/groups/live/pause", "{\"for_ms\":3600000}"); /* one of its messages is in flight */
	assert_int_equal(number(finding(look(), "groups_blocked"), "value"), 2);
}

/* Queues that work do not hide one that is stuck, however many there are. */
TEST(a_stuck_group_is_found_among_many_queues)
{
	enum { BUSY = 30 };
	char target[64], queue[32];

	for (int i = 0; i < BUSY; i++) {
		snprintf(queue, sizeof(queue), "busy%d", i);
		snprintf(target, sizeof(target), "/queues/%s", queue);
		done("PUT", target, "{\"order\":\"strict\"}");
		send_of_group(queue, "g", 3);
		strcat(target, "/receive");
		done("POST", target, "{\"visibility_ms\":3600000}");
	}
	send_of_group("stuck", "g", 1);
	done("POST", "/queues/stuck/receive", "{\"visibility_ms\":3600000}");
	send_of_group("stuck", "h", 1);
	done("POST", "/queues/stuck/groups/h/pause", "{\"for_ms\":3600000}");
	*redis_clock_us += 70000000;
	struct answer a = look();
	assert_int_equal(int_at(a, "/queues/in_flight"), BUSY + 1);
	assert_int_equal(int_at(a, "/queues/blocked"), 2 * BUSY + 1);
	assert_text(finding(a, "groups_blocked"), "name", "stuck");
	assert_int_equal(found(a), 1);
	assert_true(bool_at(a, "/complete"));
}

/*
 * A strict group waits for a delivery that has timed out, until the next receive. Nothing else
 * shows that no worker receives. A short backoff is not a finding.
 */
TEST(a_group_behind_a_lost_delivery_is_found)
{
	char target[256];

	done("PUT", "/queues/lost", "{\"order\":\"strict\",\"backoff\":{\"base_ms\":30000,\"max_ms\":30000}}");
	send_of_group("lost", "g", 3);
	*redis_clock_us += 70000000;
	settle_one("POST", "lost", "/reject", NULL);
	assert_null(finding(look(), "groups_blocked"));
	*redis_clock_us += 31000000;
	struct answer a = http(client, "POST", "/queues/lost/receive", "{\"visibility_ms\":1000}");
	snprintf(target, sizeof(target), "/queues/lost/messages/%s?in_flight=true", text_at(a, "/messages/0/id"));
	done("DELETE", target, NULL);
	assert_null(finding(look(), "groups_blocked"));
	*redis_clock_us += 2000000;
	look(); /* the next message is ready, and no worker takes it */
	*redis_clock_us += 70000000;
	a = look();
	assert_int_equal(int_at(a, "/queues/ready"), 1);
	assert_text(finding(a, "messages_waiting"), "name", "lost");
}

/* Other queues are asked about, too, and what could not be asked is named. */
TEST(a_queue_that_another_program_broke_hides_no_other)
{
	send_of_group("broken", "g", 3);
	done("POST", "/queues/broken/groups/g/pause", "{\"for_ms\":3600000}");
	send_of_group("stuck", "g", 1);
	done("POST", "/queues/stuck/groups/g/pause", "{\"for_ms\":3600000}");
	server_command(&redis, "ZADD p:queue:{broken}:order 0 %s", "\1");
	*redis_clock_us += 70000000;
	struct answer a = look();
	assert_string_equal(unknown(a, "groups"), "foreign_key");
	assert_int_equal(found(a), 2);
	assert_int_equal(number(finding(a, "groups_blocked"), "value"), 4);
	assert_string_equal(text_at(a, "/findings/2/name"), "stuck");
	assert_int_equal(int_at(a, "/findings/2/value"), 1);
	assert_int_equal(int_at(a, "/findings/2/since_at_ms"), server_now_ms(&redis) - 70000);
}

/*
 * A group that its rate blocks is found while the wait lasts long, and once the wait has ended but
 * no worker receives.
 */
TEST(a_group_of_a_rate_is_found_once_it_is_stuck)
{
	done("PUT", "/queues/slow", "{\"group_rate\":{\"limit\":1,\"window_ms\":180000,\"burst\":1}}");
	send_of_group("slow", "a", 2);
	settle_one("DELETE", "slow", "", NULL);
	send_of_group("slow", "live", 1);
	done("POST", "/queues/slow/receive", "{\"visibility_ms\":3600000}");
	*redis_clock_us += 65000000; /* 115 s are left */
	struct answer a = look();
	assert_detail(finding(a, "groups_blocked"),
		      "1 message is due, and waits for its group: 0 are paused, 1 limited, 0 in a backoff; "
		      "the oldest waits for group a");
	*redis_clock_us += 60000000; /* 55 s are left */
	assert_null(finding(look(), "groups_blocked"));
	*redis_clock_us += 60000000; /* the wait has ended: the message is ready */
	look();
	*redis_clock_us += 65000000; /* and no worker receives */
	assert_text(finding(look(), "messages_waiting"), "name", "slow");
}

/* A read creates the message that is due, and this message then waits. */
TEST(reads_of_a_schedule_do_not_hide_that_it_is_not_served)
{
	done("PUT", "/queues/read/schedules/s", "{\"every_ms\":5000,\"body\":1}");
	*redis_clock_us += 20000000;
	assert_non_null(finding(look(), "schedule_missed"));
	for (int i = 0; i < 12; i++) {
		done("GET", i % 2 ? "/queues/read/schedules" : "/queues/read/schedules/s", NULL);
		*redis_clock_us += 5000000;
	}
	struct answer a = look();
	assert_int_equal(int_at(a, "/queues/ready"), 1);
	assert_null(finding(a, "schedule_missed"));
	assert_text(finding(a, "messages_waiting"), "name", "read");
	assert_true(number(finding(a, "messages_waiting"), "value") > 60000);
}

/* A client may wait by many short requests, so a lock that is held for long counts as well. */
TEST(short_waits_for_a_lock_that_is_held_for_long_are_found)
{
	struct answer a = http(client, "POST", "/locks/a", "{\"ttl_ms\":600000,\"owner\":\"worker-7\"}");
	char token[128];
	int64_t granted_at_ms = server_now_ms(&redis);
	snprintf(token, sizeof(token), "%s", lock_token(text_at(a, "/token")));
	*redis_clock_us += 50000000;
	struct raw *waiting = waiter_at(&patternd, "/locks/a", "{\"ttl_ms\":1000,\"wait_ms\":60000}", "");
	wait_until(tickets_at(&redis, "p:lock:{a}") == 1, SOON_MS);
	assert_status(http(client, "POST", "/locks/a/extend", "{\"ttl_ms\":600000}", token), 200);
	assert_null(finding(look(), "lock_waiting"));
	raw_close(waiting);
	*redis_clock_us += 11000000; /* held for long, but no request waits */
	wait_until(tickets_at(&redis, "p:lock:{a}") == 0, SOON_MS);
	assert_null(finding(look(), "lock_waiting"));
	waiting = waiter_at(&patternd, "/locks/a", "{\"ttl_ms\":1000,\"wait_ms\":60000}", "");
	wait_until(tickets_at(&redis, "p:lock:{a}") == 1, SOON_MS);
	a = look();
	assert_int_equal(number(finding(a, "lock_waiting"), "value"), 61000);
	assert_int_equal(number(finding(a, "lock_waiting"), "since_at_ms"), granted_at_ms);
	assert_non_null(strstr(a.body, "which worker-7 has held for more than a minute"));
	raw_close(waiting);
}

static void poll(const char *lock)
{
	assert_problem(http(client, "POST", lock, "{\"ttl_ms\":1000}"), 409, "lock_held", "none");
}

/* Clients that do not wait leave no trace in Redis: the daemon that refuses them knows of them. */
TEST(a_lock_that_clients_ask_for_again_and_again_is_found)
{
	if (daemon_is_sanitized()) /* leap() would sleep for six minutes */
		skip();
	done("POST", "/locks/stuck", "{\"ttl_ms\":3600000,\"owner\":\"w\"}");
	*redis_clock_us += 400000000;
	for (int i = 0; i < 40; i++) {
		poll("/locks/stuck");
		leap(&patternd, 9);
	}
	struct answer a = overview();
	assert_int_equal(number(finding(a, "lock_waiting"), "value"), 400000);
	assert_detail(finding(a, "lock_waiting"),
		      "clients ask for the lock again and again, which w has held for more than a minute");
	assert_in_range(int_at(http(client, "GET", "/locks", NULL), "/items/0/polled_ms"), 351000, 370000);
	leap(&patternd, 20);
	poll("/locks/stuck"); /* after a pause */
	assert_null(finding(overview(), "lock_waiting"));
}

/* The lists leave such names out, and state how many these are. */
TEST(names_whose_keys_another_program_wrote_are_counted)
{
	done("POST", "/queues/sound/messages", "{\"body\":1}");
	done("POST", "/queues/broken/messages", "{\"body\":1}");
	done("POST", "/locks/broken", "{\"ttl_ms\":600000}");
	server_command(&redis, "SET p:queue:{broken} x");
	server_command(&redis, "SET p:lock:{broken} x");
	struct answer a = http(client, "GET", "/queues", NULL);
	assert_int_equal(json_array_size(json_at(a, "/items")), 1);
	assert_int_equal(int_at(a, "/unreadable"), 1);
	a = look();
	assert_string_equal(unknown(a, "queues"), "foreign_key");
	assert_string_equal(unknown(a, "locks"), "foreign_key");
	assert_string_equal(
		text_at(a, "/unknown/1/detail"),
		"queues that cannot be read, since another program or another version of the daemon wrote to their keys: 1");
	assert_int_equal(int_at(a, "/queues/count"), 1);
	assert_int_equal(int_at(a, "/locks/count"), 0);
}

TEST(a_target_that_is_not_called_is_found)
{
	struct daemon d = { 0 };
	struct client *usual = client;
	char path[256];

	snprintf(path, sizeof(path), "%s/push.json", temp_dir());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "{\"jobs\":{\"url\":\"http://127.0.0.1:%d/jobs\"}}", free_port());
	fclose(file);
	daemon_start(&d, "--redis", redis.url, "--push", path);
	client = client_open(d.port);
	done("POST", "/queues/jobs/messages", "{\"body\":1}");
	wait_until(finding(overview(), "push_backing_off") != NULL, SOON_MS);
	struct answer a = overview();
	assert_text(finding(a, "push_backing_off"), "name", "jobs");
	assert_text(finding(a, "push_backing_off"), "severity", "error");
	assert_true(number(finding(a, "push_backing_off"), "until_ms") > 0);
	assert_int_equal(int_at(a, "/push/targets"), 1);
	assert_int_equal(int_at(a, "/push/backing_off"), 1);
	client_close(client);
	client = usual;
	daemon_stop(&d);
}

TEST(memory_that_is_nearly_full_is_found)
{
	struct daemon d = { 0 };
	struct client *usual = client;

	server_nearly_fill(&redis);
	daemon_start(&d, "--redis", redis.url);
	client = client_open(d.port);
	struct answer a = overview();
	assert_in_range(number(finding(a, "memory_full"), "value"), 91, 99);
	assert_text(finding(a, "memory_full"), "unit", "percent");
	server_make_room(&redis);
	client_close(client);
	client = usual;
	daemon_stop(&d);
}

static bool is_full(void)
{
	return finding(overview(), "memory_full") != NULL;
}

/*
 * The finding appears with the first command that Redis refuses, and ends soon after Redis has
 * memory again, whichever of the connections learns it.
 */
TEST(memory_that_is_full_is_found_at_once)
{
	struct daemon d = { 0 };
	struct client *usual = client;

	daemon_start(&d, "--redis", redis.url, "--pool-size", "64");
	client = client_open(d.port);
	done("GET", "/queues/any", NULL);
	assert_false(is_full());
	server_command(&redis, "CONFIG SET maxmemory 1");
	assert_problem(http(client, "POST", "/locks/full", NULL), 503, "redis_out_of_memory", "none");
	wait_until(is_full(), SOON_MS);
	assert_true(metric_of(&d, "redis_out_of_memory_total") > 0);
	server_command(&redis, "CONFIG SET maxmemory 0");
	wait_until(!is_full(), SOON_MS);
	client_close(client);
	client = usual;
	daemon_stop(&d);
}

/* ---- What is not known ---- */

static bool is_away(void)
{
	struct answer a = overview();

	return finding(a, "redis_away") && json_is_null(json_at(a, "/queues"));
}

/* Once the daemon knows that Redis is away, the values are null, never zeros or earlier values. */
TEST(what_cannot_be_asked_is_null)
{
	look();
	server_kill(&redis);
	wait_until(metric_of(&patternd, "redis_up") == 0, SOON_MS);
	assert_true(is_away());
	struct answer a = overview();
	assert_true(json_is_null(json_at(a, "/locks")));
	assert_string_equal(unknown(a, "queues"), "redis_unavailable");
	assert_string_equal(unknown(a, "locks"), "redis_unavailable");
	assert_text(finding(a, "redis_away"), "severity", "error");
	assert_int_equal(int_at(a, "/push/targets"), 0);
	server_restart(&redis);
	wait_until(!is_away(), SOON_MS);
	assert_int_equal(json_array_size(json_at(look(), "/unknown")), 0);
}

/*
 * All clients that ask while Redis hangs get the same answer, within its time limit. One client
 * disconnects first.
 */
TEST(a_redis_that_hangs_is_not_waited_for)
{
	struct raw *asker[ASKERS];
	json_int_t at_ms = 0;

	seen_at_ms = int_at(look(), "/at_ms");
	if (daemon_is_sanitized())
		skip();
	leap(&patternd, SHARED_S);
	server_signal(&redis, SIGSTOP);
	int64_t began_ms = monotonic_ms();
	for (int i = 0; i < ASKERS; i++) {
		asker[i] = raw_connect(patternd.port);
		assert_true(raw_text(asker[i], "GET /overview HTTP/1.1\r\nHost: localhost\r\n\r\n"));
	}
	raw_reset(asker[0]);
	for (int i = 1; i < ASKERS; i++) {
		struct answer a = raw_answer(asker[i], SOON_MS);
		assert_int_equal(a.status, 200);
		assert_true(json_is_null(json_at(a, "/queues")));
		assert_true(*unknown(a, "queues")); /* no_answer, or redis_unavailable if a call timed out */
		assert_true(at_ms == 0 || int_at(a, "/at_ms") == at_ms);
		at_ms = int_at(a, "/at_ms");
		raw_close(asker[i]);
	}
	assert_true(monotonic_ms() - began_ms < patience_ms(2500));
	server_signal(&redis, SIGCONT);
	wait_until(http(client, "GET", "/locks/a", NULL).status == 200, SOON_MS);
}

/* ---- What it costs ---- */

TEST(one_look_is_for_all_and_ends)
{
	done("POST", "/queues/one/messages", "{\"body\":1}");
	look();
	long long scripts = server_scripts_run(&redis);
	look();
	assert_int_equal(server_scripts_run(&redis) - scripts, 3); /* two pages of names, and the queue */
	for (int i = 0; i < 100; i++)
		overview();
	assert_int_equal(server_scripts_run(&redis) - scripts, 3);
	if (daemon_is_sanitized())
		skip();
	for (int i = 0; i < 20; i++) { /* an hour in which no client asks */
		leap(&patternd, 180);
		client_reconnect(client);
		wait_until(http(client, "GET", "/healthz", NULL).status == 200, SOON_MS);
	}
	assert_int_equal(server_scripts_run(&redis) - scripts, 3);
}

/* If there is more than a bound allows, the answer is cut, and `complete` is false. */
TEST(ten_thousand_queues_are_bounded)
{
	struct daemon d = { 0 };
	struct client *usual = client;

	server_command(&redis, "EVAL %s 0",
		       "local now = redis.call('TIME')[1] * 1000 "
		       "for i = 1, 10000 do "
		       "  redis.call('HSET', 'p:queue:{q' .. i .. '}', 'sent', 1) "
		       "  redis.call('ZADD', 'p:queue:{q' .. i .. '}:dead', string.format('%.0f', now), 'm') "
		       "  redis.call('ZADD', 'p:names:{}:queue', 0, 'q' .. i) "
		       "end");
	daemon_start(&d, "--redis", redis.url); /* its time does not leap */
	client = client_open(d.port);
	int64_t began_ms = monotonic_ms();
	struct answer a = overview();
	assert_true(monotonic_ms() - began_ms < patience_ms(6000));
	int64_t count = int_at(a, "/queues/count");
	assert_true(daemon_is_sanitized() ? count > 0 : bool_at(a, "/complete") && count >= MANY);
	assert_int_equal(int_at(a, "/queues/dead"), found(a));
	assert_int_equal(json_array_size(json_at(a, "/findings")), 20 + (finding(a, "clock_off") != NULL));
	assert_int_equal(number(row(a, "dead_letters"), "count"), int_at(a, "/queues/dead"));
	if (count >= MANY) {
		a = http(client, "GET", "/overview?kind=dead_letters&limit=1000", NULL);
		assert_int_equal(json_array_size(json_at(a, "/findings")), 1000);
	}
	seen_at_ms = int_at(a, "/at_ms");
	assert_int_equal(int_at(overview(), "/at_ms"), seen_at_ms);
	assert_true(metric_value(&d, "loop_longest_iteration_seconds") * 1000 < (double)patience_ms(250));
	client_close(client);
	client = usual;
	daemon_stop(&d);
}

SUITE(.open = start, .close = stop, .after = forget_all);
