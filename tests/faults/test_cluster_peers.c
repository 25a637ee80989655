/*
 * Nodes of a Cluster redirect a call in circles, to nowhere or to a server that is not Redis; slots
 * have no node; nodes leave for good. The daemon bounds the hops, refuses quickly with effect none,
 * and recovers.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/cluster_stage.h"
#include "../support/redis_cluster_slots.h"
#include "../support/stubborn.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 8000, QUICK_MS = 2000 };

/* Makes this node answer every command with these bytes. */
static void lie(int node, const char *bytes)
{
	proxy_set(cluster.nodes[node].proxy, (struct proxy_fault){ .answer = { bytes, strlen(bytes) } });
}

static void be_honest(void)
{
	for (int i = 0; i < CLUSTER_MASTERS; i++)
		proxy_set(cluster.nodes[i].proxy, (struct proxy_fault){ 0 });
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
}

/* Waits until every shard serves, so that all connections exist. */
static void warm_up(void)
{
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
}

/* ---- Redirections ---- */

SUITE(.before = cluster_behind_proxies, .after = cluster_stage_close, .columns = 2);

/* Two nodes answer MOVED to each other; a node answers ASK to itself. */
TEST(in_circles)
{
	char to_1[64], back[64];

	for (size_t i = 0; i < 2; i++) {
		warm_up();
		snprintf(to_1, sizeof(to_1), "-%s %d 127.0.0.1:%d\r\n", i ? "ASK" : "MOVED", slot_of(stage_names[0]),
			 proxy_port(cluster.nodes[1].proxy));
		snprintf(back, sizeof(back), "-%s %d 127.0.0.1:%d\r\n", i ? "ASK" : "MOVED", slot_of(stage_names[0]),
			 proxy_port(cluster.nodes[i].proxy));
		lie(0, to_1);
		lie(1, back);
		for (int k = 0; k < 5; k++) {
			struct answer a = send_to(stage_names[0]);
			assert_failed_in_time(a);
			assert_status(a, 503);
		}
		struct answer a = send_to(stage_names[2]); /* the third node does not know of the redirection */
		assert_true(a.status == 201 || a.status == 503);
		assert_true(daemon_is_alive(&patternd));
		be_honest();
	}
}

/*
 * A node that does not know its own address leaves out the host. The daemon must use the host at
 * which it reached the node. The port may be a neighbour's.
 */
TEST(without_a_host)
{
	char moved[64];
	int slot = slot_of(stage_names[0]);

	warm_up();
	long before = metric_of(&patternd, "redis_redirects_total");
	/* If the daemon knew the new map before it asked the old owner, the slot moves back. */
	for (int i = 0; i < 6 && metric_of(&patternd, "redis_redirects_total") == before; i++) {
		int to = (i + 1) % 2;
		cluster_migrate(&cluster, slot, to, NULL, NULL);
		snprintf(moved, sizeof(moved), "-MOVED %d :%d\r\n", slot, proxy_port(cluster.nodes[to].proxy));
		lie(1 - to, moved);
		assert_status(send_to(stage_names[0]), 201);
		be_honest();
	}
	assert_true(metric_of(&patternd, "redis_redirects_total") > before);
}

static const struct {
	const char *name, *bytes;
	bool is_followed; /* the reply names a slot and an address */
	/*
	 * the map may be right again before connecting fails: then the daemon sends the command to
	 * the lying node once more
	 */
	bool may_be_lost;
} nonsense[] = {
	{ "MOVED", "-MOVED\r\n", false, false },
	{ "MOVED without an address", "-MOVED 5\r\n", false, false },
	{ "MOVED to an empty address", "-MOVED 5 \r\n", false, false },
	{ "MOVED of no slot", "-MOVED x 127.0.0.1:1\r\n", false, false },
	{ "MOVED of slot 16384", "-MOVED 16384 127.0.0.1:1\r\n", false, false },
	{ "MOVED of slot -1", "-MOVED -1 127.0.0.1:1\r\n", false, false },
	{ "MOVED to port 0", "-MOVED 5 127.0.0.1:0\r\n", false, false },
	{ "MOVED to port 65536", "-MOVED 5 127.0.0.1:65536\r\n", false, false },
	{ "MOVED to a port that is none", "-MOVED 5 127.0.0.1:redis\r\n", false, false },
	{ "MOVED to a closed port", "-MOVED 5 127.0.0.1:1\r\n", true, true },
	{ "MOVED to an unknown name", "-MOVED 5 no-such-host.invalid:6379\r\n", true, true },
	{ "ASK", "-ASK\r\n", false, false },
	{ "ASK to a closed port", "-ASK 5 127.0.0.1:1\r\n", true, false },
	{ "ASK at an empty address", "-ASK 5 :\r\n", false, false },
	{ "TRYAGAIN for ever", "-TRYAGAIN Multiple keys request during rehashing of slot\r\n", false, false },
	{ "CLUSTERDOWN", "-CLUSTERDOWN The cluster is down\r\n", false, false },
	{ "CLUSTERDOWN of a slot", "-CLUSTERDOWN Hash slot not served\r\n", false, false },
};

