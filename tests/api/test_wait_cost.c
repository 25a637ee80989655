/*
 * What waiting costs. While nothing happens, it costs nothing. A message costs a fixed number of
 * commands, however many clients wait. A waiting request takes at most 4 KiB beside the memory that
 * libmicrohttpd takes for a suspended connection (programs/suspender.c), however often the request
 * tried.
 *
 * PATTERND_WAITERS=10000 in the environment sets the number of waiters, and makes the test measure
 * for ten seconds.
 */
#include <sys/resource.h>

#include "stage.h"
#include "test.h"
#include "waiter.h"

enum {
	SOON_MS = 20000,
	WAITERS = 3000, /* with fewer, the pages that malloc happens to use distort the result */
	QUEUES = 100,
	GROUP = 10,
	OTHER_FILES = 100, /* descriptors of this program, beside one per waiter */
	CROWD = 200,
	MESSAGES = 20,
	GUARD_MS = 900, /* after a second the guard of the waiter that was called tries as well */
	ATTEMPTS = 100,
	MOST_LEFT = 32 * 1024, /* bytes after ATTEMPTS attempts, of which each allocates 1 KiB or more */
	MOST_BYTES = 4096,     /* bytes per waiter, beside libmicrohttpd's own */
};

#define LONG "{\"wait_ms\":60000}"

static const char receive_q[] = "/queues/q/receive";

static struct raw **waiters;
static int waiter_count;

static int forget(void **state)
{
	client_forget(client);
	return stage_forget(state);
}

/* The configured number of waiters, or fewer if this process may not open as many descriptors. */
static int count_wanted(void)
{
	const char *given = getenv("PATTERND_WAITERS");
	int wanted = given ? atoi(given) : WAITERS;
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	int most = limit.rlim_max > 100000 ? 100000 : (int)limit.rlim_max - OTHER_FILES;
	return wanted < most ? wanted : most;
}

/* One more waiter, at one of QUEUES queues that are empty. */
static void add_waiter(const struct daemon *d)
{
	char queue[32];

	snprintf(queue, sizeof(queue), "empty-%d", waiter_count % QUEUES);
	waiters[waiter_count++] = waiter(d, queue, LONG);
}

static void expect_waiters(int count)
{
	waiters = calloc((size_t)count, sizeof(*waiters));
	assert_non_null(waiters);
}

static void disperse(void)
{
	for (int i = 0; i < waiter_count; i++)
		raw_close(waiters[i]);
	free(waiters);
	waiters = NULL;
	waiter_count = 0;
}

/*
 * Adds one group after the other, and waits until each is parked: a pending request needs more
 * memory than a parked one, and only the waiting is measured. For the same reason this does not ask
 * the daemon whether requests are parked. They are parked once their scripts have run: one per
 * request, and one more for the first request at each queue.
 */
static void gather(int count, const struct daemon *d, long long scripts)
{
	while (waiter_count < count) {
		for (int i = 0; i < GROUP && waiter_count < count; i++)
			add_waiter(d);
		int tries = waiter_count + (waiter_count < QUEUES ? waiter_count : QUEUES);
		wait_until(server_scripts_run(&redis) >= scripts + tries, SOON_MS);
	}
}

/* Commands that requests sent, without the commands that read a Cluster's map once per second. */
static long sent_by(const struct daemon *d)
{
	long maps, sent;

	do {
		maps = metric_of(d, "cluster_maps_total");
		sent = metric_of(d, "redis_commands_total");
	} while (metric_of(d, "cluster_maps_total") != maps);
	return sent - maps;
}

/*
 * How much the suspender grows per request, measured after the first quarter of `count` requests.
 */
static double baseline_bytes(int count)
{
	const char *program = getenv("PATTERND_SUSPENDER");
	char wanted[16];
	struct daemon d = { 0 };

	snprintf(wanted, sizeof(wanted), "%d", count);
	proc_start(&d.proc, (const char *const[]){ program ? program : "build/tests/suspender", wanted, NULL });
	wait_until(proc_wrote(&d.proc, "listening 127.0.0.1:"), SOON_MS);
	char *said = file_text(d.proc.err_path);
	d.port = atoi(strchr(said, ':') + 1);
	free(said);
	expect_waiters(count);
	while (waiter_count < count / 4)
		add_waiter(&d);
	wait_until(proc_wrote(&d.proc, "a quarter is suspended"), SOON_MS);
	long before_kib = daemon_resident_kib(&d);
	while (waiter_count < count)
		add_waiter(&d);
	wait_until(proc_wrote(&d.proc, "all are suspended"), SOON_MS);
	double grown = (double)(daemon_resident_kib(&d) - before_kib) * 1024 / (count - count / 4);
	disperse();
	daemon_kill(&d);
	return grown;
}

