/*
 * Who waits while a Cluster changes is woken wherever the node is by then; and a daemon finds the Cluster by one of its nodes, whichever
 * is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/cluster_stage.h"
#include "../support/waiter.h"

enum { SOON_MS = 8000 }; /* nothing but a wake-up comes sooner than what they wait for, 30 s */

/* ---- Who waits ---- */

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

static void waiters_are_woken_on_every_node(void **state)
{
	struct raw *waiting[STAGE_NAMES];

	(void)state;
	for (int i = 0; i < STAGE_NAMES; i++)
		waiting[i] = park(stage_names[i]);
	for (int i = 0; i < STAGE_NAMES; i++) {
		assert_status(send_to(stage_names[i]), 201);
		must_get_a_message(waiting[i], stage_names[i], SOON_MS);
	}
}

static void a_waiter_is_woken_where_its_slot_went(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		int slot = slot_of(stage_names[0]);
		struct raw *w = park(stage_names[0]), *unmoved = park(stage_names[3]);
		cluster_migrate(&cluster, slot, (cluster_owner(&cluster, slot) + 1) % CLUSTER_MASTERS, NULL, NULL);
		if (i % 2) /* else at once: nobody listens there yet, perhaps */
			wait_until(heard_by(&redis, stage_names[0]) == 1, SOON_MS);
		assert_status(send_to(stage_names[0]), 201);
		must_get_a_message(w, stage_names[0], SOON_MS);
		assert_status(send_to(stage_names[3]), 201);
		must_get_a_message(unmoved, stage_names[3], SOON_MS);
	}
}

static void a_waiter_is_woken_by_who_took_over(void **state)
{
	(void)state;
	struct raw *waiting[3];

	for (int i = 0; i < 3; i++)
		waiting[i] = park(stage_names[i]);
	cluster_kill(&cluster, cluster_owner_of(&cluster, stage_names[0]));
	cluster_writable_us(stage_names[0]);
	for (int i = 0; i < 3; i++) {
		wait_until(send_to(stage_names[i]).status == 201, SOON_MS);
		must_get_a_message(waiting[i], stage_names[i], SOON_MS);
	}
}

/* In the line of a lock: the place is in Redis, and the offer comes from the new owner. */
static void a_lock_is_handed_on_after_its_slot_went(void **state)
{
	char target[64], release[160];

	(void)state;
	snprintf(target, sizeof(target), "/locks/%s", stage_names[0]);
	struct answer held = http(client, "POST", target, "{\"ttl_ms\":60000}");
	assert_status(held, 201);
	struct raw *w = waiter_at(&patternd, target, "{\"ttl_ms\":60000,\"wait_ms\":30000}", "");
	wait_until(int_at(look_at(stage_names[0]), "/waiters") == 1, SOON_MS);
	int slot = slot_of(stage_names[0]);
	cluster_migrate(&cluster, slot, (cluster_owner(&cluster, slot) + 1) % CLUSTER_MASTERS, NULL, NULL);
	snprintf(release, sizeof(release), "%s?token=%s", target, text_at(held, "/token"));
	assert_status(http(client, "DELETE", release, NULL), 200);
	assert_status(waiter_answer(w, target, SOON_MS), 201);
	raw_close(w);
}

/* ---- Where the daemon begins ---- */

static void one_seed_is_enough(void **state)
{
	struct daemon other = { 0 };
	char url[160];

	(void)state;
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

/* What it was told at the start is gone; it stays with those that it learnt of. */
static void seeds_may_go(void **state)
{
	struct daemon other = { 0 };
	char url[96];

	(void)state;
	snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d", cluster.nodes[0].server.port);
	daemon_start(&other, "--redis", url);
	struct client *c = client_open(other.port);
	cluster_kill(&cluster, 0);
	cluster_writable_us(stage_names[0]);
	wait_until(http(c, "POST", "/counters/n", "{\"n\":1}").status == 200, SOON_MS);
	client_close(c);
	daemon_stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waiters_are_woken_on_every_node, cluster_of_masters,
						cluster_stage_close),
		cmocka_unit_test_setup_teardown(a_waiter_is_woken_where_its_slot_went, cluster_of_masters,
						cluster_stage_close),
		cmocka_unit_test_setup_teardown(a_waiter_is_woken_by_who_took_over, cluster_with_replicas,
						cluster_stage_close),
		cmocka_unit_test_setup_teardown(a_lock_is_handed_on_after_its_slot_went, cluster_of_masters,
						cluster_stage_close),
		cmocka_unit_test_setup_teardown(one_seed_is_enough, cluster_of_masters, cluster_stage_close),
		cmocka_unit_test_setup_teardown(seeds_may_go, cluster_with_replicas, cluster_stage_close),
	};

	stage_timeout_ms = SOON_MS; /* six servers share a busy machine */
	return cmocka_run_group_tests_name("cluster waits", tests, NULL, NULL);
}