TEST(nonsense_is_refused)
{
	for (size_t i = 0; i < COUNT(nonsense); i++) {
		warm_up();
		long redirects = metric_of(&patternd, "redis_redirects_total");
		lie(0, nonsense[i].bytes);
		struct answer a = send_to(stage_names[0]);
		bool is_followed = metric_of(&patternd, "redis_redirects_total") > redirects;
		if (a.status != 503 || is_followed != nonsense[i].is_followed)
			print_error("%s\n", nonsense[i].name);
		assert_int_equal(is_followed, nonsense[i].is_followed);
		if (!nonsense[i].may_be_lost)
			assert_status(a, 503);
		assert_failed_in_time(a);
		assert_true(daemon_is_alive(&patternd));
		be_honest();
	}
}

/*
 * A request is held while its slot moves, and is then sent to a node that hangs. The deadline of
 * the request covers both.
 */
TEST(held_and_then_hung)
{
	char target[64];

	warm_up();
	snprintf(target, sizeof(target), "/queues/%s/messages", stage_names[0]);
	lie(0, "-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
	int64_t sent_us = monotonic_us();
	struct raw *r = waiter_at(&patternd, target, "{\"body\":1}", "");
	nap_ms(STAGE_TIMEOUT_MS * 4 / 5);
	proxy_set(cluster.nodes[0].proxy, (struct proxy_fault){ .drop_up = true });
	struct answer a = waiter_answer(r, target, SOON_MS);
	a.took_us = monotonic_us() - sent_us;
	assert_failed_in_time(a);
	raw_close(r);
	be_honest();
}

/*
 * A node answers MOVED to a server that is not Redis. That server's reply to CLUSTER SLOTS is not a
 * map.
 */
TEST(to_strangers)
{
	static const struct stubborn_manner manners[] = {
		{ .name = "silence" },
		{ .name = "SSH", .greeting = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n" },
		{ .name = "+OK to everything", .answer = "+OK\r\n" },
		{ .name = "a flood", .answer = ":1\r\n", .times = SIZE_MAX },
	};
	char moved[64];

	for (size_t i = 0; i < COUNT(manners); i++) {
		struct stubborn *stranger = stubborn_open(&manners[i]);
		warm_up();
		snprintf(moved, sizeof(moved), "-MOVED %d 127.0.0.1:%d\r\n", slot_of(stage_names[0]),
			 stubborn_port(stranger));
		lie(0, moved);
		for (int k = 0; k < 3; k++) {
			struct answer a = send_to(stage_names[0]);
			assert_status(a, 503);
			assert_failed_in_time(a);
		}
		assert_true(daemon_is_alive(&patternd));
		be_honest();
		stubborn_close(stranger);
	}
}

/* ---- A slot half way ---- */

TEST(keys_on_their_way, .before = cluster_of_masters)
{
	int slot = slot_of(stage_names[0]);
	char counted[64], bit[80];

	cluster_mark_moving(&cluster, slot, 0, 1);
	snprintf(counted, sizeof(counted), "/bitmaps/%s/count", stage_names[0]);
	for (int i = 0; i < 3; i++) { /* a command with one key follows ASK */
		snprintf(bit, sizeof(bit), "/bitmaps/%s/bits/%d", stage_names[0], i);
		wait_until(http(client, "PUT", bit, "{\"value\":1}").status == 200, SOON_MS);
	}
	assert_int_equal(int_at(http(client, "GET", counted, NULL), "/count"), 3);
	struct answer a = http(client, "GET", "/queues", NULL); /* the list leaves that slot out */
	assert_status(a, 200);
	assert_true(json_is_null(json_at(a, "/next_cursor")));
	assert_false(bool_at(a, "/complete"));
	a = send_to(stage_names[0]); /* a command with several keys: they may be on either node */
	assert_status(a, 503);
	assert_failed_in_time(a);
	assert_non_null(header_of(a, "Retry-After"));
	assert_status(send_to(stage_names[3]), 201);
	cluster_migrate(&cluster, slot, 1, NULL, NULL);
	assert_status(send_to(stage_names[0]), 201);
	a = http(client, "GET", "/queues", NULL);
	assert_int_equal(json_array_size(json_at(a, "/items")), 2);
	assert_true(bool_at(a, "/complete"));
	assert_int_equal(int_at(http(client, "GET", counted, NULL), "/count"), 3);
}

/* ---- Slots without a node ---- */

static void everywhere(const char *format, int from, int to)
{
	for (int i = 0; i < cluster.count; i++)
		server_command(&cluster.nodes[i].server, format, from, to);
}

/*
 * The last third of the slots loses its node. With cluster-require-full-coverage no node serves
 * then; without it the others do.
 */
TEST(slots_without_a_node, .before = cluster_of_masters)
{
	const int first = 10923, last = CLUSTER_SLOTS - 1;

	warm_up();
	everywhere("CLUSTER DELSLOTSRANGE %d %d", first, last);
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 503, SOON_MS);
	for (int i = 0; i < STAGE_NAMES; i++)
		assert_failed_in_time(send_to(stage_names[i]));
	for (int i = 0; i < cluster.count; i++)
		server_command(&cluster.nodes[i].server, "CONFIG SET cluster-require-full-coverage no");
	for (int i = 0; i < STAGE_NAMES; i++) {
		if (i % 3 == 2)
			assert_problem(send_to(stage_names[i]), 503, NULL, "none");
		else
			wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
	}
	wait_until(metric_of(&patternd, "redis_up") == 0, SOON_MS);
	assert_int_equal(metric_of(&patternd, "cluster_slots_unserved"), last - first + 1);
	assert_string_equal(text_at(http(client, "GET", "/info", NULL), "/redis/error"),
			    "no node of the Cluster serves some of the slots");
	/*
	 * A request that must ask all nodes and reaches only some must not return a partial answer.
	 */
	assert_status(http(client, "GET", "/healthz", NULL), 200);
	server_command(&cluster.nodes[2].server, "CLUSTER ADDSLOTSRANGE %d %d", first, last);
	cluster_wait_well(&cluster);
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 201, QUICK_MS);
}

