/*
 * Where the daemon listens: several addresses, Unix sockets and their files, and a separate address
 * for health. Also `--check`, which queries the daemon's health.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../support/certificates.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "test.h"

enum { ANSWER_MS = 5000, LONG_BYTES = 512 };

static struct redis_server redis;
static struct daemon patternd;
static char path[256], listen_both[LONG_BYTES];

static int set_up(void **state)
{
	server_start(&redis);
	snprintf(path, sizeof(path), "%s/patternd.sock", temp_dir());
	snprintf(listen_both, sizeof(listen_both), "127.0.0.1:0,unix:%s", path);
	return 0;
}

static int tear_down(void **state)
{
	server_stop(&redis);
	return 0;
}

/* Each test starts without the daemon and the socket of the test before it. */
static int forget(void **state)
{
	daemon_stop(&patternd);
	unlink(path);
	patternd = (struct daemon){ 0 };
	return 0;
}

static mode_t mode_of(const char *of)
{
	struct stat s;

	return lstat(of, &s) == 0 ? s.st_mode : 0;
}

static int bind_to(const char *at)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(own.sun_path, sizeof(own.sun_path), "%s", at);
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	return fd;
}

/* Makes the socket file that a crashed process leaves behind. */
static void leave_stale(const char *at)
{
	close(bind_to(at));
}

static int status_by_unix(const char *target)
{
	struct client *c = client_open(1);

	client_by_unix(c, path);
	int status = http(c, "GET", target, NULL).status;
	client_close(c);
	return status;
}

static int status_by_port(int port, const char *target)
{
	struct client *c = client_open(port);
	int status = http(c, "GET", target, NULL).status;

	client_close(c);
	return status;
}

/* ---- Unix sockets ---- */

SUITE(.open = set_up, .close = tear_down, .after = forget);

TEST(test_unix_socket)
{
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both);
	assert_int_equal(mode_of(path), S_IFSOCK | 0600);
	assert_int_equal(status_by_unix("/locks/a"), 200);
	assert_int_equal(status_by_port(patternd.port, "/locks/a"), 200);
	struct client *c = client_open(1);
	client_by_unix(c, path);
	for (int i = 0; i < 50; i++)
		assert_status(http(c, "POST", "/counters/n/increment", "{\"counters\":{\"a\":1}}"), 200);
	/* Clients invent a name for it. By TCP, such a name may be a browser's that was rebound. */
	assert_status(http(c, "GET", "/locks/a", NULL, "Host: unix"), 200);
	assert_status(http(c, "GET", "/locks/a", NULL, "Host: evil.example"), 200);
	assert_problem(http(c, "GET", "/locks/a", NULL, "Host: unix", "Origin: https://evil.example"), 403,
		       "cross_site", "none");
	struct client *by_port = client_open(patternd.port);
	assert_problem(http(by_port, "GET", "/locks/a", NULL, "Host: unix"), 403, "host_not_allowed", "none");
	client_close(by_port);
	struct answer info = http(c, "GET", "/info", NULL);
	char url[64], by_unix[LONG_BYTES];
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", patternd.port);
	snprintf(by_unix, sizeof(by_unix), "unix:%s", path);
	assert_string_equal(text_at(info, "/addresses/0"), url);
	assert_string_equal(text_at(info, "/addresses/1"), by_unix);
	assert_null(json_at(info, "/addresses/2"));
	assert_int_equal(json_array_size(json_at(info, "/health_addresses")), 0);
	client_close(c);
	daemon_stop(&patternd);
	assert_int_equal(mode_of(path), 0); /* the daemon has removed it */
}

TEST(test_unix_mode)
{
	mode_t before = umask(0);

	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both, "--listen-mode", "0660");
	assert_int_equal(mode_of(path), S_IFSOCK | 0660);
	umask(before);
}

TEST(test_unix_stale)
{
	leave_stale(path);
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both);
	assert_int_equal(status_by_unix("/healthz"), 200);
	daemon_kill(&patternd);
	assert_int_equal(mode_of(path) & S_IFMT, S_IFSOCK); /* a crash leaves it */
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both);
	assert_int_equal(status_by_unix("/healthz"), 200);
}

