/*
 * A Cluster with one dead master, which serves the slots of the others
 * (cluster-require-full-coverage no). Every operation that walks several servers has what these
 * have, and names what it lacks: all lists, the overview, and a receive from several queues.
 */
#include <signal.h>
#include <string.h>

#include "../support/aside.h"
#include "../support/cluster_stage.h"
#include "../support/contract.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 10000, DEAD = 0, PAGES_MOST = 50 };
enum { LIVE_NAMES = STAGE_NAMES - STAGE_NAMES / CLUSTER_MASTERS };

/* The first name of the dead master, and of each live one. */
#define GONE stage_names[0]
#define LIVE stage_names[1]
#define OTHER stage_names[2]

static struct answer put(const char *path, const char *name, const char *body)
{
	char target[96];

	snprintf(target, sizeof(target), "%s/%s", path, name);
	return http(client, strcmp(path, "/locks") == 0 ? "POST" : "PUT", target, body);
}

static int slots_of_dead;

static int with_a_dead_master(void **state)
{
	int failed = cluster_of_masters(state);

	for (int i = 0; i < cluster.count; i++)
		server_command(&cluster.nodes[i].server, "CONFIG SET cluster-require-full-coverage no");
	for (int i = 0; i < STAGE_NAMES; i++) {
		wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
		assert_status(put("/locks", stage_names[i], "{\"ttl_ms\":600000}"), 201);
		assert_status(put("/cache", stage_names[i], "{\"value\":1,\"ttl_ms\":600000}"), 201);
	}
	slots_of_dead = 0;
	for (int slot = 0; slot < CLUSTER_SLOTS; slot++)
		slots_of_dead += cluster.owner[slot] == DEAD;
	cluster_kill(&cluster, DEAD);
	wait_until(metric_of(&patternd, "cluster_slots_unserved") == slots_of_dead, SOON_MS);
	wait_until(send_to(LIVE).status == 201 && send_to(OTHER).status == 201, SOON_MS);
	return failed;
}

SUITE(.before = with_a_dead_master, .after = cluster_stage_close);

/* ---- Lists ---- */

static bool is_list(const struct contract_operation *op)
{
	const json_t *content = contract_member(op->responses, "200", "content");
	const json_t *schema = contract_member(json_object_get(content, "application/json"), "schema", NULL);

	return contract_member(schema, "properties", "unread_slots");
}

/* Reads all pages. Returns the number of items; `unread` is how many slots the pages left out. */
static int walk(const struct contract_operation *op, const char *limit, json_int_t *unread)
{
	char target[256], cursor[192] = "";
	int items = 0;

	*unread = 0;
	for (int page = 0; page < PAGES_MOST; page++) {
		snprintf(target, sizeof(target), "%s?limit=%s%s%s", op->path, limit, *cursor ? "&cursor=" : "", cursor);
		struct answer a = http(client, "GET", target, NULL);
		assert_status(a, 200);
		items += (int)json_array_size(json_at(a, "/items"));
		if (json_object_get(a.json, "unread_slots")) {
			*unread += int_at(a, "/unread_slots");
			assert_false(bool_at(a, "/complete"));
		}
		if (json_is_null(json_at(a, "/next_cursor")))
			return items;
		snprintf(cursor, sizeof(cursor), "%s", text_at(a, "/next_cursor"));
	}
	fail_msg("%s has no end", op->id);
	return 0;
}

TEST(each_list_has_what_can_be_reached)
{
	static const struct {
		const char *id;
		int items;
	} known[] = { { "queue_list", LIVE_NAMES }, { "lock_list", LIVE_NAMES }, { "cache_list", LIVE_NAMES } };
	int lists = 0;

	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (!is_list(op))
			continue;
		lists++;
		for (int with_pages = 0; with_pages < 2; with_pages++) {
			json_int_t unread;
			int items = walk(op, with_pages ? "1" : "100", &unread);
			assert_int_equal(unread, slots_of_dead);
			for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
				if (strcmp(known[k].id, op->id) == 0)
					assert_int_equal(items, known[k].items);
		}
	}
	assert_in_range(lists, 19, 99);
}

/* A server that has answered nothing yet is away only after the time for an answer. */
TEST(a_server_that_stops_is_left_out_too)
{
	json_int_t unread;
	const struct contract_operation *op = contract_operation("queue_list");

	server_signal(&cluster.nodes[1].server, SIGSTOP);
	walk(op, "100", &unread);
	assert_true(unread > slots_of_dead);
	server_signal(&cluster.nodes[1].server, SIGCONT);
}

