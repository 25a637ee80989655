/*
 * main: start, the loop's iteration, signals, stop. It must not know patterns
 * (handlers/patterns.h).
 *
 * The first SIGTERM or SIGINT drains: new connections are refused, requests under way are answered,
 * then the exit status is 0. The second one exits at once. SIGHUP rereads files; SIGUSR1 switches
 * the access log. Signals are events of the loop.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "access/access.h"
#include "access/cors.h"
#include "access/new_token.h"
#include "access/site.h"
#include "check.h"
#include "core/arena.h"
#include "core/loop.h"
#include "embedded.h"
#include "http/http.h"
#include "http/https.h"
#include "outbound/outbound.h"
#include "patterns.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "process/named.h"
#include "process/notify.h"
#include "process/option.h"
#include "redis/credentials.h"
#include "redis/renewal.h"
#include "redis/url.h"
#include "request/operation.h"
#include "topology/gauges.h"
#include "topology/replicas.h"
#include "topology/topology.h"
#include "version.h"
#include "wait/wait.h"

enum { EXIT_OPTIONS = 2, MAX_HTTP_RUNS = 4, OTHER_DESCRIPTORS = 22 + REDIS_MOST_HOSTS, LARGE_BYTES = 128 * 1024 };

static struct loop_watch signals = { .fd = -1 };
static struct loop_timer drain_end;
static bool hint_pending;
static int exit_status;

static void on_drain_end(struct loop_timer *t)
{
	(void)t;
	log_event(LOG_WARN, "drain_cut", "%u requests, %u pushes and %u commands are still under way after %lld ms",
		  http_request_count(), outbound_count(), topology_in_flight(), (long long)config()->drain_ms);
	loop_stop();
}

static void drain(void)
{
	if (http_draining()) {
		loop_stop();
		return;
	}
	log_event(LOG_INFO, "draining", "%u requests and %u pushes are still open", http_request_count(),
		  outbound_count());
	notify_manager("STOPPING=1");
	http_drain();
	patterns_drain();
	wait_drain();
	drain_end.expired = on_drain_end;
	loop_timer_set(&drain_end, loop_now_us() + config()->drain_ms * 1000);
}

/*
 * The terminal that started the daemon, -1 without one. Its hangup drains; any other SIGHUP
 * reloads.
 */
static int terminal = -1;

static void find_terminal(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && terminal < 0; fd++)
		if (isatty(fd))
			terminal = fd;
}

/* Rereads the files that may have changed, after SIGHUP. */
static void reload(void)
{
	access_reload();
	http_end_waits(access_is_revoked);
	https_reload();
	patterns_reload();
	if (credentials_have_files() && !credentials_reread())
		return;
	log_event(LOG_INFO, "reloaded",
		  "reread the files, and reconnecting to Redis; a file with an error above keeps its earlier content");
	renewal_start();
}

static void on_signal(struct loop_watch *w, uint32_t events)
{
	struct signalfd_siginfo s;

	(void)events;
	while (read(w->fd, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGTERM || s.ssi_signo == SIGINT) {
			drain();
		} else if (s.ssi_signo == SIGHUP && terminal >= 0 && !isatty(terminal)) {
			drain();
		} else if (s.ssi_signo == SIGHUP) {
			reload();
		} else if (s.ssi_signo == SIGUSR1) {
			log_switch_requests();
		} else if (s.ssi_signo == SIGCHLD && embedded_exited()) {
			exit_status = 1;
			loop_stop();
		}
	}
}

static bool open_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	find_terminal();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	signals.ready = on_signal;
	return signals.fd >= 0 && loop_watch(&signals, EPOLLIN);
}

/*
 * --embedded is for trying patternd out, so examples are printed. The testing modules of clients/,
 * also of earlier versions, wait for the first line.
 */
static void print_hint(void)
{
	char at[512], loopback[512];
	const char *address = http_address(0);

	/* Every address includes the loopback, which curl and browsers reach everywhere. */
	if (strncmp(address, "http://0.0.0.0:", 15) == 0 || strncmp(address, "http://[::]:", 12) == 0) {
		snprintf(loopback, sizeof(loopback), "http://%s%s", address[7] == '[' ? "localhost" : "127.0.0.1",
			 strrchr(address, ':'));
		address = loopback;
	}
	lseek(STDOUT_FILENO, 0, SEEK_END); /* with "> FILE 2>&1" the log has appended to that file */
	if (strncmp(address, "unix:", 5) == 0)
		snprintf(at, sizeof(at), "--unix-socket %s http://localhost", address + 5);
	else
		snprintf(at, sizeof(at), "%s", address);
	printf("patternd listens on %s; Ctrl-C stops it. Try:\n", address);
	patterns_print_examples(at);
	printf("and open %s/ in a browser.\n%s", address,
	       *config()->embedded ? "" : "Its data is deleted at the end; to keep it: --embedded=DIR\n");
	fflush(stdout);
}

/* Runs HTTP, its commands to Redis, and the responses to commands whose write failed. */
static int64_t iterate(void)
{
	bool is_busy = wait_run();

	for (int i = 0; i < MAX_HTTP_RUNS; i++) {
		bool again = http_run();
		topology_flush();
		if (!again || loop_iteration_is_long())
			break;
	}
	if (hint_pending && topology_connections()) {
		hint_pending = false;
		log_flush();
		print_hint();
	}
	log_flush();
	/* Commands for clients that disconnected count, too: what they acquired is released. */
	if (http_draining() && http_request_count() == 0 && !patterns_are_busy() && topology_in_flight() == 0)
		loop_stop();
	return is_busy ? 0 : http_timeout_ms();
}