TEST(test_unix_live)
{
	struct daemon second = { 0 };

	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both);
	assert_int_equal(daemon_run(&second, "--redis", redis.url, "--listen", listen_both), 2);
	assert_true(proc_wrote(&second.proc, "another process listens there already"));
	assert_true(proc_wrote(&second.proc, path));
	assert_int_equal(status_by_unix("/healthz"), 200);
}

TEST(test_unix_no_socket)
{
	FILE *f = fopen(path, "we");

	fputs("precious", f);
	fclose(f);
	assert_int_equal(daemon_run(&patternd, "--redis", redis.url, "--listen", listen_both), 2);
	assert_true(proc_wrote(&patternd.proc, "not a socket"));
	char *kept = file_text(path);
	assert_string_equal(kept, "precious");
	free(kept);
	unlink(path);
	/* A symbolic link is not a socket, whatever its target. */
	assert_int_equal(symlink("/nowhere", path), 0);
	assert_int_equal(daemon_run(&patternd, "--redis", redis.url, "--listen", listen_both), 2);
	assert_int_equal(mode_of(path) & S_IFMT, S_IFLNK);
}

/* If another program has replaced the socket by its own, the daemon leaves that socket in place. */
TEST(test_unix_not_ours)
{
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both);
	unlink(path);
	leave_stale(path);
	daemon_stop(&patternd);
	assert_int_equal(mode_of(path) & S_IFMT, S_IFSOCK);
}

/* True when a process waits for a lock on a file. */
static bool waits_for_lock(pid_t pid)
{
	char wanted[64];
	char *locks = file_text("/proc/locks");
	bool found = false;

	snprintf(wanted, sizeof(wanted), "WRITE %ld ", (long)pid);
	for (char *line = locks ? strstr(locks, "-> FLOCK") : NULL; line && !found;
	     line = strstr(line + 1, "-> FLOCK")) {
		char *at = strstr(line, wanted), *end = strchr(line, '\n');
		found = at && end && at < end;
	}
	free(locks);
	return found;
}

/*
 * Two daemons start at the path of a stale socket. The second finds the socket of the first, and
 * does not replace it.
 */
TEST(test_unix_race)
{
	char listen_at[LONG_BYTES], folder[256];
	const char *argv[] = { getenv("PATTERND_BIN"), "--redis", redis.url, "--listen", listen_at, NULL };

	leave_stale(path);
	snprintf(listen_at, sizeof(listen_at), "unix:%s", path);
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX), 0); /* as a daemon does at its start */
	proc_start(&patternd.proc, argv);
	wait_until(waits_for_lock(patternd.proc.pid), ANSWER_MS);
	unlink(path);
	int first = bind_to(path);
	assert_int_equal(listen(first, 8), 0);
	close(lock);
	assert_true(proc_ended(&patternd.proc, ANSWER_MS));
	assert_int_equal(proc_exit_status(&patternd.proc), 2);
	assert_true(proc_wrote(&patternd.proc, "another process listens there already"));
	close(first);
}

/* ---- Several addresses ---- */

TEST(test_both_loopbacks)
{
	char listen[LONG_BYTES];
	int port = free_port();

	snprintf(listen, sizeof(listen), "127.0.0.1:%d,[::1]:%d", port, port);
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen);
	snprintf(listen, sizeof(listen), "http://[::1]:%d", port);
	assert_int_equal(daemon_run(&(struct daemon){ 0 }, "--check", listen), 0);
	assert_int_equal(status_by_port(port, "/locks/a"), 200);
	daemon_stop(&patternd);
	/* The IPv6 wildcard leaves the same port of IPv4 free. */
	snprintf(listen, sizeof(listen), "[::]:%d,127.0.0.1:%d", port, port);
	daemon_start(&patternd, "--redis", redis.url, "--insecure", "--listen", listen);
}

