/*
 * Over HTTP: a queue with a dead_letter_queue, into which its dead letters move by themselves. The
 * tests look at the other queue, `d`, since a GET of the queue itself or of a list begins a move as
 * well.
 */
#include "queue_stage.h"
#include "waiter.h"

#define SETTING "\"dead_letter_queue\":\"d\""

static struct answer at_d(const char *method, const char *tail, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "/queues/d%s", tail);
	return http(client, method, target, body);
}

/* False also if the queue does not exist yet. */
static bool has_ready(int count)
{
	struct answer a = at_d("GET", "", NULL);

	return a.status == 200 && int_at(a, "/ready") == count;
}

static long long dead_in_redis(void)
{
	return server_command(&redis, "ZCARD p:queue:{q}:dead")->integer;
}

static const char *take(const char *id, const char *more)
{
	static char receipt[128];
	char body[128];

	snprintf(body, sizeof(body), "{\"body\":1,\"id\":\"%s\",\"headers\":{\"tenant\":\"acme\"}%s}", id, more);
	assert_status(send_body(body), 201);
	struct answer a = receive("{\"visibility_ms\":30000}");
	snprintf(receipt, sizeof(receipt), "%s", receipt_in(a));
	return receipt;
}

static void die(const char *id)
{
	assert_status(reject(take(id, ""), "{\"dead\":true}"), 200);
}

/* The other queue must exist. */
static void configure_letters(void)
{
	assert_in_range(at_d("PATCH", "", "{}").status, 200, 201);
	configure("{" SETTING "}");
}

SUITE(.open = start, .close = stop, .after = forget_all);

/* ---- The setting ---- */

TEST(the_setting_is_kept_and_reset)
{
	static const char *const names[] = { "d", "0", "123", "-2", "1 2 3", "=d", "fair" };
	char body[64];

	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(body, sizeof(body), "{\"dead_letter_queue\":\"%s\"}", names[i]);
		struct answer a = queue(i % 2 ? "PUT" : "PATCH", body);
		assert_in_range(a.status, 200, 201);
		assert_string_equal(text_at(a, "/settings/dead_letter_queue"), names[i]);
		assert_status(queue("PATCH", "{\"delay_ms\":0}"), 200); /* unchanged */
		assert_string_equal(text_at(queue("GET", NULL), "/settings/dead_letter_queue"), names[i]);
		a = i % 2 ? queue("PUT", "{}") : queue("PATCH", "{\"dead_letter_queue\":null}");
		assert_true(json_is_null(json_at(a, "/settings/dead_letter_queue")));
	}
	for (int i = 0; i < 2; i++) {
		struct answer a = queue(i ? "PUT" : "PATCH", "{\"dead_letter_queue\":\"q\"}");
		assert_problem(a, 400, "invalid_value", "none");
		assert_string_equal(text_at(a, "/errors/0/pointer"), "/dead_letter_queue");
		assert_problem(queue(i ? "PUT" : "PATCH", "{\"dead_letter_queue\":\"settle\"}"), 400, "reserved_name",
			       "none");
	}
}

/* What was dead before the setting moves, too. */
TEST(older_letters_move)
{
	die("a");
	assert_int_equal(dead_in_redis(), 1);
	configure_letters();
	wait_until(has_ready(1), SOON_MS);
	wait_until(dead_in_redis() == 0, SOON_MS);
}

/* ---- Each way to die ---- */

static void by_rejection(void)
{
	die("a");
}

static void by_its_last_rejection(void)
{
	assert_status(reject(take("a", ",\"max_receives\":1"), NULL), 200);
}

static void by_settling(void)
{
	char body[192];

	snprintf(body, sizeof(body), "{\"reject\":[{\"receipt\":\"%s\",\"dead\":true}]}", take("a", ""));
	struct answer a = post("/settle", body, NULL);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/deliveries/0/outcome"), "rejected");
}

static void by_settling_in_a_turn(void)
{
	char body[192];

	snprintf(body, sizeof(body), "{\"settle\":{\"reject\":[{\"receipt\":\"%s\",\"dead\":true}]}}", take("a", ""));
	assert_status(receive(body), 200);
}

static void time_out(const char *then, const char *body)
{
	assert_status(send_body("{\"body\":1,\"id\":\"a\",\"headers\":{\"tenant\":\"acme\"},\"max_receives\":1}"), 201);
	assert_status(receive("{\"visibility_ms\":1}"), 200); /* it may have ended by the answer */
	next_ms();
	next_ms();
	assert_status(http(client, "POST", then, body), 200);
}

static void by_its_visibility(void)
{
	time_out("/queues/q/receive", NULL);
}

static void by_its_visibility_in_one_of_several(void)
{
	time_out("/queues/receive", "{\"queues\":[\"other\",\"q\"]}");
}