TEST(no_server_left_is_a_problem)
{
	for (int i = 0; i < CLUSTER_MASTERS; i++)
		if (i != DEAD)
			cluster_kill(&cluster, i);
	wait_until(metric_of(&patternd, "redis_connections") == 0, SOON_MS);
	assert_problem(http(client, "GET", "/queues", NULL), 503, "redis_unavailable", "none");
	assert_problem(http(client, "GET", "/cache", NULL), 503, "redis_unavailable", "none");
}

TEST(the_overview_knows_the_live_shards)
{
	struct answer a = http(client, "GET", "/overview", NULL);

	assert_status(a, 200);
	assert_int_equal(int_at(a, "/queues/count"), LIVE_NAMES);
	assert_int_equal(int_at(a, "/locks/count"), LIVE_NAMES);
	assert_int_equal(json_array_size(json_at(a, "/unknown")), 2);
	assert_string_equal(text_at(a, "/unknown/0/code"), "redis_cluster_unsettled");
	assert_string_equal(text_at(a, "/findings/0/kind"), "shard_away");
}

/* ---- Receive from several queues ---- */

static const char *queues(const char *first, const char *second, const char *rest)
{
	static char body[256];

	snprintf(body, sizeof(body), "{\"queues\":[\"%s\",\"%s\"],\"acknowledge\":true%s}", first, second, rest);
	return body;
}

static struct answer receive(const char *body)
{
	return http(client, "POST", "/queues/receive", body);
}

static void must_have(struct answer a, const char *queue)
{
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/messages/0/queue"), queue);
	assert_int_equal(json_array_size(json_at(a, "/unanswered")), 1);
	assert_string_equal(text_at(a, "/unanswered/0/queue"), GONE);
	assert_string_equal(text_at(a, "/unanswered/0/effect"), "none");
}

static void empty(const char *queue)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/purge", queue);
	assert_status(http(client, "POST", target, NULL), 200);
}

TEST(a_receive_leaves_out_the_queue_that_is_away)
{
	must_have(receive(queues(GONE, LIVE, "")), LIVE);
	assert_status(send_to(LIVE), 201);
	must_have(receive(queues(LIVE, GONE, ",\"limit\":9")), LIVE);
	struct answer none = receive(queues(GONE, LIVE, ""));
	assert_status(none, 200);
	assert_int_equal(json_array_size(json_at(none, "/messages")), 0);
	assert_string_equal(text_at(none, "/unanswered/0/queue"), GONE);
	assert_problem(receive(queues(GONE, stage_names[3], ",\"wait_ms\":20000")), 503, "redis_unavailable", "none");
}

/* It waits at the live queue, whose channel is subscribed while it waits. */
TEST(a_receive_waits_at_the_live_queues)
{
	empty(LIVE);
	for (int i = 0; i < 2; i++) {
		struct raw *w = waiter_at(&patternd, "/queues/receive",
					  i ? queues(LIVE, GONE, ",\"limit\":9,\"wait_ms\":30000")
					    : queues(GONE, LIVE, ",\"wait_ms\":30000"),
					  "");
		wait_until(all_parked(&patternd, 1), SOON_MS);
		assert_status(send_to(LIVE), 201);
		must_have(waiter_answer(w, "/queues/receive", SOON_MS), LIVE);
		raw_close(w);
	}
}

/* A queue whose server returns is received from, although the request began without it. */
TEST(a_queue_that_returns_wakes_the_request)
{
	empty(LIVE);
	struct raw *w = waiter_at(&patternd, "/queues/receive", queues(GONE, LIVE, ",\"wait_ms\":30000"), "");
	wait_until(all_parked(&patternd, 1), SOON_MS);
	cluster_restart(&cluster, DEAD);
	cluster_wait_well(&cluster);
	wait_until(send_to(GONE).status == 201, SOON_MS);
	struct answer a = waiter_answer(w, "/queues/receive", SOON_MS);
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/messages/0/queue"), GONE);
	assert_null(json_object_get(a.json, "unanswered"));
	raw_close(w);
}

TEST(a_policy_that_is_away_leaves_the_other_queues)
{
	char policy[128];

	/* the key of the policy is on the dead server */
	assert_status(put("/ratelimit/policies", "p", "{\"limit\":100,\"window_ms\":1000}"), 201);
	snprintf(policy, sizeof(policy), "{\"policy\":{\"name\":\"p\",\"key\":\"%s\"}}", GONE);
	assert_in_range(put("/queues", LIVE, policy).status, 200, 201);
	struct answer a = receive(queues(LIVE, OTHER, ""));
	assert_status(a, 200);
	assert_string_equal(text_at(a, "/messages/0/queue"), OTHER);
	assert_string_equal(text_at(a, "/unanswered/0/queue"), LIVE);
}