/* ---- A node leaves for good ---- */

/*
 * Sends all commands at once. Redis 8 writes nodes.conf to the disk before each answer; 16000
 * answers one after the other would exceed every timeout here.
 */
static void assign_last_slots(struct redis_server *of, const char *to)
{
	redisReply *reply;

	server_command(of, "PING"); /* connects */
	for (int slot = 10923; slot < CLUSTER_SLOTS; slot++)
		redisAppendCommand(of->context, "CLUSTER SETSLOT %d NODE %s", slot, to);
	for (int slot = 10923; slot < CLUSTER_SLOTS; slot++) {
		assert_int_equal(redisGetReply(of->context, (void **)&reply), REDIS_OK);
		assert_string_equal(reply->str, "OK");
		freeReplyObject(reply);
	}
}

/*
 * Moves the slots of node 2 to node 0, without their wait queue. Then all nodes forget node 2. The
 * daemon is stopped at first: its waiters would join again, and a slot with keys cannot be
 * assigned.
 */
static void dismiss_node_2(void)
{
	/* Node 2 first: otherwise it would claim the slots again, by its epoch. */
	static const int informed[] = { 2, 0, 1 };

	proc_signal(&patternd.proc, SIGSTOP);
	server_command(&cluster.nodes[2].server, "FLUSHALL");
	for (int i = 0; i < 3; i++)
		assign_last_slots(&cluster.nodes[informed[i]].server, cluster.nodes[0].id);
	proc_signal(&patternd.proc, SIGCONT);
	cluster_wait_well(&cluster);
	for (int i = 0; i < 2; i++)
		server_command(&cluster.nodes[i].server, "CLUSTER FORGET %s", cluster.nodes[2].id);
	cluster_kill(&cluster, 2);
}

TEST(a_node_leaves, .before = cluster_of_masters)
{
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(get_lock(stage_names[i]).status == 200, SOON_MS);
	struct raw *w = waiter_parked(&patternd, &redis, stage_names[2], "{\"wait_ms\":30000}");
	dismiss_node_2();
	for (int i = 0; i < STAGE_NAMES; i++)
		wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
	struct answer a = waiter_answer(w, "/queues/x/receive", SOON_MS);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	raw_close(w);
	wait_until(metric_of(&patternd, "cluster_nodes") == 2, SOON_MS);
	assert_int_equal(json_array_size(json_at(http(client, "GET", "/info", NULL), "/redis/nodes")), 2);
}

/* ---- A node behind a bad line ---- */

/*
 * Requests pass and answers are lost: a command that was sent has an unknown effect, and is never
 * sent again.
 */
TEST(answers_are_lost)
{
	char target[64], added[80];

	warm_up();
	snprintf(target, sizeof(target), "/counters/%s", stage_names[0]);
	snprintf(added, sizeof(added), "%s/increment", target);
	assert_status(http(client, "POST", added, "{\"counters\":{\"n\":1}}"), 200);
	for (int i = 0; i < 5; i++) {
		int64_t before = int_at(http(client, "GET", target, NULL), "/counters/n");
		proxy_set(cluster.nodes[0].proxy, (struct proxy_fault){ .cut = true });
		struct answer a = http(client, "POST", added, "{\"counters\":{\"n\":1}}");
		assert_problem(a, 504, "no_answer", "unknown");
		assert_failed_in_time(a);
		assert_status(send_to(stage_names[1]), 201);
		be_honest();
		wait_until(http(client, "GET", target, NULL).status == 200, SOON_MS);
		assert_int_equal(int_at(http(client, "GET", target, NULL), "/counters/n"), before + 1);
	}
}
