/*
 * A daemon in poor surroundings. A resolver is slow. The root is read-only, without /tmp, rights or
 * much memory. The log has no reader. The daemon is process 1. In each case the daemon starts,
 * serves, and ends on SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 8000, QUICK_US = 200000, QUICK_END_MS = 3000 };

static struct redis_server redis;
static struct daemon patternd;

/*
 * Starts the daemon by a shell that first changes its surroundings: `$0` is the program, `$GIVEN`
 * the text `given`, "$@" the options. The test chooses the port, since the log may be unreadable.
 */
static void launch(const char *script, const char *given, const char *redis_url, const char *level)
{
	static char variable[300], address[32];
	static const char *const env[] = { variable, NULL };

	patternd = (struct daemon){ .port = free_port(), .proc.env = env };
	snprintf(variable, sizeof(variable), "GIVEN=%s", given);
	snprintf(address, sizeof(address), "127.0.0.1:%d", patternd.port);
	proc_start(&patternd.proc,
		   (const char *const[]){ "sh", "-c", script, getenv("PATTERND_BIN"), "--listen", address, "--redis",
					  redis_url, "--log-level", level, "--access-log", "all", NULL });
}

static void assert_serves(void)
{
	struct client *c = client_open(patternd.port);

	assert_status(http(c, "POST", "/pv/surroundings", NULL), 200);
	assert_status(http(c, "GET", "/openapi.json", NULL), 200);
	client_close(c);
}

/* ---- 49: the log ---- */

/* Sends `times` requests. Returns the metric of lines that the log has lost by then. */
static long ask_many(struct raw *r, int times)
{
	raw_repeat(r, "GET /pv/logged HTTP/1.1\r\nHost: localhost\r\n\r\n", (size_t)times);
	for (int i = 0; i < times; i++)
		assert_status(raw_answer(r, SOON_MS), 200);
	raw_forget(r);
	return metric_of(&patternd, "log_lines_dropped_total");
}

/*
 * Reads everything that was logged, and returns how many lines it was. Each line must be whole. A
 * line that found no room is written in a later loop iteration.
 */
