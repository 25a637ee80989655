/*
 * The wait queues of a lock, a semaphore and a queue with one waiter at each of many daemons: what
 * one waiter gets costs as many scripts as with one daemon, however long it holds that; waiters
 * whose daemons hang delay the others by a second each, those whose daemons were killed by less.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "waiter.h"

enum { DAEMONS = 20, SOON_MS = 5000, OFFER_MS = 1000, UNHEARD_MS = 200, LATE_MS = 500, MOST_SCRIPTS = 4 };

#define HOLD "\"ttl_ms\":60000,\"wait_ms\":20000}"

static const struct resource {
	const char *target, *body, *channel, *secret;
} lock = { "/locks/a", "{" HOLD, "p:lock:{a}", "/token" },
  semaphore = { "/semaphores/a/permits", "{\"limit\":2," HOLD, "p:semaphore:{a}", "/permit" },
  queue = { "/queues/a/receive", "{\"visibility_ms\":60000,\"wait_ms\":20000}", "p:queue:{a}", NULL };

static struct daemon more[DAEMONS - 2]; /* beside the pair */
static struct raw *line[DAEMONS];       /* one waiter at each */
static char secret[64];                 /* of the one that was served last */

static struct daemon *daemon_at(int i)
{
	return i < 2 ? &pair.d[i] : &more[i - 2];
}

static int open_all(void **state)
{
	pair_open(state);
	for (int i = 2; i < DAEMONS; i++)
		daemon_start(daemon_at(i), "--redis", pair.redis.url);
	return 0;
}

static int close_all(void **state)
{
	for (int i = 2; i < DAEMONS; i++)
		daemon_stop(daemon_at(i));
	return pair_close(state);
}

static int forget(void **state)
{
	for (int i = 0; i < DAEMONS; i++) {
		if (line[i])
			raw_close(line[i]);
		line[i] = NULL;
	}
	int left = pair_forget(state);
	for (int i = 2; i < DAEMONS; i++)
		wait_until(all_parked(daemon_at(i), 0), SOON_MS);
	return left;
}

static void keep_secret(const struct resource *r, struct answer a)
{
	if (r == &queue) {
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
		return;
	}
	assert_status(a, 201);
	snprintf(secret, sizeof(secret), "%s", text_at(a, r->secret));
}

/* It is held, and one waits at each daemon, in their order. */
static void gather(const struct resource *r, int holders)
{
	while (holders-- > 0)
		keep_secret(r, http(pair.c[0], "POST", r->target, r->body));
	for (int i = 0; i < DAEMONS; i++) {
		line[i] = waiter_at(daemon_at(i), r->target, r->body, "");
		wait_until(tickets_at(&pair.redis, r->channel) == i + 1, SOON_MS);
	}
	wait_until(subscribers_at(&pair.redis, r->channel) == DAEMONS, SOON_MS);
	for (int i = 0; i < DAEMONS; i++)
		wait_until(all_parked(daemon_at(i), 1), SOON_MS);
}

/* There is something for the first waiter: by the last daemon, which no test harms. */
static void release(const struct resource *r)
{
	struct client *c = client_open(daemon_at(DAEMONS - 1)->port);
	char text[160];

	if (r == &lock) {
		snprintf(text, sizeof(text), "Lock-Token: %s", secret);
		assert_status(http(c, "DELETE", r->target, NULL, text), 200);
	} else if (r == &queue) {
		assert_status(http(c, "POST", "/queues/a/messages", "{\"body\":1}"), 201);
	} else {
		snprintf(text, sizeof(text), "%s/%s", r->target, secret);
		assert_status(http(c, "DELETE", text, NULL), 204);
	}
	client_close(c);
}

static void served(const struct resource *r, int i)
{
	keep_secret(r, pair_answer(line[i], r->target));
	raw_close(line[i]);
	line[i] = NULL;
}

/* ---- What a release costs ---- */

