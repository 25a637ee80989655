/*
 * Waiters are woken after a change of the Cluster, whichever node owns the slot by then. A daemon
 * finds the Cluster by any one node that is left.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/cluster_stage.h"
#include "../support/redis_cluster_slots.h"
#include "../support/vigil.h"
#include "../support/waiter.h"
#include "test.h"

enum { FAILOVER_MS = 20000, DEAF_MS = 1200, WAKE_MS = 1000 };
enum { SOON_MS = 8000 }; /* waiters wait for 30 s: only a wake-up comes sooner */

/* ---- Waiters ---- */

static struct raw *park(const char *queue)
{
	return waiter_parked(&patternd, &redis, queue, "{\"wait_ms\":30000,\"acknowledge\":true}");
}

static void must_get_a_message(struct raw *w, const char *queue, int timeout_ms)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	struct answer a = waiter_answer(w, target, timeout_ms);
	assert_status(a, 200);
	assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
	raw_close(w);
}

TEST(waiters_are_woken_on_every_node, .before = cluster_of_masters, .after = cluster_stage_close)
{
	struct raw *waiting[STAGE_NAMES];

	for (int i = 0; i < STAGE_NAMES; i++)
		waiting[i] = park(stage_names[i]);
	for (int i = 0; i < STAGE_NAMES; i++) {
		assert_status(send_to(stage_names[i]), 201);
		must_get_a_message(waiting[i], stage_names[i], SOON_MS);
	}
}

/* ---- Owners that change ---- */

/*
 * Two daemons that have waiters and no other requests. The waiters of `at_once` are served right
 * after the change, the waiters of `later` a second later.
 */
static struct daemon at_once, later;

/* Returns a new name in the slot. */
static const char *name_in(int slot)
{
	static char name[16];
	static int number;

	do
		snprintf(name, sizeof(name), "w%d", number++);
	while (slot_of(name) != slot);
	return name;
}

static int next_master(int slot)
{
	int to = cluster_owner(&cluster, slot);

	do
		to = (to + 1) % cluster.count;
	while (!memchr(cluster.owner, to, CLUSTER_SLOTS));
	return to;
}

static void taken_over(int slot)
{
	cluster_failover(&cluster, cluster_replica_of(&cluster, cluster_owner(&cluster, slot)));
}

static void migrated(int slot)
{
	cluster_migrate(&cluster, slot, next_master(slot), NULL, NULL);
}

static int harmed; /* the node that a change has killed or added */

static void wait_for_another(int slot)
{
	wait_until(cluster_owner(&cluster, slot) >= 0 && cluster_owner(&cluster, slot) != harmed, FAILOVER_MS);
}

static void killed(int slot)
{
	harmed = cluster_owner(&cluster, slot);
	cluster_kill(&cluster, harmed);
	wait_for_another(slot);
}

static void restarted(void)
{
	cluster_restart(&cluster, harmed);
	cluster_wait_well(&cluster);
}

static void given_to_a_new_node(int slot)
{
	harmed = cluster_replica_of(&cluster, cluster_owner(&cluster, slot));
	cluster_add_master(&cluster, harmed);
	cluster_migrate(&cluster, slot, harmed, NULL, NULL);
}

static void taken_from_a_node_that_leaves(int slot)
{
	migrated(slot);
	cluster_remove_master(&cluster, harmed);
}

static const struct tour {
	const char *what;
	void (*change)(int slot);
	void (*mend)(void);
	int slot;
	bool unseen; /* both daemons are stopped during the change, so that their map is outdated */
} of_one_cluster[] = {
	{ "taken over", taken_over, NULL, 0, false },
	{ "taken over, unseen", taken_over, NULL, 6000, true },
	{ "migrated", migrated, NULL, 1, false },
	{ "migrated, unseen", migrated, NULL, 1, true },
	{ "taken over again", taken_over, NULL, 0, false },
}, of_another[] = {
	{ "killed", killed, restarted, 12000, false },
	{ "given to a new node", given_to_a_new_node, NULL, 6000, false },
	{ "taken from a node that leaves", taken_from_a_node_that_leaves, NULL, 6000, false },
};

static void continue_tour(const struct tour *t)
{
	struct vigil first, second;
	int64_t from_ms = monotonic_ms();

	vigil_begin(&first, &at_once, client, name_in(t->slot));
	vigil_begin(&second, &later, client, name_in(t->slot));
	if (t->unseen) {
		proc_signal(&at_once.proc, SIGSTOP);
		proc_signal(&later.proc, SIGSTOP);
	}
	t->change(t->slot);
	proc_signal(&at_once.proc, SIGCONT);
	proc_signal(&later.proc, SIGCONT);
	int64_t changed_ms = monotonic_ms();
	int64_t took_ms = vigil_must_wake(&first, DEAF_MS + WAKE_MS);
	nap_ms(changed_ms + DEAF_MS - monotonic_ms());
	int64_t later_ms = vigil_must_wake(&second, WAKE_MS);
	if (t->mend)
		t->mend();
	print_message("%s: woken after %d ms, and %d ms; %d ms in all\n", t->what, (int)took_ms, (int)later_ms,
		      (int)(monotonic_ms() - from_ms));
}

static void continue_tours(const struct tour *tours, size_t count)
{
	daemon_start(&at_once, "--redis", cluster.url);
	daemon_start(&later, "--redis", cluster.url);
	for (size_t i = 0; i < count; i++)
		continue_tour(&tours[i]);
	daemon_stop(&at_once);
	daemon_stop(&later);
}

/*
 * However a slot gets another owner, its waiters are subscribed again within a second after the
 * nodes agree. Their own next attempt is 30 s away. Another daemon sends the message.
 */
TEST(waiters_stay_subscribed_when_owners_change, .before = cluster_with_replicas, .after = cluster_stage_close)
{
	continue_tours(of_one_cluster, COUNT(of_one_cluster));
}

TEST(waiters_stay_subscribed_when_nodes_come_and_go, .before = cluster_with_replicas, .after = cluster_stage_close)
{
	continue_tours(of_another, COUNT(of_another));
}

/* ---- Where the daemon begins ---- */

TEST(one_seed_is_enough, .before = cluster_of_masters, .after = cluster_stage_close)
{
	struct daemon other = { 0 };
	char url[160];

	snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d,127.0.0.1:%d", free_port(),
		 cluster.nodes[2].server.port);
	daemon_start(&other, "--redis", url);
	struct client *c = client_open(other.port);
	for (int i = 0; i < STAGE_NAMES; i++) {
		char target[64];
		snprintf(target, sizeof(target), "/locks/%s", stage_names[i]);
		wait_until(http(c, "GET", target, NULL).status == 200, SOON_MS);
	}
	client_close(c);
	daemon_stop(&other);
}

/* The nodes of the daemon's options are gone. The daemon uses the nodes that it learned of. */
TEST(seeds_may_go, .before = cluster_with_replicas, .after = cluster_stage_close)
{
	struct daemon other = { 0 };
	char url[96];

	snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d", cluster.nodes[0].server.port);
	daemon_start(&other, "--redis", url);
	struct client *c = client_open(other.port);
	cluster_kill(&cluster, 0);
	cluster_writable_us(stage_names[0]);
	wait_until(http(c, "POST", "/counters/n/increment", "{\"counters\":{\"n\":1}}").status == 200, SOON_MS);
	client_close(c);
	daemon_stop(&other);
}

SUITE(.columns = 2);
