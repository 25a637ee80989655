/*
 * Torture: each allocation, socket, accept, connect, epoll_ctl, read, write and open of the daemon
 * fails once. A scenario is repeated, and the n-th call fails in the n-th round, until all have
 * failed. In each round the clients get an answer or their connections are closed. The daemon
 * continues, serves the next request, and leaks neither a descriptor nor memory.
 *
 * The plain mode runs all scenarios. The other modes (Redis over TLS, a Cluster, clients by HTTPS)
 * run the scenarios that depend on the mode; handlers do not.
 *
 * This test tries a few operations; `make torture` tries all (PATTERND_TORTURE_ALL names a file for
 * the counts). The modes run side by side. With the name of a mode as argument only that mode runs.
 */
#include <signal.h>
#include <unistd.h>

#include "../support/aside.h"
#include "../support/certificates.h"
#include "../support/contract.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_cluster_slots.h"
#include "../support/redis_server.h"
#include "../support/tokens.h"
#include "../support/torture.h"
#include "../support/waiter.h"
#include "test.h"

enum {
	ANSWER_MS = 5000,
	RECOVER_MS = 9000, /* a refused daemon retries only after five seconds */
	FILLED_KEYS = 40,
	POINTS_MAX = 20000, /* per scenario and kind: beyond it the scenario counts as endless */
	FLAWS_PRINTED = 30,
	KEPT_BYTES = 1 << 20, /* how much buffers and caches may grow over a whole scenario */
	LEFT_BLOCKS = 16,     /* tolerance at the end: threads of glibc's resolver may have these blocks */
	FOLLOWS_MS = 200,     /* time for effects that no request waits for */
	TLS_STEP = 101,       /* only each 101st of GnuTLS's allocations fails: a handshake has thousands */
	PART_STEP = 10,       /* in a partial run, only each 10th call fails in modes other than the plain one */
};

#define FOR_GOOD UINT64_MAX
#define ALL "PATTERND_TORTURE_ALL"

/* The kind of Redis, the protocol to it, and the protocol of the clients. */
enum mode {
	PLAIN = 1,
	TLS = 2, /* the daemon uses TLS to Redis */
	CLUSTER = 4,
	HTTPS = 8, /* the clients use HTTPS */
};

static const struct {
	enum mode mode;
	const char *name, *of_scenario;
} modes[] = {
	{ PLAIN, "plain", "" },
	{ TLS, "TLS", ", over TLS" },
	{ CLUSTER, "Cluster", ", on a Cluster" },
	{ HTTPS, "HTTPS", ", by HTTPS" },
};

enum { MODES = COUNT(modes) };

static enum mode mode;
static struct redis_server redis;
static struct daemon patternd;
static struct certificate ca, own; /* of all servers and clients of this test */
static const char *tokens_path;
static int redis_at; /* the port that the daemon connects to */
static char redis_url[64];
static int open_files;      /* of the daemon without clients */
static int64_t left_blocks; /* blocks that an untortured daemon has at its end */
static long long maps_due;  /* how often the daemon must have asked for the map of the Cluster */
static unsigned flaws;

/* What is under way, for messages. */
static struct {
	const char *scenario;
	enum torture_kind kind;
	uint64_t n;
	int expected; /* the status when nothing fails; 0: it may vary */
	int status;   /* the last status */
	enum torture_outcome outcome;
} now;

