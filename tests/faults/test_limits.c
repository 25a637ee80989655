/*
 * The daemon at the limits of its resources. It has few descriptors, all connections are taken, a
 * port is in use, or Redis does not read. The daemon never spins and never ends. Its refusals name
 * the limit, and it serves again when there is room.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "../support/daemon.h"
#include "../support/exchange.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "test.h"

enum { MANY = 1500, ANSWER_MS = 5000 };

static struct redis_server redis;
static struct daemon patternd;

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

static const char healthz[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

static bool answers(struct raw *r)
{
	return r && raw_text(r, healthz) && raw_answer(r, ANSWER_MS).status == 200;
}

/* Returns the CPU time that the daemon used in `ms` without requests. */
static long idle_cpu_ms(int ms)
{
	long before = daemon_cpu_ms(&patternd);

	nap_ms(ms);
	return daemon_cpu_ms(&patternd) - before;
}

SUITE(.open = set_up, .close = tear_down);

TEST(test_few_descriptors)
{
	enum { FILES = 112, TRIED = 100 };
	struct raw *taken[TRIED];

	patternd = (struct daemon){ .proc.files_max = FILES };
	daemon_start(&patternd, "--redis", redis.url);
	assert_true(proc_wrote(&patternd.proc, "the system allows 112 open files, enough for"));
	for (int i = 0; i < TRIED; i++)
		taken[i] = raw_try_connect(patternd.port);
	assert_true(answers(taken[0]));
	/*
	 * Clients are in the backlog, and accept has no descriptor for them: the daemon must not
	 * spin.
	 */
	assert_in_range(idle_cpu_ms(500), 0, 150);
	assert_true(answers(taken[0]));
	assert_int_equal(daemon_log_count(&patternd,
					  "connections (the limit of open files) are in use; new clients wait"),
			 1);
	for (int i = 0; i < TRIED; i++)
		raw_close(taken[i]);
	wait_until(daemon_is_alive(&patternd), ANSWER_MS);
	daemon_stop(&patternd);
}

TEST(test_one_client)
{
	patternd = (struct daemon){ .proc.files_max = 40 };
	daemon_launch(&patternd, "--redis", redis.url);
	assert_true(proc_wrote(&patternd.proc, "the system allows 40 open files, enough for 1 client, not for 4096"));
	daemon_stop(&patternd);
}

/* The limit was lowered after the start, or other programs opened too many files. */
TEST(test_no_descriptor)
{
	struct rlimit before, none = { 0 };

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url);
	assert_int_equal(prlimit(patternd.proc.pid, RLIMIT_NOFILE, NULL, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(prlimit(patternd.proc.pid, RLIMIT_NOFILE, &none, NULL), 0);
	struct raw *waits = raw_connect(patternd.port);
	nap_ms(500); /* it tries to accept every 100 ms */
	assert_int_equal(daemon_log_count(&patternd, "cannot accept clients: Too many open files; new clients wait"),
			 1);
	assert_int_equal(prlimit(patternd.proc.pid, RLIMIT_NOFILE, &before, NULL), 0);
	assert_true(answers(waits));
	raw_close(waits);
	daemon_stop(&patternd);
}

TEST(test_all_connections_taken)
{
	enum { MOST = 10, TRIED = 30 };
	struct raw *taken[TRIED];

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url, "--max-connections", "10");
	wait_until(daemon_is_alive(&patternd), ANSWER_MS);
	for (int i = 0; i < TRIED; i++)
		taken[i] = raw_try_connect(patternd.port);
	int served = 0;
	for (int i = 0; i < MOST - 1; i++)
		served += answers(taken[i]);
	assert_in_range(served, MOST - 2, MOST);
	assert_in_range(idle_cpu_ms(500), 0, 150);
	/* Each connection that is closed lets the next client in, and leaves others waiting. */
	for (int i = 0; i < MOST; i++)
		raw_close(taken[i]);
	assert_true(answers(taken[MOST]));
	assert_int_equal(daemon_log_count(&patternd,
					  "all 10 connections (--max-connections) are in use; new clients wait"),
			 1);
	for (int i = MOST; i < TRIED; i++)
		raw_close(taken[i]);
	wait_until(daemon_is_alive(&patternd), ANSWER_MS);
	daemon_stop(&patternd);
}

/*
 * The test opens more connections than libmicrohttpd's own limit of 1020. The option's limit
 * applies, and the daemon raises its limit of descriptors accordingly.
 */
TEST(test_many_connections)
{
	static struct raw *open[MANY];

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url, "--max-connections", "2000");
	if (!may_open_files(MANY + 100)) /* after the start: the daemon must raise its own limit by itself */
		skip();
	for (int i = 0; i < MANY; i++)
		open[i] = raw_connect(patternd.port);
	for (int i = 0; i < MANY; i++)
		assert_true(answers(open[i]));
	for (int i = MANY - 1; i >= 0; i -= 97)
		assert_true(answers(open[i]));
	for (int i = 0; i < MANY; i++)
		raw_close(open[i]);
	wait_until(daemon_open_files(&patternd) < 100, ANSWER_MS);
	daemon_stop(&patternd);
}