/* Starts it where localhost has two addresses, and IPv6 lacks as in other_network.c. */
static void start_without(const char *ipv6, const char *listen, const char *health)
{
	static char preload[4096], without[32];
	static const char *const env[] = { preload, without, "ASAN_OPTIONS=verify_asan_link_order=0", NULL };

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("PATTERND_OTHER_NETWORK"));
	snprintf(without, sizeof(without), "WITHOUT_IPV6=%s", ipv6);
	patternd.proc.env = env;
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen, "--health-listen", health);
}

static bool answers_at(const char *host, int port)
{
	char url[64];

	snprintf(url, sizeof(url), "http://%s:%d", host, port);
	return daemon_run(&(struct daemon){ 0 }, "--check", url) == 0;
}

/* A client may try either address of localhost. With port 0 both have one port. */
TEST(a_name_is_each_of_its_addresses)
{
	start_without("", "localhost:0", "localhost:0");
	assert_true(answers_at("127.0.0.1", patternd.port) && answers_at("[::1]", patternd.port));
	assert_true(answers_at("127.0.0.1", patternd.health_port) && answers_at("[::1]", patternd.health_port));
	assert_int_not_equal(patternd.port, patternd.health_port);
	daemon_stop(&patternd);
	static const char *const without[] = { "off", "kernel" };
	for (size_t i = 0; i < 2; i++) { /* the other address still serves */
		start_without(without[i], "localhost:0", "localhost:0");
		assert_true(answers_at("127.0.0.1", patternd.port));
		assert_true(answers_at("127.0.0.1", patternd.health_port));
		assert_false(answers_at("[::1]", patternd.port));
		daemon_stop(&patternd);
	}
}

/* The image's address of health serves both families, and a kernel without IPv6. */
TEST(the_wildcard_serves_what_there_is)
{
	char health[64];
	struct daemon asks = { 0 };
	int port = free_port();

	snprintf(health, sizeof(health), "[::]:%d", port);
	start_without("", "127.0.0.1:0", health);
	assert_true(answers_at("127.0.0.1", port) && answers_at("[::1]", port));
	assert_false(proc_wrote(&patternd.proc, "no_ipv6"));
	daemon_stop(&patternd);
	start_without("kernel", "127.0.0.1:0", health);
	assert_true(answers_at("127.0.0.1", port));
	assert_false(answers_at("[::1]", port));
	assert_true(proc_wrote(&patternd.proc, "no_ipv6"));
	/* --check of the same options finds it, as HEALTHCHECK of the image does. */
	assert_int_equal(daemon_run(&asks, "--check", "--health-listen", health), 0);
}

/* If one address is occupied, the daemon closes the addresses that it has opened, and exits. */
TEST(test_one_is_taken)
{
	char listen[LONG_BYTES], port[16];
	struct daemon second = { 0 };

	daemon_start(&patternd, "--redis", redis.url);
	snprintf(listen, sizeof(listen), "unix:%s,127.0.0.1:%d", path, patternd.port);
	snprintf(port, sizeof(port), ":%d'", patternd.port);
	assert_int_equal(daemon_run(&second, "--redis", redis.url, "--listen", listen), 2);
	assert_true(proc_wrote(&second.proc, port));
	assert_int_equal(mode_of(path), 0);
}