static void note_flaw(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note_flaw(const char *format, ...)
{
	va_list args;

	now.outcome = TORTURE_FLAWED;
	if (++flaws > FLAWS_PRINTED)
		return;
	print_error("%s, %s %llu: ", now.scenario, torture_kind_name(now.kind), (unsigned long long)now.n);
	va_start(args, format);
	vprint_error(format, args);
	va_end(args);
	print_error("\n%s", torture_where());
}

/* ---- The daemon ---- */

/* Starts Redis as the mode requires. `redis_url` names its host or, at a start, its address. */
static void start_redis(void)
{
	char port[16];

	setenv("PATTERND_TEST_TOPOLOGY", mode == CLUSTER ? "cluster" : "single", 1);
	snprintf(port, sizeof(port), "%d", mode == TLS ? free_port() : 0);
	server_start(&redis, "--tls-port", port, "--tls-cert-file", own.cert_path, "--tls-key-file", own.key_path,
		     "--tls-ca-cert-file", ca.cert_path, "--tls-auth-clients", "no");
	redis_at = mode == TLS ? atoi(port) : redis.port;
}

static void name_redis(const char *host)
{
	const char *scheme = mode == TLS ? "rediss" : mode == CLUSTER ? "redis+cluster" : "redis";

	snprintf(redis_url, sizeof(redis_url), "%s://%s:%d", scheme, host, redis_at);
}

/* True when the daemon has `wanted` connections to each server of Redis. */
static bool are_connected(int wanted)
{
	int count = 0;

	for (const char *at = server_command(&redis, "CLIENT LIST")->str; (at = strstr(at, " name=patternd")); at++)
		count++;
	return count == wanted * (redis.cluster ? redis.cluster->count : 1);
}

/* Returns false when the daemon ended by itself instead. */
static bool try_start(void)
{
	const char *more[7] = { NULL }; /* a NULL ends the options */

	if (mode == TLS)
		memcpy(more, (const char *[]){ "--redis-ca-file", ca.cert_path }, 2 * sizeof(*more));
	if (mode == HTTPS) /* the test asks for readiness without TLS */
		memcpy(more,
		       (const char *[]){ "--tls-cert", own.cert_path, "--tls-key", own.key_path, "--health-listen",
					 "127.0.0.1:0" },
		       6 * sizeof(*more));
	wait_until(are_connected(0), RECOVER_MS); /* the connections of the daemon before are gone */
	return daemon_try_launch(&patternd, "--redis", redis_url, "--pool-size", "1", "--redis-timeout-ms", "400",
				 "--tokens", tokens_path, "--ready-follows-redis", more[0], more[1], more[2], more[3],
				 more[4], more[5]);
}

static void start(void)
{
	assert_true(try_start() && daemon_is_ready(&patternd, RECOVER_MS));
	wait_until(are_connected(2), RECOVER_MS); /* one for commands, one for subscriptions */
	open_files = daemon_open_files(&patternd);
}

static void restart(void)
{
	daemon_kill(&patternd);
	torture_disarm();
	start();
}

static bool is_released(void *arg)
{
	(void)arg;
	return daemon_open_files(&patternd) <= open_files;
}

/*
 * GMP aborts without memory, and libtasn1 dereferences a NULL. No program that uses GnuTLS can
 * prevent that.
 */
static void judge_crash(void)
{
	int status = proc_exit_status(&patternd.proc);

	if (now.kind == TORTURE_TLS && (status == 128 + SIGABRT || status == 128 + SIGSEGV)) {
		now.outcome = TORTURE_ENDED;
		return;
	}
	note_flaw("the daemon ended, status %d", status);
	if (flaws <= FLAWS_PRINTED)
		proc_print_tail(&patternd.proc);
}

static bool is_map_asked_for(void *arg)
{
	(void)arg;
	return server_calls(&redis, "cluster|slots") >= maps_due;
}

/* The daemon must be alive, reach Redis, and have closed all connections of clients. */
static void judge_daemon(void)
{
	bool serves = daemon_is_ready(&patternd, RECOVER_MS);

	if (proc_ended(&patternd.proc, 0)) {
		judge_crash();
		patternd.port = 0;
		restart();
	} else if (!serves) {
		note_flaw("the daemon does not serve any more");
		restart();
	} else if (maps_due && !wait_for(is_map_asked_for, NULL, RECOVER_MS)) {
		note_flaw("the map of the Cluster is not read");
		restart();
	} else if (!wait_for(is_released, NULL, RECOVER_MS)) {
		note_flaw("%d descriptors are open, not %d", daemon_open_files(&patternd), open_files);
		restart();
	}
}

/* ---- Clients ---- */

/* Connects a client; NULL: the daemon has ended. A failed handshake shows as a missing answer. */
static struct raw *come(void)
{
	struct raw *r = raw_try_connect(patternd.port);

	if (r && mode == HTTPS)
		raw_secure(r);
	return r;
}

/* Notes a flaw unless the answer fits the contract or the connection was closed. */
static void judge_answer(struct raw *r, struct answer a, const char *what)
{
	const char *media = header_of(a, "Content-Type");

	now.status = a.status;
	if (a.status == 0 && !raw_closed(r, 0))
		note_flaw("%s: no answer", what);
	else if (a.status && a.status < 500 && now.expected && a.status != now.expected)
		note_flaw("%s: %d %s", what, a.status, a.body);
	else if (a.status && media && strstr(media, "json") && !a.json)
		note_flaw("%s: the answer is not JSON: %d %s", what, a.status, a.body);
	else if (a.status >= 500 && media && strstr(media, "json") && problem_flaw(a, a.status, NULL, NULL))
		note_flaw("%s: an incomplete problem (%s): %d %s", what, problem_flaw(a, a.status, NULL, NULL),
			  a.status, a.body);
	else if (a.status >= 400 && a.body && strstr(a.body, "--max-request-memory"))
		note_flaw("%s: malloc failed, but the answer names the budget: %s", what, a.body);
}

/* Reads and judges the answer. `r` is NULL when the daemon has ended; judge_daemon reports that. */
static void await(struct raw *r, const char *what)
{
	if (r)
		judge_answer(r, raw_answer(r, ANSWER_MS), what);
}

/* Reads and judges the beginning of a stream. Returns false when there is no stream. */
static bool await_head(struct raw *r, const char *what)
{
	int status = r ? raw_head(r, ANSWER_MS).status : 0;

	if (r && status == 0 && !raw_closed(r, 0))
		note_flaw("%s: no answer", what);
	return status == 200;
}

static void leave(struct raw *r)
{
	if (r)
		raw_close(r);
}

static void send_text(struct raw *r, const char *text)
{
	if (r)
		raw_text(r, text);
}

static void ask(struct raw *r, const char *method, const char *target, const char *body, const char *headers)
{
	char *text = NULL;

	if (asprintf(
		    &text,
		    "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer torture\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		    method, target, headers, strlen(body), body) < 0)
		fail_msg("no memory");
	if (!*body && strcmp(method, "GET") == 0) {
		free(text);
		if (asprintf(&text, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer torture\r\n%s\r\n",
			     target, headers) < 0)
			fail_msg("no memory");
	}
	send_text(r, text);
	free(text);
}

/* Sends one request over a separate connection. */
static void exchange(const char *method, const char *target, const char *body, const char *headers)
{
	struct raw *r = come();

	ask(r, method, target, body, headers);
	await(r, target);
	leave(r);
}

#include "torture_scenarios.h" /* uses everything above */

/* ---- One scenario ---- */

static bool is_filled; /* Redis starts with something of everything, copied from database 1 */

/* Makes Redis as it was before the first try. */
static void reset(void)
{
	static const char copy[] = "redis.call('SELECT', ARGV[1]) for _, key in ipairs(redis.call('KEYS', '*')) do "
				   "redis.call('COPY', key, key, 'DB', ARGV[2]) end";

	server_command(&redis, is_filled ? "FLUSHDB" : "FLUSHALL");
	if (is_filled)
		server_command(&redis, "EVAL %s 0 1 0", copy);
}

/* Runs the examples of all operations except streams and DELETE. */
static void fill(void)
{
	is_filled = false;
	reset();
	now.expected = 0;
	for (size_t i = 0; i < contract_count(); i++)
		if (!is_stream(contract_at(i)) && strcmp(contract_at(i)->method, "DELETE") != 0)
			play_operation(contract_at(i));
	assert_true(server_keys(&redis) >= FILLED_KEYS);
	server_command(&redis, "SWAPDB 0 1");
	is_filled = true;
}

static bool try_point(const struct scenario *s, const void *what, uint64_t how_many)
{
	now.outcome = TORTURE_SURVIVED;
	reset();
	torture_arm(now.kind, now.n, how_many);
	s->play(what);
	bool reached = torture_disarm();
	judge_daemon();
	return reached;
}

/*
 * Returns which calls fail: 1 is every call, n is each n-th. Only `make torture` tries all in modes
 * other than the plain one.
 */
static uint64_t step(void)
{
	uint64_t of_all = now.kind == TORTURE_TLS && mode == TLS ? TLS_STEP : 1;

	return mode != PLAIN && !getenv(ALL) ? of_all * PART_STEP : of_all;
}

static void sweep(const struct scenario *s, const void *what, enum torture_kind kind, uint64_t how_many)
{
	now.kind = kind;
	for (now.n = 1; try_point(s, what, how_many); now.n += step()) {
		torture_point(now.scenario, kind, now.outcome);
		assert_true(now.n < POINTS_MAX);
	}
	if (kind == TORTURE_TLS && now.n > 1)
		restart(); /* the next daemon does not have what GnuTLS leaked without memory */
}

/* Returns the name of the scenario for reports. */
static const char *title(const char *name, const char *more)
{
	const char *of_mode = "";
	char *text = NULL;

	for (size_t i = 0; i < MODES; i++)
		of_mode = modes[i].mode == mode ? modes[i].of_scenario : of_mode;
	if (asprintf(&text, "%s%s%s", name, of_mode, more) < 0)
		fail_msg("no memory");
	return text;
}

static void torture(const struct scenario *s, const void *what)
{
	now.scenario = title(s->name, "");
	now.expected = 0;
	reset();
	s->play(what);                                      /* fills caches */
	now.expected = what && !is_filled ? now.status : 0; /* filled keys may expire, so the status may vary */
	judge_daemon();
	int64_t bytes = torture_bytes();
	for (int kind = 0; kind < TORTURE_KINDS; kind++)
		sweep(s, what, (enum torture_kind)kind, 1);
	now.scenario = title(s->name, ", no memory from then on");
	sweep(s, what, TORTURE_MEMORY, FOR_GOOD);
	if (torture_bytes() > bytes + KEPT_BYTES)
		note_flaw("%lld bytes of memory are in use, not %lld", (long long)torture_bytes(), (long long)bytes);
}

static void test_scenarios(void **state)
{
	for (size_t i = 0; i < COUNT(scenarios); i++)
		if (scenarios[i].modes & mode)
			torture(&scenarios[i], NULL);
	assert_int_equal(flaws, 0);
}

static bool is_wanted(const struct contract_operation *op)
{
	for (size_t i = 0; !getenv(ALL) && some_operations[i]; i++)
		if (strcmp(some_operations[i], op->id) == 0)
			return true;
	return getenv(ALL) && !is_stream(op);
}

static void test_operations(void **state)
{
	assert_true(contract_count() > 0);
	for (size_t i = 0; mode == PLAIN && i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		struct scenario s = { op->id, play_operation, mode };
		if (is_wanted(op))
			torture(&s, op);
	}
	assert_int_equal(flaws, 0);
}

/*
 * Tortures the operations on existing keys. It takes as long again, so it runs only if all
 * operations are tortured.
 */
static void test_operations_on_what_is_there(void **state)
{
	for (size_t i = 0; getenv(ALL) && mode == PLAIN && i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (!is_wanted(op))
			continue;
		fill();
		torture(&(struct scenario){ title(op->id, ", on what is there"), play_operation, mode }, op);
	}
	is_filled = false;
	reset();
	assert_int_equal(flaws, 0);
}

/* ---- Start and end ---- */

/* The daemon must end on SIGTERM, with status 0. */
static void judge_end(void)
{
	proc_signal(&patternd.proc, SIGTERM);
	if (!proc_ended(&patternd.proc, ANSWER_MS * 2))
		note_flaw("the daemon does not end");
	else if (proc_exit_status(&patternd.proc) != 0)
		note_flaw("the daemon ended with status %d", proc_exit_status(&patternd.proc));
	daemon_kill(&patternd);
}

/* The daemon must start in spite of the failure, or report why it does not. */
static bool try_to_start(void)
{
	torture_arm(now.kind, now.n, 1);
	bool is_up = try_start();
	if (is_up && !daemon_is_ready(&patternd, RECOVER_MS)) {
		is_up = !proc_ended(&patternd.proc, 0);
		if (is_up)
			note_flaw("the daemon does not become ready");
	}
	bool reached = torture_disarm();

	if (is_up) {
		judge_end();
	} else if (proc_exit_status(&patternd.proc) > 128) {
		judge_crash();
	} else if (proc_exit_status(&patternd.proc) != 1 && proc_exit_status(&patternd.proc) != 2) {
		note_flaw("the daemon ended with status %d", proc_exit_status(&patternd.proc));
	} else if (!proc_wrote(&patternd.proc, "patternd: ")) {
		note_flaw("the daemon ended without a message");
		proc_print_tail(&patternd.proc);
	}
	return reached;
}

/* One client waits and another listens to a stream when the daemon gets SIGTERM. */
static bool try_to_leave(void)
{
	reset();
	start();
	struct raw *waits = come(), *listens = come();
	ask(waits, "POST", "/queues/torture/receive", "{\"wait_ms\":20000}", "");
	ask(listens, "GET", "/topics/torture/stream", "", "");
	free(await_head(listens, "the listener") ? raw_chunk(listens, ANSWER_MS) : NULL);
	wait_until(subscribers_of(&redis, "torture") == 1, RECOVER_MS);
	torture_arm(now.kind, now.n, 1);
	judge_end();
	bool reached = torture_disarm();
	await(waits, "the waiter");
	if (!raw_closed(listens, ANSWER_MS))
		note_flaw("the listener: its connection stays open");
	leave(waits);
	leave(listens);
	return reached;
}

static void sweep_lives(const char *name, bool (*live)(void))
{
	now.scenario = title(name, "");
	now.expected = 0;
	daemon_stop(&patternd);
	for (int kind = 0; kind < TORTURE_KINDS; kind++) {
		now.kind = (enum torture_kind)kind;
		now.n = 1;
		for (now.outcome = TORTURE_SURVIVED; live(); now.n += step(), now.outcome = TORTURE_SURVIVED)
			torture_point(now.scenario, now.kind, now.outcome);
	}
	assert_int_equal(flaws, 0);
}

static void test_start(void **state)
{
	/*
	 * The URL has an address: glibc 2.36 crashes when memory ends while it first reads how
	 * names are resolved.
	 */
	name_redis("127.0.0.1");
	sweep_lives("start", try_to_start);
}

static void test_end(void **state)
{
	sweep_lives("end", try_to_leave);
}

/* At its end, the daemon frees everything that it allocated while calls failed. */
static void test_nothing_is_left(void **state)
{
	daemon_stop(&patternd);
	assert_in_range(torture_blocks() - left_blocks + LEFT_BLOCKS, 0, 2 * LEFT_BLOCKS);
}

static int set_up(void **state)
{
	ca = certificate_make((struct certificate_wish){ .name = "a CA" });
	own = certificate_make(
		(struct certificate_wish){ .name = "own", .dns = "localhost", .ip = "127.0.0.1", .by = &ca });
	tokens_path = tokens_file("torture", "*");
	start_redis();
	torture_open();
	patternd.proc.env = torture_env();
	/*
	 * The URL has a name: without memory to read an address, the daemon asks the resolver
	 * anyway, which keeps a descriptor from then on.
	 */
	name_redis("localhost");
	start();
	for (size_t i = 0; i < COUNT(scenarios); i++) {
		reset();
		if (scenarios[i].modes & mode)
			scenarios[i].play(NULL);
	}
	daemon_stop(&patternd);
	left_blocks = torture_blocks();
	start();
	return 0;
}

static int tear_down(void **state)
{
	daemon_kill(&patternd);
	server_stop(&redis);
	redis = (struct redis_server){ 0 };
	return 0;
}

static int run_mode(size_t k)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_operations_on_what_is_there),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_end),
	};

	mode = modes[k].mode;
	int failed = cmocka_run_group_tests_name(modes[k].name, tests, set_up, tear_down);
	torture_report(getenv(ALL));
	return failed;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (daemon_is_sanitized()) /* its allocator is not glibc's */
		return 0;
	if (getenv(ALL))
		unlink(getenv(ALL));
	for (size_t k = 0; argc > 1 && k < MODES; k++)
		if (strcmp(argv[1], modes[k].name) == 0)
			return run_mode(k);
	return run_apart(MODES, run_mode);
}