TEST(test_port_in_use)
{
	struct daemon second = { 0 };
	char listen[64], port[16];

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url);
	snprintf(listen, sizeof(listen), "127.0.0.1:%d", patternd.port);
	snprintf(port, sizeof(port), "%d", patternd.port);
	int status = daemon_run(&second, "--redis", redis.url, "--listen", listen);
	assert_in_range(status, 1, 127);
	assert_true(proc_wrote(&second.proc, port)); /* the message names the port */
	assert_true(proc_wrote(&second.proc, "another process listens there already"));
	assert_true(daemon_is_alive(&patternd));
	daemon_stop(&patternd);
}

/* No process listens on the port, and the message shows how to find the cause. */
TEST(test_port_of_a_connection)
{
	struct daemon second = { 0 };
	struct sockaddr_in own;
	socklen_t len = sizeof(own);
	char listen[64], shown[64];

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url);
	struct raw *r = raw_connect(patternd.port);
	assert_int_equal(getsockname(raw_fd(r), (struct sockaddr *)&own, &len), 0);
	snprintf(listen, sizeof(listen), "127.0.0.1:%d", ntohs(own.sin_port));
	snprintf(shown, sizeof(shown), "ss -tanp 'sport = :%d'", ntohs(own.sin_port));
	assert_in_range(daemon_run(&second, "--redis", redis.url, "--listen", listen), 1, 127);
	assert_true(proc_wrote(&second.proc, "the local end of a connection"));
	assert_true(proc_wrote(&second.proc, shown));
	raw_close(r);
	daemon_stop(&patternd);
}

TEST(test_pool_bound)
{
	enum { REQUESTS = 30 };
	struct raw *clients[REQUESTS];
	int refused = 0, served = 0;

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url, "--max-in-flight", "5", "--redis-timeout-ms", "3000");
	server_command(&redis, "CLIENT PAUSE 300 ALL");
	for (int i = 0; i < REQUESTS; i++) {
		clients[i] = raw_connect(patternd.port);
		raw_text(clients[i], "POST /pv/bound HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	for (int i = 0; i < REQUESTS; i++) {
		struct answer a = raw_answer(clients[i], ANSWER_MS);
		exchange_record("POST", "/pv/bound", a);
		if (a.status == 200) {
			served++;
			continue;
		}
		assert_problem(a, 503, "overloaded", "none"); /* the refusal comes at once; there is no hidden queue */
		assert_non_null(strstr(a.body, "--max-in-flight allows (5)"));
		refused++;
	}
	assert_int_equal(served, 5);
	assert_int_equal(refused, REQUESTS - 5);
	for (int i = 0; i < REQUESTS; i++)
		raw_close(clients[i]);
	daemon_stop(&patternd);
}

/* Redis has stopped reading. Bytes that the kernel has not accepted count towards the bound. */
TEST(test_bytes_bound)
{
	enum { REQUESTS = 8, BYTES = 15 << 20, MOST_SERVED = 5 };
	struct raw *clients[REQUESTS];
	char head[160];
	int refused = 0, served = 0;

	patternd = (struct daemon){ 0 };
	daemon_start(&patternd, "--redis", redis.url, "--pool-size", "1", "--max-body-bytes", "16777216",
		     "--max-request-memory", "1073741824", "--redis-timeout-ms", "20000");
	server_signal(&redis, SIGSTOP);
	snprintf(head, sizeof(head),
		 "PUT /cache/c HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		 "Content-Length: %d\r\n\r\n{\"value\":\"",
		 BYTES + 12);
	for (int i = 0; i < REQUESTS; i++) {
		clients[i] = raw_connect(patternd.port);
		raw_text(clients[i], head);
		assert_true(raw_repeat(clients[i], "0123456789abcdef", BYTES / 16));
		raw_text(clients[i], "\"}");
	}
	nap_ms(1000);
	server_signal(&redis, SIGCONT);
	for (int i = 0; i < REQUESTS; i++) {
		struct answer a = raw_answer(clients[i], 20000);
		if (a.status / 100 == 2) {
			served++;
			continue;
		}
		assert_problem(a, 503, "overloaded", "none");
		assert_non_null(strstr(a.body, "64 MiB that a connection may buffer"));
		assert_null(strstr(a.body, "--max-in-flight"));
		refused++;
	}
	assert_in_range(served, 1, MOST_SERVED);
	assert_int_equal(served + refused, REQUESTS);
	for (int i = 0; i < REQUESTS; i++)
		raw_close(clients[i]);
	daemon_stop(&patternd);
}
