/*
 * The wait queues of a lock, a semaphore and a queue, each with one waiter at each of many daemons.
 * A release costs at most MOST_SCRIPTS scripts, however many daemons wait. A waiter whose daemon
 * hangs delays the others by a second, a waiter whose daemon was killed by less. The three
 * resources are tested side by side, since each test mostly waits.
 */
#include <signal.h>

#include "pair.h"
#include "test.h"
#include "waiter.h"

enum { DAEMONS = 20, SOON_MS = 5000, OFFER_MS = 1000, UNHEARD_MS = 200, LATE_MS = 500, MOST_SCRIPTS = 4 };

#define HOLD "\"ttl_ms\":60000,\"wait_ms\":20000}"

static struct resource {
	const char *target, *body, *channel, *secret_at;
	int holders;
	struct raw *line[DAEMONS]; /* one waiter per daemon */
	char secret[64];           /* of the waiter that was served last */
} resources[] = {
	{ "/locks/a", "{" HOLD, "p:lock:{a}", "/token", 1, { NULL }, "" },
	{ "/semaphores/a/permits", "{\"limit\":2," HOLD, "p:semaphore:{a}", "/permit", 2, { NULL }, "" },
	{ "/queues/a/receive", "{\"visibility_ms\":60000,\"wait_ms\":20000}", "p:queue:{a}", NULL, 0, { NULL }, "" },
};
enum { RESOURCES = COUNT(resources) };
static struct resource *const end = resources + RESOURCES;

static struct daemon more[DAEMONS - 2]; /* in addition to the pair */

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
	for (struct resource *r = resources; r < end; r++)
		for (int i = 0; i < DAEMONS; i++) {
			if (r->line[i])
				raw_close(r->line[i]);
			r->line[i] = NULL;
		}
	int left = pair_forget(state);
	for (int i = 2; i < DAEMONS; i++)
		wait_until(all_parked(daemon_at(i), 0), SOON_MS);
	return left;
}

static void keep_secret(struct resource *r, struct answer a)
{
	if (!r->secret_at) {
		assert_status(a, 200);
		assert_int_equal(json_array_size(json_at(a, "/messages")), 1);
		return;
	}
	assert_status(a, 201);
	snprintf(r->secret, sizeof(r->secret), "%s", text_at(a, r->secret_at));
}

/* Acquires each resource, and adds one waiter at each daemon, in the order of the daemons. */
static void gather(void)
{
	for (struct resource *r = resources; r < end; r++) {
		for (int i = 0; i < r->holders; i++)
			keep_secret(r, http(pair.c[0], "POST", r->target, r->body));
		for (int i = 0; i < DAEMONS; i++) {
			r->line[i] = waiter_at(daemon_at(i), r->target, r->body, "");
			wait_until(tickets_at(&pair.redis, r->channel) == i + 1, SOON_MS);
		}
		wait_until(subscribers_at(&pair.redis, r->channel) == DAEMONS, SOON_MS);
	}
	for (int i = 0; i < DAEMONS; i++)
		wait_until(all_parked(daemon_at(i), RESOURCES), SOON_MS);
}

/* Releases something for the first waiter, through the last daemon, which no test harms. */
static void release(struct resource *r)
{
	struct client *c = client_open(daemon_at(DAEMONS - 1)->port);
	char text[160];

	if (r->holders == 1) {
		snprintf(text, sizeof(text), "Lock-Token: %s", r->secret);
		assert_status(http(c, "DELETE", r->target, NULL, text), 200);
	} else if (r->holders == 0) {
		assert_status(http(c, "POST", "/queues/a/messages", "{\"body\":1}"), 201);
	} else {
		snprintf(text, sizeof(text), "%s/%s", r->target, r->secret);
		assert_status(http(c, "DELETE", text, NULL), 204);
	}
	client_close(c);
}

static void served(struct resource *r, int i)
{
	keep_secret(r, pair_answer(r->line[i], r->target));
	raw_close(r->line[i]);
	r->line[i] = NULL;
}

/*
 * Releases something of each resource. The waiters at daemon `i` must get it after `from_ms`, and
 * at most LATE_MS later.
 */
static void release_to(int i, int from_ms, void (*harm)(struct daemon *d))
{
	int64_t start_ms = monotonic_ms();

	for (struct resource *r = resources; r < end; r++)
		release(r);
	if (harm)
		harm(daemon_at(0));
	for (struct resource *r = resources; r < end; r++)
		served(r, i);
	assert_in_range(monotonic_ms() - start_ms, from_ms > 10 ? from_ms - 10 : 0, from_ms + LATE_MS);
}

/* ---- What a release costs ---- */

SUITE(.open = open_all, .close = close_all, .after = forget);

/*
 * Beside the waiter's daemon, at most one daemon checks the offer, however long the waiter then
 * holds the resource.
 */
TEST(a_release_costs_the_same_with_many_daemons)
{
	gather();
	long long scripts = server_scripts_run(&pair.redis);
	release_to(0, 0, NULL);
	nap_ms(OFFER_MS + LATE_MS);
	long long ran = server_scripts_run(&pair.redis) - scripts;
	print_message("%d daemons waiting: %lld scripts for %d releases\n", DAEMONS, ran, RESOURCES);
	assert_in_range(ran, 2 * RESOURCES, MOST_SCRIPTS * RESOURCES);
}

/* ---- Daemons that die ---- */

static void suspend(struct daemon *d)
{
	proc_signal(&d->proc, SIGSTOP);
}

/* The daemon gets the offer, and is killed before it can use it. */
TEST(one_is_killed_when_it_is_called)
{
	gather();
	suspend(daemon_at(0));
	release_to(1, OFFER_MS, daemon_kill);
}

TEST(daemons_that_hang_delay_the_next_by_a_second_each)
{
	enum { HANG = 2 };

	gather();
	for (int i = 0; i < HANG; i++)
		suspend(daemon_at(i));
	release_to(HANG, HANG * OFFER_MS, NULL);
	for (struct resource *r = resources; r < end; r++)
		assert_true(pair_waits(r->line[HANG + 1]));
	for (int i = 0; i < HANG; i++)
		proc_signal(&daemon_at(i)->proc, SIGCONT);
}

/*
 * Redis reports that a message to a killed daemon reached no connection, so its offers end early.
 */
TEST(killed_daemons_delay_by_less)
{
	enum { DEAD = 2 };

	gather();
	for (int i = 0; i < DEAD; i++)
		daemon_kill(daemon_at(i));
	release_to(DEAD, DEAD * UNHEARD_MS, NULL);
	for (struct resource *r = resources; r < end; r++)
		assert_true(pair_waits(r->line[DEAD + 1]));
}
