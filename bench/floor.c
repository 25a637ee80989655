/*
 * floor: does the least work that a service between HTTP and Redis can do. bench/ratelimit.py
 * compares the daemon with it.
 *
 *	floor PORT REDIS_PORT COMMAND ARGUMENT ...
 *
 * For each request it sends the same command to Redis, and reads the reply as ratelimit_gcra.lua
 * returns it. It has one epoll set, makes one recv and one send per request, and sends all commands
 * of an iteration in one send on one connection to Redis. A request is complete when its bytes end
 * with the `}` of its body. It reads no header, and checks, logs, counts and limits nothing.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 4096, EVENTS = 256, NUMBERS = 9 };
enum { REQUEST_BYTES = 8192, REPLIES_BYTES = 65536, COMMANDS_BYTES = 1 << 20 };

/* ratelimit_gcra.lua returns these. */
enum { ALLOWED, NOW, CAPACITY, REMAINING, RETRY_AT, RESET_AT, MORE_AT, LIMIT, WINDOW_MS };

static char command[4096];
static size_t command_len;
static char commands[COMMANDS_BYTES];
static size_t commands_len;
static int redis_fd, epoll_fd;

/* The clients that wait for Redis, in the order of their commands. */
static int waiting[CLIENTS];
static unsigned first_waiting, after_waiting;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void render_command(int count, char **args)
{
	FILE *f = fmemopen(command, sizeof(command), "w");

	fprintf(f, "*%d\r\n", count);
	for (int i = 0; i < count; i++)
		fprintf(f, "$%zu\r\n%s\r\n", strlen(args[i]), args[i]);
	fflush(f);
	command_len = (size_t)ftell(f);
	fclose(f);
}

static int tcp_socket(void)
{
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static struct sockaddr_in loopback(const char *port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)atoi(port)),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void accept_client(int listener)
{
	int on = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	watch(fd);
}

/*
 * Reads a client's bytes. When a request is complete, its command is added to the commands of the
 * iteration.
 */
static void read_client(int fd)
{
	char request[REQUEST_BYTES];
	ssize_t n = recv(fd, request, sizeof(request), 0);

	if (n <= 0) {
		close(fd);
		return;
	}
	if (request[n - 1] != '}' || commands_len + command_len > sizeof(commands))
		return;
	memcpy(commands + commands_len, command, command_len);
	commands_len += command_len;
	waiting[after_waiting++ % CLIENTS] = fd;
}

static void answer(int fd, const long long *n)
{
	char body[256], response[512], retry[24] = "null";

	if (!n[ALLOWED])
		snprintf(retry, sizeof(retry), "%lld", n[RETRY_AT] - n[NOW]);
	int len = snprintf(body, sizeof(body),
			   "{\"key\":\"bench\",\"policy\":\"default\",\"allowed\":%s,\"limit\":%lld,\"window_ms\":%lld,"
			   "\"capacity\":%lld,\"remaining\":%lld,\"reset_after_ms\":%lld,\"degraded\":false,"
			   "\"retry_after_ms\":%s}",
			   n[ALLOWED] ? "true" : "false", n[LIMIT], n[WINDOW_MS], n[CAPACITY], n[REMAINING],
			   n[RESET_AT] - n[NOW], retry);
	len = snprintf(response, sizeof(response),
		       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len, body);
	send(fd, response, (size_t)len, MSG_NOSIGNAL);
}

/* The length of the reply at `at`, "*9\r\n:1\r\n...", or 0 when it is not whole. */
static size_t parse_reply(const char *at, const char *end, long long *numbers)
{
	const char *from = at;

	for (int line = 0; line <= NUMBERS; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return 0;
		if (line)
			numbers[line - 1] = strtoll(at + 1, NULL, 10);
		else if (*at != '*')
			fail("Redis returned another type");
		at = newline + 1;
	}
	return (size_t)(at - from);
}

static void read_redis(void)
{
	static char replies[REPLIES_BYTES + 1];
	static size_t kept;
	long long numbers[NUMBERS];
	ssize_t n = recv(redis_fd, replies + kept, REPLIES_BYTES - kept, 0);

	if (n <= 0)
		fail("Redis closed the connection");
	const char *at = replies, *end = replies + kept + n;
	for (size_t len; (len = parse_reply(at, end, numbers)); at += len)
		answer(waiting[first_waiting++ % CLIENTS], numbers);
	kept = (size_t)(end - at);
	memmove(replies, at, kept);
}

static void flush_commands(void)
{
	size_t done = 0;

	while (done < commands_len) {
		ssize_t n = send(redis_fd, commands + done, commands_len - done, MSG_NOSIGNAL);
		if (n <= 0)
			fail("cannot write to Redis");
		done += (size_t)n;
	}
	commands_len = 0;
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];

	if (argc < 4) {
		fprintf(stderr, "usage: floor PORT REDIS_PORT COMMAND ARGUMENT ...\n");
		return 2;
	}
	struct sockaddr_in here = loopback(argv[1]), redis = loopback(argv[2]);
	int listener = tcp_socket();
	render_command(argc - 3, argv + 3);
	epoll_fd = epoll_create1(0);
	redis_fd = tcp_socket();
	if (connect(redis_fd, (struct sockaddr *)&redis, sizeof(redis)) != 0)
		fail("cannot connect to Redis");
	if (bind(listener, (struct sockaddr *)&here, sizeof(here)) != 0 || listen(listener, SOMAXCONN) != 0)
		fail("cannot listen");
	watch(redis_fd);
	watch(listener);
	for (;;) {
		int n = epoll_wait(epoll_fd, events, EVENTS, -1);
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			if (fd == listener)
				accept_client(fd);
			else if (fd == redis_fd)
				read_redis();
			else
				read_client(fd);
		}
		flush_commands();
	}
}