static bool asks(struct raw *r)
{
	return raw_text(r, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

/*
 * --max-connections counts over all addresses and both servers. Clients beyond it wait at any
 * address. They use no CPU time, and are served when other clients have disconnected.
 */
TEST(test_shared_limit)
{
	enum { MOST = 8, BY_UNIX = 6, BY_TLS = 5 };
	struct certificate ca = certificate_make((struct certificate_wish){ .name = "a CA" });
	struct certificate own = certificate_make((struct certificate_wish){ .name = "patternd", .by = &ca });
	struct raw *by_unix[BY_UNIX], *by_tls[BY_TLS];

	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both, "--max-connections", "8", "--tls-cert",
		     own.cert_path, "--tls-key", own.key_path, "--health-listen", "127.0.0.1:0");
	for (int i = 0; i < BY_UNIX; i++) {
		by_unix[i] = raw_connect_unix(path);
		assert_true(asks(by_unix[i]) && raw_answer(by_unix[i], ANSWER_MS).status == 200);
	}
	for (int i = 0; i < BY_TLS; i++)
		by_tls[i] = raw_connect(patternd.port);
	for (int i = 0; i < MOST - BY_UNIX; i++)
		assert_true(raw_secure(by_tls[i]));
	/* All connections are in use. */
	struct raw *last = raw_connect_unix(path);
	asks(last);
	assert_int_equal(raw_answer(last, 200).status, 0);
	assert_false(raw_closed(last, 0));
	long before = daemon_cpu_ms(&patternd);
	nap_ms(500);
	assert_in_range(daemon_cpu_ms(&patternd) - before, 0, 50);
	for (int i = 0; i < BY_UNIX; i++)
		raw_close(by_unix[i]);
	for (int i = MOST - BY_UNIX; i < BY_TLS; i++)
		assert_true(raw_secure(by_tls[i]));
	assert_int_equal(raw_answer(last, ANSWER_MS).status, 200);
	raw_close(last);
	for (int i = 0; i < BY_TLS; i++)
		raw_close(by_tls[i]);
}

/* ---- Separate address for health ---- */

TEST(test_health_listener)
{
	static const char *const others[] = { "/locks/a",  "/info",         "/",         "/healthz/",
					      "/healthzz", "/openapi.json", "/metrics/x" };

	daemon_start(&patternd, "--redis", redis.url, "--health-listen", "127.0.0.1:0,127.0.0.2:0");
	assert_int_not_equal(patternd.health_port, 0);
	assert_int_not_equal(patternd.health_port, patternd.port);
	struct client *c = client_open(patternd.health_port);
	assert_status(http(c, "GET", "/healthz", NULL), 200);
	assert_status(http(c, "GET", "/readyz", NULL), 200);
	assert_status(http(c, "GET", "/readyz?verbose=1", NULL), 400); /* unknown parameters are refused here, too */
	assert_status(http(c, "HEAD", "/healthz", NULL), 200);
	assert_status(http(c, "GET", "/metrics", NULL), 200);
	/* A kubelet names the address of the pod. */
	assert_status(http(c, "GET", "/healthz", NULL, "Host: 10.1.2.3:8380"), 200);
	for (size_t i = 0; i < COUNT(others); i++)
		assert_problem(http(c, "GET", others[i], NULL), 404, "unknown_path", "none");
	assert_problem(http(c, "POST", "/counters/never/increment", "{\"counters\":{\"a\":1}}"), 404, "unknown_path",
		       "none");
	assert_problem(http(c, "POST", "/healthz", NULL), 405, "method_not_allowed", "none");
	client_close(c);
	c = client_open(patternd.port);
	char url[64];
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", patternd.health_port);
	struct answer info = http(c, "GET", "/info", NULL);
	assert_string_equal(text_at(info, "/health_addresses/0"), url);
	assert_memory_equal(text_at(info, "/health_addresses/1"), "http://127.0.0.2:", strlen("http://127.0.0.2:"));
	assert_int_equal(json_array_size(json_at(info, "/health_addresses")), 2);
	char *log = file_text(patternd.proc.err_path), wanted[256];
	snprintf(wanted, sizeof(wanted), "%s, %s", url, text_at(info, "/health_addresses/1"));
	assert_non_null(strstr(log, wanted));
	free(log);
	assert_null(json_at(http(c, "GET", "/counters/never", NULL), "/counters/a"));
	client_close(c);
}

/* ---- --check ---- */

/* The line that `--check` wrote, without its line end. */
static const char *line_of(const struct daemon *d)
{
	static char line[1024];
	char *text = file_text(d->proc.out_path);

	snprintf(line, sizeof(line), "%s", text);
	free(text);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

TEST(test_check)
{
	struct daemon asks = { 0 };
	char url[64], by_unix[LONG_BYTES], health[64];

	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both, "--health-listen", "127.0.0.1:0");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", patternd.port);
	snprintf(health, sizeof(health), "127.0.0.1:%d", patternd.health_port);
	snprintf(by_unix, sizeof(by_unix), "unix:%s", path);
	assert_int_equal(daemon_run(&asks, "--check", url), 0);
	assert_non_null(strstr(line_of(&asks), "/readyz returns 200"));
	assert_int_equal(daemon_run(&asks, "--check", by_unix), 0);
	assert_int_equal(daemon_run(&asks, "--check", "--listen", by_unix), 0);
	/* If health has its own address, --check uses it. */
	assert_int_equal(daemon_run(&asks, "--listen", "127.0.0.1:1", "--health-listen", health, "--check"), 0);
	assert_non_null(strstr(line_of(&asks), health));
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/locks", patternd.health_port);
	assert_int_equal(daemon_run(&asks, "--check", url), 1);
	assert_non_null(strstr(line_of(&asks), "returns 404"));
	proc_signal(&patternd.proc, SIGSTOP);
	int64_t start_ms = monotonic_ms();
	assert_int_equal(daemon_run(&asks, "--check", "--health-listen", health), 1);
	assert_in_range(monotonic_ms() - start_ms, 1000, 3500);
	assert_non_null(strstr(line_of(&asks), "does not answer"));
	proc_signal(&patternd.proc, SIGCONT);
}

TEST(test_check_fails)
{
	struct daemon asks = { 0 };
	char url[64];

	daemon_launch(&patternd, "--redis", "redis://127.0.0.1:1/0");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", patternd.port);
	assert_int_equal(daemon_run(&asks, "--check", url), 1);
	assert_non_null(strstr(line_of(&asks), "returns 503: Redis is not usable"));
	assert_int_equal(daemon_run(&asks, "--check", "http://127.0.0.1:1"), 1);
	assert_int_equal(daemon_run(&asks, "--check", "ftp://127.0.0.1"), 1);
	assert_int_equal(daemon_run(&asks, "--check", "--listen", "127.0.0.1:0"), 1);
	assert_true(proc_wrote(&asks.proc, "cannot be known"));
	assert_int_equal(daemon_run(&asks, "--check", "--pool-size", "no"), 1);
}

/* --check never uses HTTPS. Without a plain address it fails, and its message names a way out. */
TEST(test_check_beside_https)
{
	struct certificate ca = certificate_make((struct certificate_wish){ .name = "a CA" });
	struct certificate own = certificate_make(
		(struct certificate_wish){ .name = "patternd", .dns = "localhost", .ip = "127.0.0.1", .by = &ca });
	struct daemon asks = { 0 };
	char listen[64], url[80], both[LONG_BYTES + 64], health[64];

#define TLS "--tls-cert", own.cert_path, "--tls-key", own.key_path
	daemon_start(&patternd, "--redis", redis.url, "--listen", listen_both, "--health-listen", "127.0.0.1:0", TLS);
	snprintf(listen, sizeof(listen), "127.0.0.1:%d", patternd.port);
	snprintf(url, sizeof(url), "https://%s", listen);
	snprintf(both, sizeof(both), "%s,unix:%s", listen, path);
	snprintf(health, sizeof(health), "127.0.0.1:%d", patternd.health_port);
	assert_int_equal(daemon_run(&asks, "--check", "--listen", listen, TLS), 1);
	assert_true(proc_wrote(&asks.proc, "give the daemon a --health-listen"));
	assert_int_equal(daemon_run(&asks, "--check", url), 1);
	assert_true(proc_wrote(&asks.proc, "give the daemon a --health-listen"));
	assert_int_equal(daemon_run(&asks, "--check", "--listen", both, TLS), 0);
	assert_non_null(strstr(line_of(&asks), path));
	assert_int_equal(daemon_run(&asks, "--check", "--listen", listen, "--health-listen", health, TLS), 0);
	assert_non_null(strstr(line_of(&asks), health));
#undef TLS
}