/* A receive that waits since before is the one that notices. */
static void while_a_receiver_waits(void)
{
	assert_status(send_body("{\"body\":1,\"id\":\"a\",\"headers\":{\"tenant\":\"acme\"},\"max_receives\":1}"), 201);
	assert_status(receive("{\"visibility_ms\":100}"), 200); /* it may have ended by the answer */
	struct raw *w = waiter(&patternd, "q", "{\"wait_ms\":20000}");
	wait_until(has_ready(1), SOON_MS);
	raw_reset(w);
}

static const struct death {
	const char *name;
	void (*happens)(void);
} deaths[] = {
	{ "rejected", by_rejection },
	{ "rejected once too often", by_its_last_rejection },
	{ "settled", by_settling },
	{ "settled in a turn", by_settling_in_a_turn },
	{ "timed out", by_its_visibility },
	{ "timed out, received from several", by_its_visibility_in_one_of_several },
	{ "timed out, a receiver waits", while_a_receiver_waits },
};

static void a_dead_letter_moves(void **state)
{
	const struct death *death = *state;

	configure_letters();
	death->happens();
	wait_until(has_ready(1), SOON_MS);
	wait_until(dead_in_redis() == 0, SOON_MS);
	struct answer a = at_d("POST", "/receive", NULL);
	assert_ids(a, IDS("a"));
	assert_string_equal(text_at(a, "/messages/0/dead_from"), "q");
	assert_string_equal(text_at(a, "/messages/0/headers/tenant"), "acme");
	assert_int_equal(int_at(a, "/messages/0/receives"), 1);
	assert_int_equal(int_at(a, "/messages/0/body"), 1);
	assert_counts(0, 0, 0, 0);
	assert_int_equal(count_of("/died"), 1);
}

TEST_ROWS(a_dead_letter_moves, deaths, name);

TEST(many_letters_move)
{
	configure("{\"max_receives\":1}");
	send_many(1500, "");
	for (int i = 0; i < 15; i++)
		receive("{\"limit\":100,\"visibility_ms\":1}");
	next_ms();
	next_ms();
	wait_until(count_of("/dead") == 1500, SOON_MS);
	configure_letters();
	wait_until(has_ready(1500), SOON_MS);
}

/* ---- The other queue refuses ---- */

static const char *move_at(void)
{
	static char text[32];
	const redisReply *r = server_command(&redis, "HGET p:queue:{q} move_at");

	snprintf(text, sizeof(text), "%s", r->str ? r->str : "");
	return text;
}

TEST(letters_stay_while_the_other_queue_is_full)
{
	char tried[32];

	assert_status(at_d("PUT", "", "{\"max_messages\":2}"), 201);
	assert_status(at_d("POST", "/messages", "{\"body\":1}"), 201);
	configure_letters();
	die("a");
	wait_until(has_ready(2) && dead_in_redis() == 0, SOON_MS);
	die("b");
	wait_until(*move_at(), SOON_MS);
	snprintf(tried, sizeof(tried), "%s", move_at());
	for (int i = 0; i < 20 && server_now_ms(&redis) < atoll(tried) - 200; i++) /* it is not tried at each receive */
		assert_status(receive(NULL), 200);
	assert_string_equal(move_at(), tried);
	assert_int_equal(dead_in_redis(), 1);
	assert_true(has_ready(2));
	struct answer a = queue("GET", NULL);
	assert_string_equal(text_at(a, "/findings/0/kind"), "dead_letters");
	assert_string_equal(
		text_at(a, "/findings/0/detail"),
		"1 dead letter has not moved to queue 'd': check that it exists, and has room (max_messages). A letter "
		"whose id is in use or remembered there stays. Each look at this queue tries the move again");
	assert_int_equal(count_in(at_d("POST", "/receive", "{\"limit\":9,\"acknowledge\":true}")), 2);
	struct raw *w = waiter(&patternd, "q", "{\"wait_ms\":20000}"); /* it looks once a second */
	wait_until(has_ready(1), SOON_MS);
	wait_until(dead_in_redis() == 0, SOON_MS);
	raw_reset(w);
}

/* An operator enlarges the other queue, and sees in the overview that the letters leave. */
TEST(the_overview_begins_the_move)
{
	assert_status(at_d("PUT", "", "{\"max_messages\":1}"), 201);
	configure_letters();
	die("a");
	die("b");
	wait_until(has_ready(1) && *move_at() && dead_in_redis() == 1, SOON_MS);
	assert_string_equal(server_command(&redis, "HGET p:queue:{d} letters_from")->str, "q");
	assert_status(at_d("PATCH", "", "{\"max_messages\":2}"), 200);
	wait_until(http(client, "GET", "/overview", NULL).status == 200 && has_ready(2), SOON_MS);
	wait_until(dead_in_redis() == 0, SOON_MS);
}