/* Raises the limit to what the options may need. Returns how many clients the result allows. */
static unsigned raise_descriptor_limit(void)
{
	struct rlimit limit;
	rlim_t servers = replicas_enabled() ? 1 + REDIS_MOST_HOSTS : 1;
	rlim_t others =
		servers * (rlim_t)config()->pool_size + http_descriptors() + outbound_descriptors() + OTHER_DESCRIPTORS;
	rlim_t wanted = (rlim_t)config()->max_connections + others;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return (unsigned)config()->max_connections;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= wanted)
		return (unsigned)config()->max_connections;
	unsigned clients = limit.rlim_cur > others ? (unsigned)(limit.rlim_cur - others) : 1;
	log_event(LOG_WARN, "few_descriptors",
		  "the system allows %llu open files, enough for %u client%s, not for %lld",
		  (unsigned long long)limit.rlim_cur, clients, clients == 1 ? "" : "s",
		  (long long)config()->max_connections);
	return clients;
}

static bool open_redis(void)
{
	char url[2048];

	gauges_open();
	if (!config()->embedded)
		return topology_open(config()->redis);
	hint_pending = true;
	return embedded_start(config()->embedded, url, sizeof(url)) && topology_open(url);
}

/* Logs one line with all addresses; without an address it logs nothing. */
static void log_addresses(const char *event, const char *(*address)(size_t i))
{
	char all[4096] = "";
	size_t len = 0;

	for (size_t i = 0; address(i) && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "", address(i));
	if (len > 0)
		log_event(LOG_INFO, event, "%s", all);
}

static void close_all(void)
{
	http_close();
	patterns_close();
	topology_close(); /* fails pending commands, and with them waiting requests */
	credentials_close();
	wait_close();
	embedded_stop();
	access_close();
	cors_close();
	loop_timer_stop(&drain_end);
	if (signals.fd >= 0)
		close(signals.fd);
	loop_close();
	metrics_close();
	named_close();
	arena_free_cache();
	log_flush();
	config_free();
}

/* If the daemon were started without them, a client's socket would become stderr. */
static void open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Reads the files that the options name, and checks that the options agree. Opens nothing. */
static bool read_files(void)
{
	bool ok = http_check();

	ok = access_open() && ok;
	ok = cors_open() && ok;
	ok = site_open() && ok;
	ok = patterns_open() && ok;
	ok = (config()->embedded || credentials_open(config()->redis)) && ok;
	return topology_check() && ok;
}

static void warn_of_variable(const char *message)
{
	log_event(LOG_WARN, "unknown_variable", "%s", message);
}

static unsigned unknown_variables;

static void refuse_variable(const char *message)
{
	fprintf(stderr, "patternd: %s\n", message);
	unknown_variables++;
}

/* For --check-config: each fault is on stderr, and what would be used on stdout. */
static int check_config(bool ok)
{
	ok = read_files() && ok;
	option_unknown_variables(environ, refuse_variable);
	config_print();
	access_print();
	patterns_print();
	ok = https_print() && ok;
	return ok && unknown_variables == 0 ? EXIT_SUCCESS : EXIT_OPTIONS;
}

/* Opens everything and runs until a signal ends it. Returns the exit status. */
static int serve(void)
{
	unsigned clients = raise_descriptor_limit();
	if (!loop_open() || !open_signals() || !metrics_open(operation_indexes(), operation_name)) {
		fprintf(stderr, "patternd: cannot start: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	if (patterns_start() && open_redis() && wait_open() && http_open(clients)) {
		if (config()->embedded)
			log_event(LOG_INFO, "embedded_redis_started",
				  "for trying patternd out: a private Redis with its data in %s", embedded_folder());
		log_addresses("listening", http_address);
		log_addresses("health_listening", http_health_address);
		https_warn();
		notify_manager("READY=1");
		log_flush();
		loop_run(iterate);
		log_event(LOG_INFO, "stopping", "patternd %s", PATTERND_VERSION);
	} else {
		exit_status = EXIT_OPTIONS;
	}
	close_all();
	return exit_status;
}

int main(int argc, char **argv)
{
	const char *url;

	open_standard_descriptors();
	if (new_token_requested(argc, argv))
		return new_token_run(argv);
	bool is_check = check_requested(&argc, argv, &url);
	config_check_texts(topology_fault);
	enum config_outcome outcome = config_load(argc, argv, environ);

	if (outcome != CONFIG_DONE && config_is_dry_run())
		return check_config(outcome == CONFIG_RUN);
	if (outcome != CONFIG_RUN) {
		config_free();
		return outcome == CONFIG_DONE ? EXIT_SUCCESS : is_check ? EXIT_FAILURE : EXIT_OPTIONS;
	}
	if (is_check) {
		exit_status = check_run(url);
		config_free();
		return exit_status;
	}
	/*
	 * The threshold is fixed: otherwise each large block that is freed raises it, and malloc
	 * keeps the memory of bodies.
	 */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	log_open();
	if (!read_files()) {
		config_free();
		return EXIT_OPTIONS;
	}
	option_unknown_variables(environ, warn_of_variable);
	return serve();
}
