/*
 * How the daemon ends. On SIGTERM it accepts no new connection and answers pending requests.
 * Incomplete requests do not delay the exit, and waiters are answered. The exit status is 0.
 */
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/daemon.h"
#include "../support/exchange.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/tokens.h"
#include "../support/waiter.h"
#include "test.h"

enum { ANSWER_MS = 5000 };

static struct redis_server redis;

static int set_up(void **state)
{
	server_start(&redis);
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	return 0;
}

static const char slow[] = "POST /pv/drained HTTP/1.1\r\nHost: localhost\r\n\r\n";

SUITE(.open = set_up, .close = tear_down);

TEST(test_term_drains)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "5000");
	struct raw *busy = raw_connect(d.port), *idle = raw_connect(d.port);
	long long before = server_scripts_run(&redis);
	server_command(&redis, "CLIENT PAUSE 400 WRITE");
	raw_text(busy, slow);
	nap_ms(50); /* Redis has the call, and is paused */
	proc_signal(&d.proc, SIGTERM);
	wait_until(!raw_listens(d.port), ANSWER_MS); /* no new connection is accepted */
	struct answer drained = raw_answer(busy, ANSWER_MS);
	assert_status(drained, 200); /* the pending request is answered */
	exchange_record("POST", "/pv/drained", drained);
	assert_true(raw_closed(busy, ANSWER_MS));
	assert_true(raw_closed(idle, ANSWER_MS));
	daemon_stop(&d);
	assert_int_equal(server_scripts_run(&redis), before + 1);
	raw_close(busy);
	raw_close(idle);
}

TEST(test_term_when_idle_is_quick)
{
	static const int signals[] = { SIGTERM, SIGINT };

	for (size_t i = 0; i < 2; i++) {
		struct daemon d = { 0 };
		daemon_start(&d, "--redis", redis.url);
		struct raw *r = raw_connect(d.port);
		raw_text(r, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
		assert_status(raw_answer(r, ANSWER_MS), 200);
		proc_signal(&d.proc, signals[i]);
		assert_true(proc_ended(&d.proc, 2000));
		assert_int_equal(proc_exit_status(&d.proc), 0);
		raw_close(r);
	}
}

/*
 * Incomplete requests do not delay the exit and leave nothing behind, whether or not their clients
 * have disconnected.
 */
static void term_with_halves(bool clients_disconnect)
{
	static const char *const halves[] = {
		"",
		"GE",
		"GET /locks/a HTTP/1.1\r\nHo",
		"POST /pv/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		"Content-Length: 9\r\n\r\n{\"by",
		"POST /pv/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
		"GET /locks?limit=1",
	};
	enum { HALVES = COUNT(halves) };
	struct daemon d = { 0 };
	struct raw *open[HALVES];

	daemon_start(&d, "--redis", redis.url, "--drain-ms", "500");
	for (size_t i = 0; i < HALVES; i++) {
		open[i] = raw_connect(d.port);
		raw_text(open[i], halves[i]);
	}
	/*
	 * More parameters than libmicrohttpd has memory for: it gives up halfway through the
	 * request.
	 */
	raw_repeat(open[HALVES - 1], "&x=1", 400);
	raw_text(open[HALVES - 1], " HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_true(daemon_is_alive(&d)); /* the daemon has read all these bytes */
	for (size_t i = 0; i < HALVES && clients_disconnect; i++)
		raw_close(open[i]);
	assert_true(daemon_is_alive(&d));
	int64_t start_ms = monotonic_ms();
	daemon_stop(&d);
	assert_in_range(monotonic_ms() - start_ms, 0, 3000);
	for (size_t i = 0; i < HALVES && !clients_disconnect; i++)
		raw_close(open[i]);
}

TEST(test_term_with_halves)
{
	term_with_halves(false);
}

TEST(test_term_with_halves_left)
{
	term_with_halves(true);
}

TEST(test_drain_has_an_end)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "8000", "--drain-ms", "300");
	struct raw *busy = raw_connect(d.port);
	server_command(&redis, "CLIENT PAUSE 3000 WRITE");
	raw_text(busy, slow);
	nap_ms(50);
	int64_t start_ms = monotonic_ms();
	proc_signal(&d.proc, SIGTERM);
	assert_true(proc_ended(&d.proc, 2500));
	assert_in_range(monotonic_ms() - start_ms, 250, 2000);
	assert_int_equal(proc_exit_status(&d.proc), 0);
	struct answer a = raw_answer(busy, ANSWER_MS);
	assert_true(a.status == 0 || a.status == 504 || a.status == 503);
	raw_close(busy);
	server_command(&redis, "CLIENT UNPAUSE");
}

TEST(test_second_term_is_immediate)
{
	struct daemon d = { 0 };

	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "8000", "--drain-ms", "8000");
	struct raw *busy = raw_connect(d.port);
	server_command(&redis, "CLIENT PAUSE 3000 WRITE");
	raw_text(busy, slow);
	nap_ms(50);
	proc_signal(&d.proc, SIGTERM);
	wait_until(!raw_listens(d.port), ANSWER_MS);
	assert_false(proc_ended(&d.proc, 0));
	proc_signal(&d.proc, SIGTERM);
	assert_true(proc_ended(&d.proc, 1000));
	raw_close(busy);
	server_command(&redis, "CLIENT UNPAUSE");
}