SUITE(.open = stage_open, .close = stage_close, .after = forget);

TEST(waiting_costs_nothing)
{
	int count = count_wanted(), look_ms = getenv("PATTERND_WAITERS") ? 10000 : 1000;
	char most[16];
	struct daemon d = { 0 };

	double least = baseline_bytes(count);
	snprintf(most, sizeof(most), "%d", count + OTHER_FILES);
	daemon_start(&d, "--redis", redis.url, "--max-connections", most, "--max-parked", most);
	long long scripts = server_scripts_run(&redis);
	expect_waiters(count);
	gather(count / 4, &d, scripts);
	long before_kib = daemon_resident_kib(&d); /* includes memory that is needed once, for any number */
	gather(count, &d, scripts);
	double grown = (double)(daemon_resident_kib(&d) - before_kib) * 1024 / (count - count / 4);
	wait_until(all_parked(&d, count), SOON_MS);

	long long commands = server_commands_run(&redis);
	long sent = sent_by(&d), cpu_ms = daemon_cpu_ms(&d);
	nap_ms(look_ms);
	cpu_ms = daemon_cpu_ms(&d) - cpu_ms;
	assert_int_equal(server_commands_run(&redis), commands);
	assert_int_equal(sent_by(&d), sent);
	assert_int_equal(metric_of(&d, "requests_waiting"), count);
	print_message("%d waiters at %d queues: %.0f bytes each, libmicrohttpd alone %.0f; %ld ms of CPU in %d ms\n",
		      count, QUEUES, grown, least, cpu_ms, look_ms);
	assert_in_range(cpu_ms, 0, look_ms / 100 + 10); /* a tick is 10 ms */
	if (!daemon_is_sanitized())
		assert_true(grown - least <= MOST_BYTES);

	/* The waiters are still subscribed. */
	struct client *c = client_open(d.port);
	assert_status(http(c, "POST", "/queues/empty-7/messages", "{\"body\":7}"), 201);
	assert_int_equal(int_at(waiter_answer(waiters[7], "/queues/empty-7/receive", SOON_MS), "/messages/0/body"), 7);
	client_close(c);
	disperse();
	wait_until(metric_of(&d, "requests_waiting") == 0, SOON_MS);
	daemon_stop(&d);
}

/*
 * Wakes the only waiter at the resource `name` in vain. Returns when the waiter is parked again
 * after its attempt.
 */
static void wake_in_vain(const char *kind, const char *name)
{
	long tries = metric_of(&patternd, "wait_retries_total");

	char key[64];

	snprintf(key, sizeof(key), "p:%s:{%s}", kind, name);
	wake_waiters(&redis, key);
	wait_until(metric_of(&patternd, "wait_retries_total") > tries && all_parked(&patternd, 1), SOON_MS);
}

/*
 * Whichever operation waits, an attempt frees what it allocated, and the request keeps its input. A
 * client that disconnects afterwards costs the removal of its ticket at most.
 */
TEST(attempts_accumulate_no_memory)
{
	static const struct {
		const char *kind, *name, *target, *body;
		long leaving; /* commands; -1: one for each slot, and the ticket */
	} rows[] = {
		{ "queue", "q", receive_q, LONG, 1 },
		{ "queue", "r", "/queues/receive", "{\"queues\":[\"r\",\"s\"],\"limit\":10,\"wait_ms\":60000}", -1 },
		{ "lock", "l", "/locks/l", "{\"wait_ms\":60000,\"owner\":\"a\",\"metadata\":{\"of\":[1,2,3]}}", 1 },
		{ "lock", "l", "/locks", "{\"names\":[\"l\",\"m\"],\"wait_ms\":60000}", -1 },
		{ "semaphore", "s", "/semaphores/s/permits", "{\"limit\":1,\"wait_ms\":60000}", 1 },
		{ "cache", "c", "/cache/c/fill", LONG, 1 },
	};

	assert_status(post("/locks/l", "{\"ttl_ms\":600000}"), 201);
	assert_status(post("/semaphores/s/permits", "{\"limit\":1,\"ttl_ms\":600000}"), 201);
	assert_status(post("/cache/c/fill", "{\"fill_ms\":600000}"), 201);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct raw *w = waiter_at(&patternd, rows[i].target, rows[i].body, "");
		wait_until(all_parked(&patternd, 1), SOON_MS);
		raw_close(w); /* the first use of a script is two commands */
		wait_until(all_parked(&patternd, 0), SOON_MS);
		w = waiter_at(&patternd, rows[i].target, rows[i].body, "");
		wait_until(all_parked(&patternd, 1), SOON_MS);
		wake_in_vain(rows[i].kind, rows[i].name);
		long before = metric_of(&patternd, "request_memory_bytes");
		for (int n = 0; n < ATTEMPTS; n++)
			wake_in_vain(rows[i].kind, rows[i].name);
		long left = metric_of(&patternd, "request_memory_bytes") - before;
		print_message("%s: %ld bytes more after %d attempts\n", rows[i].target, left, ATTEMPTS);
		assert_true(left < MOST_LEFT);
		long sent = sent_by(&patternd);
		raw_close(w);
		wait_until(all_parked(&patternd, 0), SOON_MS);
		sent = sent_by(&patternd) - sent;
		assert_true(rows[i].leaving < 0 || sent == rows[i].leaving);
	}
}

