/*
 * Tests that the eighth command of an iteration is written while others may follow, and that this
 * write never ends the connection.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "redis/resp.h"
#include "redis/socket.h"
#include "test.h"

enum { AHEAD = 8 };

static const struct text ping[] = { TEXT("PING") };
static const char PING_BYTES[] = "*1\r\n$4\r\nPING\r\n";
static unsigned failures;

static void on_failed(struct redis_socket *s, const char *why)
{
	(void)s;
	(void)why;
	failures++;
}

static const struct redis_socket_callbacks callbacks = { .failed = on_failed };

/* Returns how many bytes the other side gets. */
static ssize_t received(int fd)
{
	char bytes[4096];

	return recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

static void send_pings(struct resp_buffer *o, struct redis_socket *s, int count)
{
	for (int i = 0; i < count; i++) {
		assert_true(resp_add(o, ping, 1));
		resp_write_ahead(o, s);
	}
}

TEST(eight_commands_are_written_ahead)
{
	struct redis_socket s = { .callbacks = &callbacks, .state = SOCKET_OPEN };
	struct resp_buffer o = { 0 };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	s.watch.fd = pair[0];
	send_pings(&o, &s, AHEAD - 1);
	assert_int_equal(received(pair[1]), -1);
	send_pings(&o, &s, 1);
	assert_int_equal(received(pair[1]), AHEAD * (sizeof(PING_BYTES) - 1));
	assert_int_equal(resp_waiting(&o), 0);
	assert_int_equal(o.written, AHEAD * (sizeof(PING_BYTES) - 1));
	/* A write in between begins the count again. */
	send_pings(&o, &s, AHEAD - 1);
	resp_write(&o, &s);
	send_pings(&o, &s, AHEAD - 1);
	assert_int_equal(received(pair[1]), (AHEAD - 1) * (sizeof(PING_BYTES) - 1));
	assert_int_equal(received(pair[1]), -1);
	close(pair[0]);
	close(pair[1]);
	resp_free(&o);
}

TEST(a_failure_is_reported_by_the_last_write_only)
{
	struct redis_socket s = { .callbacks = &callbacks, .state = SOCKET_OPEN };
	struct resp_buffer o = { 0 };
	int pair[2];

	failures = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	s.watch.fd = pair[0];
	close(pair[1]);
	send_pings(&o, &s, 2 * AHEAD);
	assert_int_equal(failures, 0);
	assert_int_equal(resp_waiting(&o), 2 * AHEAD * (sizeof(PING_BYTES) - 1));
	resp_write(&o, &s);
	assert_int_equal(failures, 1);
	close(pair[0]);
	resp_free(&o);
}
