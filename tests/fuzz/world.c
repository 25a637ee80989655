#include "world.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "call/call.h"
#include "core/loop.h"
#include "fuzz.h"
#include "net/resolve.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "request/operation.h"
#include "server.h"

enum { MOST_OPTIONS = 32 };

int64_t (*world_turn)(void);

static int64_t clock_ms = 1000, until_ms;
static bool idle; /* nothing happened in the last turn */
static int other_end = -1;

/* ---- In place of the system ---- */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __real_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms);
int __wrap_socket(int family, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t __wrap_getrandom(void *to, size_t len, unsigned flags);
void __wrap_resolve_name(struct resolve_lookup *l, const char *host, const char *port);

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	if (id != CLOCK_MONOTONIC) /* libFuzzer uses these clocks */
		return __real_clock_gettime(id, t);
	*t = (struct timespec){ .tv_sec = clock_ms / 1000, .tv_nsec = clock_ms % 1000 * 1000000 };
	return 0;
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
	int n = __real_epoll_wait(fd, events, most, 0);

	idle = n == 0;
	if (idle)
		clock_ms = timeout_ms < 0 ? until_ms : clock_ms + timeout_ms;
	return n;
}

int __wrap_socket(int family, int type, int protocol)
{
	int ends[2];

	(void)family;
	(void)protocol;
	CHECK(other_end < 0);
	if (socketpair(AF_UNIX, type, 0, ends) != 0)
		return -1;
	other_end = ends[1];
	return ends[0];
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int end = other_end;

	(void)fd;
	(void)address;
	(void)len;
	other_end = -1;
	server_accept(end);
	return 0;
}

/* The same sequence of numbers in each run. */
ssize_t __wrap_getrandom(void *to, size_t len, unsigned flags)
{
	static uint64_t state;
	unsigned char *at = to;

	(void)flags;
	for (size_t i = 0; i < len; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		at[i] = (unsigned char)(state >> 56);
	}
	return (ssize_t)len;
}

/* Every name has an address, except a name that begins with a dash. */
void __wrap_resolve_name(struct resolve_lookup *l, const char *host, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct addrinfo found = { .ai_family = AF_INET,
				  .ai_addr = (struct sockaddr *)&address,
				  .ai_addrlen = sizeof(address) };

	(void)port;
	l->done(l, *host == '-' ? NULL : &found, "no such name");
}
/* ---- Its time ---- */

static int64_t turn(void)
{
	int64_t left_ms = until_ms - clock_ms, wanted_ms = world_turn ? world_turn() : -1;

	if (idle && left_ms <= 0 && wanted_ms != 0)
		loop_stop();
	if (left_ms < 0)
		left_ms = 0;
	return wanted_ms >= 0 && wanted_ms < left_ms ? wanted_ms : left_ms;
}

void world_pass(int64_t ms)
{
	until_ms = clock_ms + ms;
	idle = false;
	loop_run(turn);
}

bool world_pass_until(bool (*holds)(void), int64_t most_ms)
{
	int64_t end_ms = clock_ms + most_ms;

	for (int64_t step_ms = 0; !holds() && clock_ms <= end_ms; step_ms = step_ms * 2 + 1)
		world_pass(step_ms);
	return holds();
}

bool (*world_prepare)(void);

void world_open(const char *const *options)
{
	static char *argv[MOST_OPTIONS];
	static bool is_open;
	int argc = 0;

	if (is_open)
		return;
	is_open = true;
	argv[argc++] = strdup("patternd");
	for (; *options && argc < MOST_OPTIONS; options++)
		argv[argc++] = strdup(*options);
	CHECK(config_load(argc, argv, (char *[]){ NULL }) == CONFIG_RUN);
	log_open();
	CHECK((!world_prepare || world_prepare()) && loop_open() && metrics_open(operation_indexes(), operation_name));
}