/* ---- Many waiters ---- */

struct waiters {
	const char *method, *target, *body;
	int count;
	int status;       /* the status of the answer */
	const char *code; /* the code of a problem; NULL: none */
	const char *text; /* text in the body, or in the last event of a stream */
	bool is_stream;
};

static const struct waiters crowd[] = {
	{ "POST", "/queues/empty/receive", "{\"wait_ms\":60000}", 620, 200, NULL, "\"messages\":[]", false },
	{ "POST", "/queues/receive", "{\"queues\":[\"a\",\"b\"],\"wait_ms\":60000}", 100, 200, NULL, "\"messages\":[]",
	  false },
	{ "POST", "/locks/held", "{\"wait_ms\":60000}", 100, 409, "lock_held", NULL, false },
	{ "POST", "/locks", "{\"names\":[\"free\",\"held\"],\"wait_ms\":60000}", 50, 409, "lock_held", NULL, false },
	{ "POST", "/locks/held/hold", "{\"wait_ms\":60000}", 30, 409, "lock_held", NULL, false },
	{ "POST", "/semaphores/full/permits", "{\"limit\":1,\"wait_ms\":60000}", 50, 409, "no_permit", NULL, false },
	{ "POST", "/ratelimit", "{\"key\":\"k\",\"limit\":1,\"window_ms\":60000,\"wait_ms\":60000}", 50, 429,
	  "rate_limited", NULL, false },
	{ "POST", "/locks/kept/hold", "{}", 1, 200, NULL, "event: closing", true },
	{ "GET", "/topics/t/stream", NULL, 30, 200, NULL, "event: closing", true },
};
enum { KINDS = COUNT(crowd), MOST = 6200, DRAIN_MS = 5000, FULL_TIMES = 10, FULL_FILES = 11000, AT_ONCE = 250 };

/*
 * A full run has ten times as many: 10000 waiters and streams. A kind with one request stays at
 * one, since only one client can hold a free lock.
 */
static int count_of(const struct waiters *w)
{
	return in_full() && w->count > 1 ? w->count * FULL_TIMES : w->count;
}

static struct raw *ask(const struct daemon *d, const struct waiters *w)
{
	struct raw *r = raw_connect(d->port);
	char text[512];

