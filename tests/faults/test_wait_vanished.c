/*
 * Daemons that vanish together, with their connections: a machine that was suspended, lost its
 * power or its network. The waiters of the other daemons are served within seconds, long before any
 * wait ends.
 */
#include <signal.h>

#include "stage.h"
#include "test.h"
#include "waiter.h"

enum { DAEMONS = 8, SOON_MS = 10000, SERVED_MS = 4500, LEASE_MS = 3000 };

static struct daemon daemons[DAEMONS];
static struct raw *waiters[DAEMONS];

static int open_many(void **state)
{
	stage_open(state);
	for (int i = 0; i < DAEMONS; i++)
		daemon_start(&daemons[i], "--redis", redis.url);
	return 0;
}

static int close_many(void **state)
{
	for (int i = 0; i < DAEMONS; i++)
		daemon_stop(&daemons[i]);
	return stage_close(state);
}

SUITE(.open = open_many, .close = close_many, .after = stage_forget);

/* One waiter at each daemon, in this order. */
static void gather(const char *target, const char *key, const char *body)
{
	for (int i = 0; i < DAEMONS; i++) {
		waiters[i] = waiter_at(&daemons[i], target, body, "");
		wait_until(tickets_at(&redis, key) == i + 1 && all_parked(&daemons[i], 1), SOON_MS);
	}
	wait_until(subscribers_at(&redis, key) == DAEMONS, SOON_MS);
}

static bool is_in(const char *gone, int i)
{
	return strchr(gone, '0' + i) != NULL;
}

static void signal_all(const char *gone, int number)
{
	for (int i = 0; i < DAEMONS; i++)
		if (is_in(gone, i))
			proc_signal(&daemons[i].proc, number);
}

static void disperse(const char *gone)
{
	signal_all(gone, SIGCONT);
	for (int i = 0; i < DAEMONS; i++)
		raw_close(waiters[i]);
	for (int i = 0; i < DAEMONS; i++)
		wait_until(waiting_at(&daemons[i]) == 0, SOON_MS);
}

/* The daemon that is called, and daemons that try when it does not. */
static const char *const sets[] = { "0", "07", "0127", "0246", "0123" };

/* The first waiter that is answered; -1: none yet. The daemons of `gone` cannot answer. */
static int answered(void)
{
	for (int i = 0; i < DAEMONS; i++)
		if (waiter_is_answered(waiters[i]))
			return i;
	return -1;
}

/* A waiter of the daemons that are left must be answered, by what the test just did. */
static void must_be_served(const char *gone, const char *target, int status, int more_ms)
{
	int64_t began_ms = monotonic_ms();

	wait_until(answered() >= 0, SERVED_MS + more_ms);
	print_message("without %s: %lld ms\n", gone, (long long)(monotonic_ms() - began_ms));
	assert_status(waiter_answer(waiters[answered()], target, SOON_MS), status);
	disperse(gone);
}

TEST(a_message_reaches_a_daemon_that_is_left)
{
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		char name[8], key[32], target[64];
		snprintf(name, sizeof(name), "q%zu", i);
		snprintf(key, sizeof(key), "p:queue:{%s}", name);
		snprintf(target, sizeof(target), "/queues/%s/receive", name);
		gather(target, key, "{\"wait_ms\":60000,\"acknowledge\":true}");
		signal_all(sets[i], SIGSTOP);
		snprintf(target, sizeof(target), "/queues/%s/messages", name);
		assert_status(post(target, "{\"body\":1}"), 201);
		snprintf(target, sizeof(target), "/queues/%s/receive", name);
		must_be_served(sets[i], target, 200, 0);
	}
}

/* The lock is released, or its lease ends. */
TEST(a_lock_reaches_a_daemon_that_is_left)
{
	for (int ends = 0; ends < 2; ends++)
		for (size_t i = 0; i < 2; i++) {
			char name[8], key[32], target[64];
			snprintf(name, sizeof(name), "l%d%zu", ends, i);
			snprintf(key, sizeof(key), "p:lock:{%s}", name);
			snprintf(target, sizeof(target), "/locks/%s", name);
			struct answer held = post(target, ends ? "{\"ttl_ms\":3000}" : "{\"ttl_ms\":60000}");
			assert_status(held, 201);
			gather(target, key, "{\"wait_ms\":60000,\"ttl_ms\":60000}");
			signal_all(sets[i], SIGSTOP);
			if (!ends)
				assert_status(http(client, "DELETE", target, NULL, lock_token(text_at(held, "/token"))),
					      200);
			must_be_served(sets[i], target, 201, ends ? LEASE_MS : 0);
		}
}
