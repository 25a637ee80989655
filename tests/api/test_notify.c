/*
 * Under a service manager (NOTIFY_SOCKET), the daemon notifies the manager when it serves, not
 * before, and when it ends. An unreachable manager changes nothing.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../support/daemon.h"
#include "../support/redis_server.h"
#include "test.h"

enum { NOTIFIED_MS = 5000 };

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

/* Opens a manager's socket. `name` is written as in NOTIFY_SOCKET. */
static int manager_open(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, name, len);
	if (*name == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
			 0);
	return fd;
}

static void assert_notified(int manager, const char *expected)
{
	char text[256] = "";

	wait_until(recv(manager, text, sizeof(text) - 1, 0) > 0, NOTIFIED_MS);
	assert_string_equal(text, expected);
}

static void assert_not_notified(int manager)
{
	char text[256];

	assert_int_equal(recv(manager, text, sizeof(text), 0), -1);
}

static void run_under(const char *name)
{
	char variable[256];
	const char *const with_manager[] = { variable, NULL };
	struct daemon d = { .proc.env = with_manager };
	int manager = manager_open(name);

	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", name);
	daemon_start(&d, "--redis", redis.url);
	assert_notified(manager, "READY=1");
	assert_not_notified(manager);
	daemon_stop(&d);
	assert_notified(manager, "STOPPING=1");
	assert_not_notified(manager);
	close(manager);
}

SUITE(.open = set_up, .close = tear_down);

TEST(test_path)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/notify", temp_dir());
	run_under(path);
}

TEST(test_abstract_name)
{
	char name[64];

	snprintf(name, sizeof(name), "@patternd-test-%ld", (long)getpid());
	run_under(name);
}

/* The daemon never reports a failed start as a success. */
TEST(test_not_ready)
{
	char path[100], variable[128];
	const char *const with_manager[] = { variable, NULL };
	struct daemon d = { .proc.env = with_manager };

	snprintf(path, sizeof(path), "%s/notify", temp_dir());
	snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", path);
	int manager = manager_open(path);
	assert_int_equal(daemon_run(&d, "--redis", redis.url, "--listen", "127.0.0.1:99999"), 2);
	assert_not_notified(manager);
	close(manager);
}

TEST(test_unreachable)
{
	static const char *const unreachable[] = { "NOTIFY_SOCKET=/no/such/socket", "NOTIFY_SOCKET=nonsense",
						   "NOTIFY_SOCKET=" };

	for (size_t i = 0; i < COUNT(unreachable); i++) {
		const char *const with[] = { unreachable[i], NULL };
		struct daemon d = { .proc.env = with };
		daemon_start(&d, "--redis", redis.url);
		assert_int_equal(proc_wrote(&d.proc, "not_notified"), i < 2);
		daemon_stop(&d);
	}
}
