/*
 * --embedded: a private redis-server starts and ends with the daemon. Its data in a given folder
 * outlives both.
 */
#include <signal.h>
#include <unistd.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "test.h"

enum { END_MS = 5000 };

static struct daemon patternd;
static char option[256];
static const char *dir;

static int set_up(void **state)
{
	dir = temp_dir();
	snprintf(option, sizeof(option), "--embedded=%s/data", dir);
	memset(&patternd, 0, sizeof(patternd));
	return 0;
}

SUITE(.before = set_up);

TEST(test_survives_restart)
{
	daemon_start(&patternd, option);
	pid_t redis = proc_child_of(patternd.proc.pid);
	assert_true(redis > 0);
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "POST", "/pv/home", "{\"by\":41}"), 200);
	assert_status(http(c, "POST", "/queues/jobs/messages", "{\"body\":{\"n\":1},\"id\":\"one\"}"), 201);
	client_close(c);
	daemon_stop(&patternd);
	wait_until(!proc_runs(redis), END_MS);
	daemon_start(&patternd, option);
	c = client_open(patternd.port);
	assert_status(http(c, "POST", "/pv/home", NULL), 200);
	assert_int_equal(int_at(http(c, "GET", "/pv/home", NULL), "/count"), 42);
	assert_string_equal(text_at(http(c, "GET", "/queues/jobs/messages/one", NULL), "/id"), "one");
	client_close(c);
	daemon_stop(&patternd);
}

TEST(test_second_daemon_is_refused)
{
	struct daemon second = { 0 };

	daemon_start(&patternd, option);
	int status = daemon_run(&second, "--listen", "127.0.0.1:0", option);
	assert_in_range(status, 1, 127);
	assert_true(proc_wrote(&second.proc, dir)); /* the message names the folder */
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "POST", "/pv/home", NULL), 200);
	client_close(c);
	daemon_stop(&patternd);
}

/*
 * After kill -9 of the daemon, the redis-server ends too, the folder is usable, and no answered
 * write is lost.
 */
TEST(test_killed)
{
	daemon_start(&patternd, option);
	pid_t redis = proc_child_of(patternd.proc.pid);
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "POST", "/pv/home", NULL), 200);
	client_close(c);
	daemon_kill(&patternd);
	wait_until(!proc_runs(redis), END_MS);
	daemon_start(&patternd, option);
	c = client_open(patternd.port);
	assert_int_equal(int_at(http(c, "GET", "/pv/home", NULL), "/count"), 1);
	client_close(c);
	daemon_stop(&patternd);
}

static const struct ending {
	const char *name;
	int signal;
	const char *logged;
} endings[] = {
	{ "killed", SIGKILL, "the private redis-server was killed by signal 9; its last log line:" },
	{ "terminated", SIGTERM, "the private redis-server exited with status 0; its last log line:" },
};

/* The daemon does not run without its redis-server: it exits, and logs the reason. */
static void test_redis_ended(void **state)
{
	const struct ending *row = *state;

	daemon_start(&patternd, option);
	kill(proc_child_of(patternd.proc.pid), row->signal);
	wait_until(proc_ended(&patternd.proc, 0), 2 * END_MS);
	assert_int_not_equal(proc_exit_status(&patternd.proc), 0);
	assert_true(proc_wrote(&patternd.proc, row->logged));
}

TEST_ROWS(test_redis_ended, endings, name);

TEST(test_temporary_folder)
{
	char variable[256];

	snprintf(variable, sizeof(variable), "TMPDIR=%s", dir);
	const char *const with_dir[] = { variable, NULL };
	patternd.proc.env = with_dir;
	daemon_start(&patternd, "--embedded");
	pid_t redis = proc_child_of(patternd.proc.pid);
	assert_int_not_equal(rmdir(dir), 0); /* the data is in there */
	struct client *c = client_open(patternd.port);
	assert_status(http(c, "POST", "/pv/home", NULL), 200);
	client_close(c);
	daemon_stop(&patternd);
	wait_until(!proc_runs(redis), END_MS);
	assert_int_equal(rmdir(dir), 0); /* nothing remained in it */
}

/* A killed daemon leaves its folder. The next one removes it, but not one that is in use. */
TEST(test_left_temporary_folder)
{
	char variable[256];
	struct daemon other = { 0 };

	snprintf(variable, sizeof(variable), "TMPDIR=%s", dir);
	const char *const with_dir[] = { variable, NULL };
	patternd.proc.env = other.proc.env = with_dir;
	daemon_start(&patternd, "--embedded");
	daemon_start(&other, "--embedded");
	pid_t redis = proc_child_of(patternd.proc.pid);
	daemon_kill(&patternd);
	wait_until(!proc_runs(redis), END_MS);
	daemon_start(&patternd, "--embedded");
	struct client *c = client_open(other.port);
	assert_status(http(c, "POST", "/pv/home", NULL), 200);
	client_close(c);
	daemon_stop(&patternd);
	daemon_stop(&other);
	assert_int_equal(rmdir(dir), 0); /* nothing remained in it */
}

TEST(test_no_such_program)
{
	int status =
		daemon_run(&patternd, "--listen", "127.0.0.1:0", option, "--redis-server", "/no/such/redis-server");
	assert_in_range(status, 1, 127);
	assert_true(proc_wrote(&patternd.proc, "/no/such/redis-server"));
}

/* A container may have neither a redis-server nor /tmp: the error names the redis-server. */
TEST(test_nothing_there)
{
	static const char *const bare[] = { "PATH=/no/such", "TMPDIR=/no/such", NULL };

	patternd.proc.env = bare;
	assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--embedded"), 2);
	assert_true(proc_wrote(&patternd.proc, "redis-server: no such program"));
	assert_true(proc_wrote(&patternd.proc, "--redis"));
}

TEST(test_no_temporary_folder)
{
	static const char *const without[] = { "TMPDIR=/no/such", NULL };

	patternd.proc.env = without;
	assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--embedded"), 2);
	assert_true(proc_wrote(&patternd.proc, "/no/such"));
	assert_true(proc_wrote(&patternd.proc, "--embedded=DIR"));
}

TEST(test_unusable_folder)
{
	int status = daemon_run(&patternd, "--listen", "127.0.0.1:0", "--embedded=/proc/no/such");
	assert_in_range(status, 1, 127);
	assert_true(proc_wrote(&patternd.proc, "/proc/no/such"));
}

/* No other user has access: no TCP port, and a socket for its owner only. */
TEST(test_private)
{
	char path[300];

	daemon_start(&patternd, option);
	pid_t redis = proc_child_of(patternd.proc.pid);
	snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)redis);
	char *command = file_text(path);
	assert_non_null(command);
	assert_null(strstr(command, "*:")); /* redis-server has "*:6379" there when it listens on TCP */
	free(command);
	daemon_stop(&patternd);
}