/* One other daemon looks whether the waiter came. */
static void a_long_hold_costs_no_checks(const struct resource *r, int holders)
{
	enum { TURNS = 2 };

	gather(r, holders);
	for (int i = 0; i < TURNS; i++) {
		long long scripts = server_scripts_run(&pair.redis);
		release(r);
		served(r, i);
		nap_ms(OFFER_MS + LATE_MS);
		long long ran = server_scripts_run(&pair.redis) - scripts;
		print_message("%s with %d daemons waiting: %lld scripts a release\n", r->target, DAEMONS - i, ran);
		assert_in_range(ran, 2, MOST_SCRIPTS);
	}
}

static void a_lock_held_for_long_is_not_checked(void **state)
{
	(void)state;
	a_long_hold_costs_no_checks(&lock, 1);
}

static void a_permit_held_for_long_is_not_checked(void **state)
{
	(void)state;
	a_long_hold_costs_no_checks(&semaphore, 2);
}

static void a_message_wakes_one(void **state)
{
	(void)state;
	a_long_hold_costs_no_checks(&queue, 0);
}

/* ---- Daemons that die ---- */

/* The daemons of the first waiters are harmed; the next one is served, so much later. */
static void the_next_is_served(const struct resource *r, int holders, int dead, void (*harm)(struct daemon *d),
			       int late_ms)
{
	gather(r, holders);
	for (int i = 0; i < dead; i++)
		harm(daemon_at(i));
	int64_t start_ms = monotonic_ms();
	release(r);
	served(r, dead);
	assert_in_range(monotonic_ms() - start_ms, late_ms > 10 ? late_ms - 10 : 0, late_ms + LATE_MS);
	assert_true(pair_waits(line[dead + 1]));
}

static void suspend(struct daemon *d)
{
	proc_signal(&d->proc, SIGSTOP);
}

/* They are called, and die before they come. */
static void killed_when_they_are_called(void **state)
{
	const struct resource *const all[] = { &lock, &semaphore, &queue };
	const int holders[] = { 1, 2, 0 };

	for (int i = 0; i < 3; i++) {
		gather(all[i], holders[i]);
		suspend(daemon_at(0));
		int64_t start_ms = monotonic_ms();
		release(all[i]);
		daemon_kill(daemon_at(0));
		served(all[i], 1);
		assert_in_range(monotonic_ms() - start_ms, OFFER_MS - 10, OFFER_MS + LATE_MS);
		forget(state);
		daemon_start(daemon_at(0), "--redis", pair.redis.url);
	}
}

static void go_on(int count)
{
	for (int i = 0; i < count; i++)
		proc_signal(&daemon_at(i)->proc, SIGCONT);
}

static void daemons_that_hang_delay_the_next_by_a_second_each(void **state)
{
	for (int dead = 1; dead <= 2; dead++) {
		the_next_is_served(&lock, 1, dead, suspend, dead * OFFER_MS);
		go_on(dead);
		forget(state);
		the_next_is_served(&semaphore, 2, dead, suspend, dead * OFFER_MS);
		go_on(dead);
		forget(state);
		the_next_is_served(&queue, 0, dead, suspend, dead * OFFER_MS);
		go_on(dead);
		forget(state);
	}
}

/* What is published to them reaches no connection: the offers to them are brief. */
static void killed_daemons_delay_by_less(void **state)
{
	the_next_is_served(&lock, 1, 2, daemon_kill, 2 * UNHEARD_MS);
	forget(state);
	the_next_is_served(&semaphore, 2, 2, daemon_kill, 2 * UNHEARD_MS);
	forget(state);
	the_next_is_served(&queue, 0, 2, daemon_kill, 2 * UNHEARD_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_lock_held_for_long_is_not_checked, forget),
		cmocka_unit_test_teardown(a_permit_held_for_long_is_not_checked, forget),
		cmocka_unit_test_teardown(a_message_wakes_one, forget),
		cmocka_unit_test_teardown(daemons_that_hang_delay_the_next_by_a_second_each, forget),
		cmocka_unit_test_teardown(killed_when_they_are_called, forget),
		cmocka_unit_test_teardown(killed_daemons_delay_by_less, forget),
	};

	return cmocka_run_group_tests_name("locks over many daemons", tests, open_all, close_all);
}