/* The next receive begins the move, also at a daemon that does not know of the death. */
TEST(letters_move_once_the_other_queue_is_one)
{
	server_command(&redis, "SET p:queue:{d} 1");
	configure("{" SETTING "}");
	die("a");
	wait_until(*move_at(), SOON_MS);
	assert_int_equal(dead_in_redis(), 1);
	client_close(client);
	daemon_stop(&patternd);
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	server_command(&redis, "DEL p:queue:{d}");
	assert_status(at_d("PUT", "", "{}"), 201);
	wait_until(receive(NULL).status == 200 && has_ready(1), SOON_MS);
	wait_until(dead_in_redis() == 0, SOON_MS);
}

/* As a duplicate it would be lost. Another letter moves. */
TEST(a_letter_whose_id_is_taken_stays)
{
	assert_status(at_d("POST", "/messages", "{\"body\":2,\"id\":\"a\"}"), 201);
	configure_letters();
	die("a");
	die("b");
	wait_until(receive(NULL).status == 200 && has_ready(2), SOON_MS);
	wait_until(dead_in_redis() == 1, SOON_MS);
	assert_int_equal(int_at(at_d("GET", "/messages/a", NULL), "/body"), 2);
	assert_status(at_d("DELETE", "/messages/a", NULL), 204);
	wait_until(receive(NULL).status == 200 && has_ready(2), SOON_MS);
	assert_int_equal(int_at(at_d("GET", "/messages/a", NULL), "/body"), 1);
}

/* A letter makes no queue: its settings would be others than the deleted ones. */
TEST(letters_stay_while_the_other_queue_is_absent)
{
	configure_letters();
	die("a");
	wait_until(has_ready(1) && dead_in_redis() == 0, SOON_MS);
	assert_status(at_d("DELETE", "", NULL), 204);
	die("a");
	wait_until(*move_at(), SOON_MS);
	assert_int_equal(dead_in_redis(), 1);
	assert_false(json_is_true(json_at(at_d("GET", "", NULL), "/exists")));
	assert_status(at_d("PUT", "", "{}"), 201);
	wait_until(receive(NULL).status == 200 && has_ready(1), SOON_MS);
}

/* The other queue has the setting, too. */
TEST(a_letter_may_die_again)
{
	assert_status(at_d("PUT", "", "{\"dead_letter_queue\":\"q\"}"), 201);
	configure_letters();
	die("a");
	wait_until(has_ready(1) && dead_in_redis() == 0, SOON_MS);
	struct answer a = at_d("POST", "/receive", NULL);
	assert_status(delivery("d", receipt_in(a), "/reject", "{\"dead\":true}"), 200);
	wait_until(server_command(&redis, "ZCARD p:queue:{q}:ready")->integer == 1, SOON_MS);
	assert_string_equal(text_at(receive(NULL), "/messages/0/dead_from"), "d");
}

/* Its own ttl_ms, which began with the send, has no meaning there. */
TEST(the_life_of_a_letter_begins_with_the_move)
{
	assert_status(at_d("PUT", "", "{\"ttl_ms\":60000}"), 201);
	configure_letters();
	int64_t before_ms = server_now_ms(&redis);
	assert_status(reject(take("a", ",\"ttl_ms\":30000"), "{\"dead\":true}"), 200);
	wait_until(has_ready(1), SOON_MS);
	struct answer a = at_d("GET", "/messages/a", NULL);
	assert_in_range(int_at(a, "/expires_at_ms"), before_ms + 60000, server_now_ms(&redis) + 60000);
}

TEST(queues_are_listed_by_where_their_letters_move)
{
	static const char *const settings[] = { "{" SETTING "}", "{\"dead_letter_queue\":\"e\"}", "{}" };
	char target[64];

	for (int i = 0; i < 9; i++) {
		snprintf(target, sizeof(target), "/queues/s%d", i);
		assert_status(http(client, "PUT", target, settings[i % 3]), 201);
	}
	struct answer a = http_all(client, "/queues?dead_letter_queue=d");
	assert_int_equal(json_array_size(json_at(a, "/items")), 3);
	for (int i = 0; i < 3; i++) {
		snprintf(target, sizeof(target), "/items/%d/name", i);
		assert_int_equal((text_at(a, target)[1] - '0') % 3, 0);
	}
	a = http_all(client, "/queues?dead_letter_queue=d&match=s3&limit=1");
	assert_string_equal(text_at(a, "/items/0/name"), "s3");
	assert_int_equal(json_array_size(json_at(http_all(client, "/queues?dead_letter_queue=none"), "/items")), 0);
	a = http(client, "GET", "/queues?dead_letter_queue=", NULL);
	assert_status(a, 400);
}
