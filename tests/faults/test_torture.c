/*
 * Torture: whatever the daemon does, each allocation, socket, accept, connect, epoll_ctl, read, write and open of it fails once: a
 * scenario is played again and again, the n-th call failing, until none is left. Each time those who asked got an answer or were
 * hung up on, the daemon lives, serves the next, and kept neither a descriptor nor memory.
 *
 * Here a few operations; `make torture` (PATTERND_TORTURE_ALL names a file for what was counted) does all.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/contract.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/tokens.h"
#include "../support/torture.h"
#include "../support/waiter.h"

enum {
	ANSWER_MS = 5000,
	RECOVER_MS = 5000,
	FILLED_KEYS = 40,
	POINTS_MAX = 20000, /* of one scenario and kind: there is no end to it */
	FLAWS_PRINTED = 30,
	KEPT_BYTES = 1 << 20, /* that buffers and caches may have grown by, over a whole scenario */
	LEFT_BLOCKS = 16,     /* more or less at the end: what threads of glibc's resolver have just then */
};

#define FOR_GOOD UINT64_MAX
#define ALL "PATTERND_TORTURE_ALL"

static struct redis_server redis;
static struct daemon patternd;
static const char *tokens_path;
static char redis_url[sizeof(redis.url)];
static int open_files;      /* when nobody is there */
static int64_t left_blocks; /* by a daemon that was not tortured, at its end */
static unsigned flaws;

/* What is under way, for a message. */
static struct {
	const char *scenario;
	enum torture_kind kind;
	uint64_t n;
	int expected; /* the status when nothing fails; 0: it may be another */
	int status;   /* that came last */
	bool is_flawed;
} now;