	snprintf(text, sizeof(text),
		 "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		 w->method, w->target, w->body ? strlen(w->body) : 0, w->body ? w->body : "");
	raw_text(r, text);
	return r;
}

/* Acquires what the waiters wait for. */
static void take_what_they_want(struct client *c)
{
	assert_status(http(c, "POST", "/locks/held", "{\"ttl_ms\":600000}"), 201);
	assert_status(http(c, "POST", "/semaphores/full/permits", "{\"limit\":1,\"ttl_ms\":600000}"), 201);
	assert_status(http(c, "POST", "/ratelimit", "{\"key\":\"k\",\"limit\":1,\"window_ms\":60000}"), 200);
}

static void assert_last_word(struct raw *r, const struct waiters *w, int drain_ms)
{
	struct answer a = w->is_stream ? (struct answer){ 0 } : raw_answer(r, drain_ms);
	char *said = NULL;

	for (bool found = false; w->is_stream && !found; free(said)) {
		said = raw_chunk(r, drain_ms);
		assert_non_null(said);
		assert_true(*said); /* not the end of the stream */
		found = strstr(said, w->text) != NULL;
	}
	if (!w->is_stream) {
		exchange_record(w->method, w->target, a);
		assert_status(a, w->status);
		if (w->code)
			assert_problem(a, w->status, w->code, "none");
		if (w->text)
			assert_non_null(strstr(a.body, w->text));
	}
	assert_true(raw_closed(r, drain_ms));
	raw_close(r);
}

/*
 * Each waiter gets the answer that it would get when its wait times out. Each stream gets its last
 * event.
 */
TEST(test_term_answers_all_waiters)
{
	static struct raw *asked[KINDS][MOST];
	struct daemon d = { 0 };
	int waiting = 0, drain_ms = in_full() ? 4 * DRAIN_MS : DRAIN_MS;

	if (!may_open_files(in_full() ? FULL_FILES : 2000))
		skip();
	daemon_start(&d, "--redis", redis.url, "--redis-timeout-ms", "5000", "--drain-ms", in_full() ? "20000" : "5000",
		     "--max-connections", "10500", "--max-parked", "10400");
	struct client *c = client_open(d.port);
	take_what_they_want(c);
	for (size_t k = 0; k < KINDS; k++)
		for (int i = 0; i < count_of(&crowd[k]); i++) {
			asked[k][i] = ask(&d, &crowd[k]);
			if (crowd[k].is_stream)
				assert_status(raw_head(asked[k][i], ANSWER_MS), 200);
			else
				waiting++;
			if (waiting % AT_ONCE == 0) /* Redis cannot answer thousands of calls within their timeout */
				wait_until(all_parked(&d, waiting), ANSWER_MS);
		}
	wait_until(all_parked(&d, waiting), ANSWER_MS);
	print_message("%d waiters in %ld KiB\n", waiting, daemon_resident_kib(&d));
	int64_t start_ms = monotonic_ms();
	proc_signal(&d.proc, SIGTERM);
	for (size_t k = 0; k < KINDS; k++)
		for (int i = 0; i < count_of(&crowd[k]); i++)
			assert_last_word(asked[k][i], &crowd[k], drain_ms);
	assert_true(proc_ended(&d.proc, drain_ms));
	print_message("the daemon answered %d waiters and ended in %lld ms\n", waiting,
		      (long long)(monotonic_ms() - start_ms));
	assert_in_range(monotonic_ms() - start_ms, 0, drain_ms);
	assert_int_equal(proc_exit_status(&d.proc), 0);
	client_close(c);
	assert_int_equal(server_command(&redis, "EXISTS p:lock:{kept} p:lock:{free}")->integer, 0);
	assert_int_equal(server_command(&redis, "EXISTS p:lock:{held}:waiters p:semaphore:{full}:waiters")->integer, 0);
}

/* ---- SIGTERM while it starts ---- */

/* The daemon exits, even before it can drain, and its private Redis does not remain. */
TEST(test_term_while_it_starts)
{
	for (int delay_ms = 0; delay_ms <= 60; delay_ms += 5) {
		const char *program = getenv("PATTERND_BIN");
		struct proc p = { 0 };
		proc_start(&p, (const char *const[]){ program ? program : "build/patternd", "--listen", "127.0.0.1:0",
						      "--embedded", NULL });
		nap_ms(delay_ms); /* any instant of the start */
		pid_t child = proc_child_of(p.pid);
		proc_signal(&p, SIGTERM);
		assert_true(proc_ended(&p, ANSWER_MS));
		int status = proc_exit_status(&p);
		assert_true(status == 0 || status == 128 + SIGTERM);
		wait_until(child == 0 || !proc_runs(child), ANSWER_MS);
	}
}

/* The daemon gets SIGTERM while it reloads its files. */
TEST(test_term_while_it_reloads)
{
	for (int round = 0; round < 10; round++) {
		struct daemon d = { 0 };
		daemon_start(&d, "--redis", redis.url, "--tokens", tokens_file("secret", "*"));
		for (int i = 0; i < 20; i++) {
			proc_signal(&d.proc, SIGHUP);
			if (i == round * 2)
				proc_signal(&d.proc, SIGTERM);
		}
		assert_true(proc_ended(&d.proc, ANSWER_MS));
		assert_int_equal(proc_exit_status(&d.proc), 0);
	}
}

/*
 * When its terminal closes, the daemon exits on SIGHUP instead of reloading, since the user has no
 * other way to end it.
 */
TEST(test_it_ends_with_its_terminal)
{
	char log[256];
	int terminal, status = 0;

	snprintf(log, sizeof(log), "%s/log", temp_dir());
	pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (freopen(log, "w", stdout) && dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)
			execl(getenv("PATTERND_BIN"), "patternd", "--listen", "127.0.0.1:0", "--redis", redis.url,
			      (char *)NULL);
		_exit(127);
	}
	struct proc p = { .pid = pid };
	snprintf(p.err_path, sizeof(p.err_path), "%s", log);
	wait_until(proc_wrote(&p, "listening"), ANSWER_MS);
	kill(pid, SIGHUP); /* while the terminal is open SIGHUP reloads */
	nap_ms(100);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	close(terminal);
	wait_until(waitpid(pid, &status, WNOHANG) == pid, ANSWER_MS);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(proc_wrote(&p, "draining"));
}