/* ---- Commands ---- */

/* Lets `count` clients wait at one queue, one behind the other. */
static void line_up(int count)
{
	expect_waiters(count);
	for (waiter_count = 0; waiter_count < count; waiter_count++) {
		waiters[waiter_count] = waiter(&patternd, "q", LONG);
		wait_until(tickets_at(&redis, "p:queue:{q}") == waiter_count + 1, SOON_MS);
	}
}

/* What has been sent to Redis, and the scripts that it has run. */
struct counts {
	long sent;
	long long scripts;
};

/* Both of one instant: a waiter may try between two questions. */
static struct counts counts(void)
{
	struct counts now;

	do {
		now.sent = sent_by(&patternd);
		now.scripts = server_scripts_run(&redis);
	} while (sent_by(&patternd) != now.sent || server_scripts_run(&redis) != now.scripts);
	return now;
}

/*
 * How many scripts run at most from the send of a message to its delivery, while `crowd` clients
 * wait.
 */
static long long commands_per_message(int crowd)
{
	long long most = 0;
	char body[32];

	line_up(crowd);
	int64_t began_ms = monotonic_ms();
	for (int i = 0; i < MESSAGES; i++) {
		struct raw *served = waiters[i % crowd];
		wait_until(subscribers_of(&redis, "q") == 1 && all_parked(&patternd, crowd), SOON_MS);
		struct counts before = counts();
		snprintf(body, sizeof(body), "{\"body\":%d}", i);
		assert_status(post("/queues/q/messages", body), 201);
		assert_int_equal(int_at(waiter_answer(served, receive_q, SOON_MS), "/messages/0/body"), i);
		wait_until(all_parked(&patternd, crowd - 1), SOON_MS);
		struct counts after = counts();
		long long ran = after.scripts - before.scripts;
		/* After GUARD_MS the guard of an earlier waiter may have tried as well. */
		if (monotonic_ms() - began_ms < GUARD_MS) {
			assert_int_equal(after.sent - before.sent, ran);
			most = ran > most ? ran : most;
		}
		assert_true(waiter_ask(served, receive_q, LONG, ""));
	}
	disperse();
	wait_until(waiting_at(&patternd) == 0, SOON_MS);
	return most;
}

TEST(wake_ups_cost_per_message_not_per_waiter)
{
	/* One script sends, and one receives. */
	assert_int_equal(commands_per_message(1), 2);
	forget(NULL);
	assert_int_equal(commands_per_message(CROWD), 2);
}

/* A batch, sent at once or due at the same time, costs one attempt per message. */
TEST(a_batch_costs_a_try_a_message)
{
	static const char *const delays[] = { "", ",\"delay_ms\":100" };

	for (int way = 0; way < 2; way++) {
		char body[MESSAGES * 40], *at = body + sprintf(body, "{\"messages\":[");
		line_up(CROWD);
		wait_until(subscribers_of(&redis, "q") == 1 && all_parked(&patternd, CROWD), SOON_MS);
		long long scripts = server_scripts_run(&redis);
		for (int i = 0; i < MESSAGES; i++)
			at += sprintf(at, "%s{\"body\":%d%s}", i ? "," : "", i, delays[way]);
		strcpy(at, "]}");
		assert_status(post("/queues/q/messages", body), 201);
		for (int i = 0; i < MESSAGES; i++)
			assert_status(waiter_answer(waiters[i], receive_q, SOON_MS), 200);
		wait_until(all_parked(&patternd, CROWD - MESSAGES), SOON_MS);
		long long ran = server_scripts_run(&redis) - scripts;
		print_message("%d messages%s for %d waiters: %lld scripts\n", MESSAGES, way ? ", due together," : "",
			      CROWD, ran);
		assert_in_range(ran, 1 + MESSAGES, 1 + MESSAGES + 2);
		disperse();
		wait_until(waiting_at(&patternd) == 0, SOON_MS);
		forget(NULL);
	}
}