static void note_flaw(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note_flaw(const char *format, ...)
{
	va_list args;

	now.is_flawed = true;
	if (++flaws > FLAWS_PRINTED)
		return;
	print_error("%s, %s %llu: ", now.scenario, torture_kind_name(now.kind), (unsigned long long)now.n);
	va_start(args, format);
	vprint_error(format, args);
	va_end(args);
	print_error("\n%s", torture_where());
}

/* ---- The daemon ---- */

/* The connections that Redis has: the test's own, and of the daemon one that asks and one that hears what is published. */
static int connections(void)
{
	int count = 0;

	for (const char *at = server_command(&redis, "CLIENT LIST")->str; (at = strstr(at, " laddr=")); at++)
		count++;
	return count;
}

/* False when it ended by itself instead. */
static bool try_start(void)
{
	wait_until(connections() == 1, RECOVER_MS); /* those of the one before are gone */
	return daemon_try_start(&patternd, "--redis", redis_url, "--pool-size", "1", "--redis-timeout-ms", "400",
				"--tokens", tokens_path, "--ready-follows-redis");
}

static void start(void)
{
	assert_true(try_start());
	wait_until(connections() == 3, RECOVER_MS);
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

/* It lives, reaches Redis, and has let go whoever was there. */
static void judge_daemon(void)
{
	if (proc_ended(&patternd.proc, 0)) {
		note_flaw("the daemon ended, status %d", proc_exit_status(&patternd.proc));
		if (flaws <= FLAWS_PRINTED)
			proc_print_tail(&patternd.proc);
		patternd.port = 0;
		restart();
	} else if (!daemon_is_ready(&patternd, RECOVER_MS)) {
		note_flaw("the daemon does not serve any more");
		restart();
	} else if (!wait_for(is_released, NULL, RECOVER_MS)) {
		note_flaw("%d descriptors are open, not %d", daemon_open_files(&patternd), open_files);
		restart();
	}
}

/* ---- Who asks ---- */

/* Answered as the contract says, or hung up on. */
static void judge_answer(struct raw *r, struct answer a, const char *what)
{
	const char *media = header_of(a, "Content-Type");

	now.status = a.status;
	if (a.status == 0 && !raw_closed(r, 0))
		note_flaw("%s: no answer", what);
	else if (a.status && a.status < 500 && now.expected && a.status != now.expected)
		note_flaw("%s: %d %s", what, a.status, a.body);
	else if (a.status && media && strstr(media, "json") && !a.json)
		note_flaw("%s: an answer that is no JSON: %d %s", what, a.status, a.body);
	else if (a.status >= 500 && media && strstr(media, "json") && problem_flaw(a, a.status, NULL, NULL))
		note_flaw("%s: no whole problem (%s): %d %s", what, problem_flaw(a, a.status, NULL, NULL), a.status,
			  a.body);
}

/* Its answer. Nobody came (`r` is NULL) when the daemon has ended: that is told afterwards. */
static void await(struct raw *r, const char *what)
{
	if (r)
		judge_answer(r, raw_answer(r, ANSWER_MS), what);
}

/* The same of a stream's beginning. False: there is no stream. */
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

static void say(struct raw *r, const char *text)
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
	say(r, text);
	free(text);
}

/* One request over a connection of its own. */
static void exchange(const char *method, const char *target, const char *body, const char *headers)
{
	struct raw *r = raw_try_connect(patternd.port);

	ask(r, method, target, body, headers);
	await(r, target);
	leave(r);
}

/* ---- Scenarios ---- */

static void play_operation(const void *what)
{
	const struct contract_operation *op = what;
	char *target = contract_target(op, NULL, NULL);
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : strdup("");
	bool takes_key = false;

	for (size_t i = 0; i < op->parameter_count; i++)
		takes_key = takes_key || strcmp(op->parameters[i].name, "Idempotency-Key") == 0;
	exchange(op->method, target, text, takes_key ? "Idempotency-Key: torture\r\n" : "");
	free(text);
	json_decref(body);
	free(target);
}

static bool is_stream(const struct contract_operation *op)
{
	return strcmp(op->id, "lock_hold") == 0 || strcmp(op->id, "topic_stream") == 0 ||
	       strcmp(op->id, "info_stream") == 0;
}

/* Two on one connection, the second in pieces of a chunked body, and one that leaves in the middle of it. */
static void play_connection(const void *what)
{
	struct raw *r = raw_try_connect(patternd.port);

	(void)what;
	ask(r, "POST", "/locks/torture", "{\"ttl_ms\":30000}", "");
	await(r, "the first of two");
	say(r, "POST /counters/torture HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer torture\r\n"
	       "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"likes\r\n");
	say(r, "4\r\n\":1}\r\n0\r\n\r\n");
	await(r, "the second of two");
	leave(r);
	r = raw_try_connect(patternd.port);
	say(r, "POST /counters/torture HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{");
	leave(r);
}

/* A body whose tree fills more than the block that a request begins with. */
static void play_large_body(const void *what)
{
	enum { MEMBERS = 600, MEMBER_BYTES = 32 };
	static char body[MEMBERS * MEMBER_BYTES + 64];
	size_t len = (size_t)snprintf(body, sizeof(body), "{\"body\":{");

	(void)what;
	for (int i = 0; i < MEMBERS; i++)
		len += (size_t)snprintf(body + len, sizeof(body) - len, "\"m%d\":[\"\\u00e9\",%d.5,%d],", i, i, i);
	snprintf(body + len, sizeof(body) - len, "\"end\":[]}}");
	exchange("POST", "/queues/torture/messages", body, "");
}

/* One waits for a message that another sends; one who waits leaves. */
static void play_wait(const void *what)
{
	struct raw *waits = raw_try_connect(patternd.port), *leaves = raw_try_connect(patternd.port);

	(void)what;
	ask(waits, "POST", "/queues/torture/receive", "{\"wait_ms\":60}", "");
	ask(leaves, "POST", "/queues/other/receive", "{\"wait_ms\":60}", "");
	exchange("POST", "/queues/torture/messages", "{\"body\":\"a\"}", "");
	await(waits, "the one who waits");
	leave(waits);
	leave(leaves);
}

/* One waits in the line of a lock that another gives back. */
static void play_line(const void *what)
{
	struct raw *waits = raw_try_connect(patternd.port);

	(void)what;
	exchange("POST", "/locks/torture", "{\"ttl_ms\":50}", "");
	ask(waits, "POST", "/locks/torture", "{\"wait_ms\":60}", "Idempotency-Key: torture\r\n");
	exchange("DELETE", "/locks/torture?force=true", "", "");
	await(waits, "the one in the line");
	leave(waits);
}

/* A stream is listened to until its first message, and left. */
static void play_stream(const void *what)
{
	struct raw *listens = raw_try_connect(patternd.port), *holds = raw_try_connect(patternd.port);

	(void)what;
	ask(holds, "POST", "/locks/torture/hold", "{\"ttl_ms\":1000}", "");
	ask(listens, "GET", "/topics/torture/stream", "", "");
	if (await_head(listens, "who listens")) {
		free(raw_chunk(listens, ANSWER_MS));
		exchange("POST", "/topics/torture", "{\"body\":1}", "");
		free(raw_chunk(listens, 30)); /* it may not have been sent, or not have been heard of */
	}
	await_head(holds, "who holds");
	leave(holds);
	leave(listens);
}

/* Redis hangs up on all, while one waits. */
static void play_reconnect(const void *what)
{
	struct raw *waits = raw_try_connect(patternd.port);

	(void)what;
	ask(waits, "POST", "/queues/torture/receive", "{\"wait_ms\":100}", "");
	server_command(&redis, "CLIENT KILL TYPE normal SKIPME yes");
	server_command(&redis, "CLIENT KILL TYPE pubsub");
	await(waits, "who waits");
	leave(waits);
	daemon_is_ready(&patternd, 50); /* the greeting is tortured, too */
}

/* Files are read again: what cannot be read leaves what there was. */
static void play_reload(const void *what)
{
	(void)what;
	proc_signal(&patternd.proc, SIGHUP);
	exchange("GET", "/locks/torture", "", "");
}

struct scenario {
	const char *name;
	void (*play)(const void *what);
};

static const struct scenario scenarios[] = {
	{ "a connection", play_connection },
	{ "a large body", play_large_body },
	{ "a wait", play_wait },
	{ "a line", play_line },
	{ "streams", play_stream },
	{ "reconnect", play_reconnect },
	{ "reload", play_reload },
};

static const char *const some_operations[] = { "lock_acquire", "queue_send",   "ratelimit_take", "geo_nearby",
					       "lock_list",    "openapi_json", "metrics",        NULL };

/* ---- One scenario ---- */

static bool is_filled; /* there is something of everything, kept in database 1 */

/* Redis as it was before the first try. */
static void reset(void)
{
	static const char copy[] = "redis.call('SELECT', ARGV[1]) for _, key in ipairs(redis.call('KEYS', '*')) do "
				   "redis.call('COPY', key, key, 'DB', ARGV[2]) end";

	server_command(&redis, is_filled ? "FLUSHDB" : "FLUSHALL");
	if (is_filled)
		server_command(&redis, "EVAL %s 0 1 0", copy);
}

/* What the examples of all operations leave behind, but for those that only take away. */
static void fill(void)
{
	is_filled = false;
	reset();
	now.expected = 0;
	for (size_t i = 0; i < contract_count(); i++)
		if (!is_stream(contract_at(i)) && strcmp(contract_at(i)->method, "DELETE") != 0)
			play_operation(contract_at(i));
	assert_true(server_command(&redis, "DBSIZE")->integer >= FILLED_KEYS);
	server_command(&redis, "SWAPDB 0 1");
	is_filled = true;
}

static bool try_point(const struct scenario *s, const void *what, uint64_t how_many)
{
	now.is_flawed = false;
	reset();
	torture_arm(now.kind, now.n, how_many);
	s->play(what);
	bool reached = torture_disarm();
	judge_daemon();
	return reached;
}

static void sweep(const struct scenario *s, const void *what, enum torture_kind kind, uint64_t how_many)
{
	now.kind = kind;
	for (now.n = 1; try_point(s, what, how_many); now.n++) {
		torture_point(now.scenario, kind, !now.is_flawed);
		assert_true(now.n < POINTS_MAX);
	}
}

static void torture(const struct scenario *s, const void *what)
{
	char *for_good = NULL;

	now.scenario = s->name;
	now.expected = 0;
	reset();
	s->play(what);                                      /* caches fill */
	now.expected = what && !is_filled ? now.status : 0; /* what was filled in runs out */
	judge_daemon();
	int64_t bytes = torture_bytes();
	for (int kind = 0; kind < TORTURE_KINDS; kind++)
		sweep(s, what, (enum torture_kind)kind, 1);
	if (asprintf(&for_good, "%s, no memory from then on", s->name) < 0)
		fail_msg("no memory");
	now.scenario = for_good;
	sweep(s, what, TORTURE_MEMORY, FOR_GOOD);
	if (torture_bytes() > bytes + KEPT_BYTES)
		note_flaw("%lld bytes of memory are taken, not %lld", (long long)torture_bytes(), (long long)bytes);
}

static void test_scenarios(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
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
	(void)state;
	assert_true(contract_count() > 0);
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		struct scenario s = { op->id, play_operation };
		if (is_wanted(op))
			torture(&s, op);
	}
	assert_int_equal(flaws, 0);
}

/* The same where they find something; all of them only, since it takes as long again. */
static void test_operations_on_what_is_there(void **state)
{
	char *name = NULL;

	(void)state;
	for (size_t i = 0; getenv(ALL) && i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (!is_wanted(op))
			continue;
		if (asprintf(&name, "%s, on what is there", op->id) < 0)
			fail_msg("no memory");
		fill();
		torture(&(struct scenario){ name, play_operation }, op);
	}
	is_filled = false;
	reset();
	assert_int_equal(flaws, 0);
}

/* ---- Start and end ---- */

/* By SIGTERM, with status 0. */
static void judge_end(void)
{
	proc_signal(&patternd.proc, SIGTERM);
	if (!proc_ended(&patternd.proc, ANSWER_MS * 2))
		note_flaw("it does not end");
	else if (proc_exit_status(&patternd.proc) != 0)
		note_flaw("it ended with status %d", proc_exit_status(&patternd.proc));
	daemon_kill(&patternd);
}

/* It starts all the same, or says why not. */
static bool try_to_start(void)
{
	torture_arm(now.kind, now.n, 1);
	bool is_up = try_start(), reached = torture_disarm();

	if (is_up) {
		judge_end();
	} else if (proc_exit_status(&patternd.proc) != 1 && proc_exit_status(&patternd.proc) != 2) {
		note_flaw("it ended with status %d", proc_exit_status(&patternd.proc));
	} else if (!proc_said(&patternd.proc, "patternd: ")) {
		note_flaw("it ended without a word");
		proc_print_tail(&patternd.proc);
	}
	return reached;
}

/* One waits and one listens while it is told to leave. */
static bool try_to_leave(void)
{
	reset();
	start();
	struct raw *waits = raw_connect(patternd.port), *listens = raw_connect(patternd.port);
	ask(waits, "POST", "/queues/torture/receive", "{\"wait_ms\":20000}", "");
	ask(listens, "GET", "/topics/torture/stream", "", "");
	free(await_head(listens, "who listens") ? raw_chunk(listens, ANSWER_MS) : NULL);
	wait_until(heard_by(&redis, "torture") == 1, RECOVER_MS);
	torture_arm(now.kind, now.n, 1);
	judge_end();
	bool reached = torture_disarm();
	await(waits, "who waits");
	if (!raw_closed(listens, ANSWER_MS))
		note_flaw("who listens: is not hung up on");
	leave(waits);
	leave(listens);
	return reached;
}

static void sweep_lives(const char *name, bool (*live)(void))
{
	now.scenario = name;
	now.expected = 0;
	for (int kind = 0; kind < TORTURE_KINDS; kind++) {
		now.kind = (enum torture_kind)kind;
		for (now.n = 1, now.is_flawed = false; live(); now.n++, now.is_flawed = false)
			torture_point(name, now.kind, !now.is_flawed);
	}
	assert_int_equal(flaws, 0);
}

static void test_start(void **state)
{
	(void)state;
	/* By address: glibc 2.36 crashes when memory ends while it reads for the first time how names are resolved. */
	snprintf(redis_url, sizeof(redis_url), "%s", redis.url);
	sweep_lives("start", try_to_start);
}

static void test_end(void **state)
{
	(void)state;
	sweep_lives("end", try_to_leave);
}

/* What it took while calls failed it gives back at its end. */
static void test_nothing_is_left(void **state)
{
	(void)state;
	daemon_stop(&patternd);
	assert_in_range(torture_blocks() - left_blocks + LEFT_BLOCKS, 0, 2 * LEFT_BLOCKS);
}

static int set_up(void **state)
{
	(void)state;
	tokens_path = tokens_file("torture", "*");
	server_start(&redis);
	torture_open();
	patternd.proc.env = torture_env();
	/* By name: the resolver is asked anyway when an address cannot be read for lack of memory, and keeps a descriptor from then on. */
	snprintf(redis_url, sizeof(redis_url), "redis://localhost:%d", redis.port);
	start();
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		scenarios[i].play(NULL);
	daemon_stop(&patternd);
	left_blocks = torture_blocks();
	start();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	torture_report(getenv(ALL));
	daemon_kill(&patternd);
	server_stop(&redis);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_operations_on_what_is_there),
		cmocka_unit_test(test_nothing_is_left),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_end),
	};

	if (daemon_is_sanitized()) /* its allocator is not glibc's */
		return 0;
	return cmocka_run_group_tests_name("torture", tests, set_up, tear_down);
}