static size_t read_lines(int fd)
{
	static char text[1024 * 1024];
	size_t len = 0, lines = 0;
	ssize_t n;

	do {
		assert_true(daemon_is_alive(&patternd));
		n = read(fd, text + len, sizeof(text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 4096 ||
		 (len && text[len - 1] != '\n')); /* the daemon answers before it writes the rest of a line */
	text[len] = '\0';
	for (char *line = text, *end; *line; line = end + 1, lines++) {
		assert_memory_equal(line, "{\"ts\":", 6);
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_int_equal(end[-1], '}');
	}
	return lines;
}

/* Starts the daemon with its log in a pipe. Returns the reading end. */
static int launch_into_pipe(struct raw **r)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/log", temp_dir());
	assert_int_equal(mkfifo(path, 0600), 0);
	int reader = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	launch("exec \"$0\" \"$@\" 2>\"$GIVEN\"", path, redis.url, "info");
	assert_true(daemon_is_ready(&patternd, SOON_MS));
	*r = raw_connect(patternd.port);
	return reader;
}

TEST(a_log_without_a_reader)
{
	struct raw *r;
	int reader = launch_into_pipe(&r);

	for (int round = 0; ask_many(r, 500) == 0; round++)
		assert_in_range(round, 0, 20);
	assert_in_range(read_lines(reader), 100, 100000);
	wait_until((ask_many(r, 1), read_lines(reader) <= 2), SOON_MS); /* lines that the daemon still kept */
	long before = ask_many(r, 10);
	assert_int_equal(ask_many(r, 10), before);
	assert_in_range(read_lines(reader), 20, 40);
	while (ask_many(r, 500) == before)
		continue;
	raw_close(r);
	int64_t term_ms = monotonic_ms();
	daemon_stop(&patternd);
	assert_in_range(monotonic_ms() - term_ms, 0, QUICK_END_MS);
	close(reader);
}

TEST(the_reader_of_the_log_leaves)
{
	struct raw *r;
	int reader = launch_into_pipe(&r);

	close(reader);
	ask_many(r, 2000);
	assert_in_range(ask_many(r, 2000), 1, 4000);
	raw_close(r);
	daemon_stop(&patternd);
}

/* Another file may get the number of the missing descriptor. The log must not appear in it. */
TEST(there_is_no_log)
{
	static const char *const ways[] = { "exec \"$0\" \"$@\" <&- >&- 2>&-", "exec \"$0\" \"$@\" 2>&-" };

	for (size_t i = 0; i < COUNT(ways); i++) {
		launch(ways[i], "", redis.url, "debug");
		wait_until(daemon_is_ready(&patternd, 0), SOON_MS);
		struct raw *r = raw_connect(patternd.port);
		ask_many(r, 100);
		assert_false(raw_closed(r, 100));
		assert_int_equal(raw_answers_left(r), 0);
		raw_close(r);
		daemon_stop(&patternd);
	}
}

/* ---- With separate mounts ---- */

static bool may_mount(void)
{
	struct proc p = { 0 };

	proc_start(&p, (const char *const[]){ "unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt", NULL });
	return proc_ended(&p, SOON_MS) && proc_exit_status(&p) == 0 && access("/etc/resolv.conf", F_OK) == 0;
}

/* ---- 48: a container as small as it gets ---- */

TEST(without_rights_on_a_read_only_root)
{
	static const char script[] =
		"exec unshare -m sh -ec '"
		"mount -t tmpfs -o mode=755 none /mnt; cp \"$0\" /mnt/patternd;"
		"mount --bind /dev/null /etc/resolv.conf;"
		"mount -t tmpfs -o ro,mode=755 none /tmp;"
		"mount -o remount,bind,ro /; mount -o remount,ro /mnt; cd /;"
		"if touch /made-by-a-test 2>/dev/null; then exit 9; fi;"
		"ulimit -d 32768;"
		"exec setpriv --pdeathsig KILL --reuid 65532 --regid 65532 --clear-groups --no-new-privs"
		" --inh-caps=-all --bounding-set=-all /mnt/patternd \"$@\"' \"$0\" \"$@\"";
	char path[64];

	if (!may_mount() || daemon_is_sanitized())
		skip();
	launch(script, "", redis.url, "warn");
	if (!daemon_is_ready(&patternd, SOON_MS)) {
		proc_print_tail(&patternd.proc);
		fail_msg("the daemon does not start");
	}
	snprintf(path, sizeof(path), "/proc/%ld/status", (long)patternd.proc.pid);
	char *status = file_text(path);
	assert_non_null(strstr(status, "\nUid:\t65532\t65532\t65532\t65532"));
	free(status);
	assert_serves();
	assert_in_range(daemon_resident_kib(&patternd), 1, 32 * 1024);
	daemon_stop(&patternd);
}

/* ---- P18: process 1 of a container gets only signals that it has a handler for ---- */

TEST(as_process_1)
{
	static const int signals[] = { SIGTERM, SIGINT };

	if (!may_mount() || daemon_is_sanitized()) /* LeakSanitizer needs a separate /proc */
		skip();
	for (size_t i = 0; i < COUNT(signals); i++) {
		launch("exec unshare --pid --fork --kill-child \"$0\" \"$@\"", "", redis.url, "warn");
		assert_true(daemon_is_ready(&patternd, SOON_MS));
		assert_serves();
		assert_int_equal(kill(proc_child_of(patternd.proc.pid), signals[i]), 0);
		assert_true(proc_ended(&patternd.proc, QUICK_END_MS));
		assert_int_equal(proc_exit_status(&patternd.proc), 0);
	}
}

/* ---- 22: a slow resolver ---- */

static int resolver_open(const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = inet_addr(address) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * Answers a question for an IPv4 address with 127.0.0.1, and any other question with an empty
 * answer.
 */
static void resolver_answer(int fd)
{
	static const unsigned char flags[] = { 0x81, 0x80, 0, 1 }, counts[] = { 0, 0, 0, 0 };
	static const unsigned char loopback[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1 };
	unsigned char m[600];
	struct sockaddr_in who;
	socklen_t len = sizeof(who);

	for (ssize_t n; (n = recvfrom(fd, m, 512, 0, (struct sockaddr *)&who, &len)) > 17;) {
		size_t end = 12 + strlen((char *)m + 12) + 5;
		bool is_ipv4 = m[end - 3] == 1;
		memcpy(m + 2, flags, sizeof(flags));
		m[6] = 0;
		m[7] = is_ipv4;
		memcpy(m + 8, counts, sizeof(counts));
		memcpy(m + end, loopback, sizeof(loopback));
		sendto(fd, m, end + (is_ipv4 ? sizeof(loopback) : 0), 0, (struct sockaddr *)&who, len);
	}
}

static bool resolver_is_asked(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK) >= 0;
}

static void assert_does_not_wait(void)
{
	struct client *c = client_open(patternd.port);

	for (int64_t until_ms = monotonic_ms() + 1500; monotonic_ms() < until_ms; nap_ms(20)) {
		struct answer a = http(c, "POST", "/locks/a", NULL);
		assert_problem(a, 503, "redis_unavailable", "none");
		assert_in_range(a.took_us, 0, QUICK_US);
	}
	client_close(c);
	assert_int_equal(metric_of(&patternd, "loop_longest_iteration_seconds"), 0); /* in whole seconds */
}

TEST(a_resolver_takes_its_time)
{
	static const char server[] = "127.67.0.1";
	static const char script[] =
		"exec unshare -m sh -ec 'mount --bind \"$GIVEN\" /etc/resolv.conf; exec \"$0\" \"$@\"'"
		" \"$0\" \"$@\"";
	char path[200], to[64];
	int resolver = may_mount() ? resolver_open(server) : -1;

	if (resolver < 0)
		skip();
	snprintf(path, sizeof(path), "%s/resolv.conf", temp_dir());
	FILE *f = fopen(path, "we");
	fprintf(f, "nameserver %s\noptions timeout:30 attempts:1\n", server);
	fclose(f);
	snprintf(to, sizeof(to), "redis://redis.patternd.test:%d", redis.port);
	for (int does_answer = 0; does_answer < 2; does_answer++) {
		launch(script, path, to, "warn");
		wait_until(daemon_is_alive(&patternd), SOON_MS);
		wait_until(resolver_is_asked(resolver), SOON_MS);
		assert_does_not_wait();
		if (does_answer) {
			wait_until((resolver_answer(resolver), daemon_is_ready(&patternd, 0)), SOON_MS);
			assert_serves();
		}
		int64_t term_ms = monotonic_ms();
		daemon_stop(&patternd); /* though the resolver has not answered */
		assert_in_range(monotonic_ms() - term_ms, 0, QUICK_END_MS);
		for (char c; recv(resolver, &c, 1, 0) >= 0;)
			continue;
	}
	close(resolver);
}

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

SUITE(.open = set_up, .close = tear_down);
