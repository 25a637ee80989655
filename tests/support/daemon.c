/* daemon: starts and ends the program under test; see daemon.h. */
#include "daemon.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "raw.h"
#include "redis_as_one.h"
#include "test.h"

enum { LISTEN_MS = 10000, READY_MS = 10000, STOP_MS = 10000, ALIVE_MS = 1000, OPTIONS_MAX = 60 };

static const char *program(void)
{
	const char *path = getenv("PATTERND_BIN");

	return path ? path : "build/patternd";
}

static void launch(struct daemon *d, const char *const lead[], va_list options)
{
	const char *argv[OPTIONS_MAX + 4] = { program() };
	size_t n = 1;

	for (size_t i = 0; lead[i]; i++)
		argv[n++] = lead[i];
	for (const char *option; n < OPTIONS_MAX && (option = va_arg(options, const char *));)
		argv[n++] = option;
	argv[n] = NULL;
	/* Each start has its own log, which must not contain the port of an earlier start. */
	if (*d->proc.err_path) {
		unlink(d->proc.err_path);
		unlink(d->proc.out_path);
	}
	d->port = d->health_port = 0;
	proc_start(&d->proc, argv);
}

/*
 * Returns the loopback port in the log line of this event, or 0 while the line is missing or
 * incomplete.
 */
static int port_in(const char *log, const char *event)
{
	static const char address[] = "127.0.0.1:";
	const char *line = log ? strstr(log, event) : NULL;
	const char *end = line ? strchr(line, '\n') : NULL;
	const char *at = end ? strstr(line, address) : NULL;

	return at && at < end ? atoi(at + strlen(address)) : 0;
}

static bool listens_or_died(void *arg)
{
	struct daemon *d = arg;
	char *log = file_text(d->proc.err_path);

	d->port = port_in(log, "listening");
	d->health_port = port_in(log, "health_listening"); /* written together with the line before it */
	free(log);
	return d->port > 0 || proc_ended(&d->proc, 0);
}

static void wait_listening(struct daemon *d)
{
	if (wait_for(listens_or_died, d, LISTEN_MS) && d->port > 0 && d->proc.pid)
		return;
	proc_print_tail(&d->proc);
	daemon_kill(d);
	fail_msg("%s does not listen", program());
}

static const char *const usual[] = { "--listen", "127.0.0.1:0", "--access-log", "all", NULL };
static const char *const nothing[] = { NULL };

void daemon_launch_with(struct daemon *d, ...)
{
	va_list options;

	va_start(options, d);
	launch(d, usual, options);
	va_end(options);
	wait_listening(d);
}

bool daemon_try_launch_with(struct daemon *d, ...)
{
	va_list options;

	va_start(options, d);
	launch(d, usual, options);
	va_end(options);
	if (wait_for(listens_or_died, d, LISTEN_MS) && !d->proc.pid)
		return false;
	wait_listening(d);
	return true;
}

int daemon_run_with(struct daemon *d, ...)
{
	va_list options;

	va_start(options, d);
	launch(d, nothing, options);
	va_end(options);
	if (!proc_ended(&d->proc, STOP_MS)) {
		proc_print_tail(&d->proc);
		proc_kill(&d->proc);
		fail_msg("%s should have ended by itself", program());
	}
	return proc_exit_status(&d->proc);
}

/*
 * Returns the status of a GET, or 0 without an answer. Unless `text` is NULL, `has_text` gets
 * whether the answer is a 200 whose body has it.
 */
static int status_of(struct daemon *d, const char *path, const char *text, bool *has_text)
{
	char request[128];
	struct raw *r = raw_try_connect(d->health_port ? d->health_port : d->port);

	if (!r)
		return 0;
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	raw_text(r, request);
	struct answer a = raw_answer(r, daemon_is_sanitized() ? 5 * ALIVE_MS : ALIVE_MS);
	if (text)
		*has_text = a.status == 200 && strstr(a.body, text);
	raw_close(r);
	return a.status;
}

static bool ready_or_died(void *arg)
{
	struct daemon *d = arg;

	return status_of(d, "/readyz", NULL, NULL) == 200 || proc_ended(&d->proc, 0);
}

bool daemon_is_ready(struct daemon *d, int timeout_ms)
{
	return wait_for(ready_or_died, d, timeout_ms) && d->proc.pid != 0;
}

bool daemon_is_alive(struct daemon *d)
{
	return !proc_ended(&d->proc, 0) && status_of(d, "/healthz", NULL, NULL) == 200;
}

/* In a Cluster the daemon is ready before it has reached each node. */
static bool reaches_all_slots(void *arg)
{
	bool is_up = false;

	return !tests_run_on_a_cluster() || status_of(arg, "/metrics", "\npatternd_redis_up 1\n", &is_up) != 200 ||
	       is_up;
}

static void wait_ready(struct daemon *d)
{
	if (daemon_is_ready(d, READY_MS) && wait_for(reaches_all_slots, d, READY_MS))
		return;
	proc_print_tail(&d->proc);
	daemon_kill(d);
	fail_msg("%s does not get ready", program());
}

void daemon_start_with(struct daemon *d, ...)
{
	va_list options;

	va_start(options, d);
	launch(d, usual, options);
	va_end(options);
	wait_listening(d);
	wait_ready(d);
}

static bool sanitizer_spoke(const struct daemon *d)
{
	return proc_wrote(&d->proc, "runtime error:") || proc_wrote(&d->proc, "Sanitizer: ");
}

void daemon_stop(struct daemon *d)
{
	if (!d->port)
		return;
	d->port = 0;
	proc_signal(&d->proc, SIGTERM);
	bool in_time = proc_ended(&d->proc, STOP_MS);
	if (!in_time)
		proc_kill(&d->proc);
	if (in_time && proc_exit_status(&d->proc) == 0 && !sanitizer_spoke(d))
		return;
	proc_print_tail(&d->proc);
	if (!in_time)
		fail_msg("%s did not end after SIGTERM", program());
	fail_msg("%s ended with status %d", program(), proc_exit_status(&d->proc));
}

void daemon_kill(struct daemon *d)
{
	proc_kill(&d->proc);
	d->port = 0;
}

int daemon_open_files(const struct daemon *d)
{
	char path[64];
	int n = -2; /* "." and ".." */

	snprintf(path, sizeof(path), "/proc/%ld/fd", (long)d->proc.pid);
	DIR *dir = opendir(path);
	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

bool daemon_is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return true;
#elif defined(__has_feature)
	return __has_feature(address_sanitizer);
#else
	return false;
#endif
}

static long status_kib(const struct daemon *d, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)d->proc.pid);
	char *text = file_text(path);
	char *at = text ? strstr(text, name) : NULL;
	long kib = at ? atol(at + strlen(name)) : -1;
	free(text);
	return kib;
}

long daemon_resident_kib(const struct daemon *d)
{
	return status_kib(d, "VmRSS:");
}

long daemon_most_resident_kib(const struct daemon *d)
{
	return status_kib(d, "VmHWM:");
}

int daemon_log_count(const struct daemon *d, const char *words)
{
	char *log = file_text(d->proc.err_path);
	int count = 0;

	for (const char *at = log; (at = strstr(at, words)); at++)
		count++;
	free(log);
	return count;
}

long daemon_cpu_ms(const struct daemon *d)
{
	char path[64];
	unsigned long user = 0, kernel = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)d->proc.pid);
	char *text = file_text(path);
	char *at = text ? strrchr(text, ')') : NULL;
	if (at)
		found = sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) == 2;
	free(text);
	return found ? (long)((user + kernel) * 1000) / sysconf(_SC_CLK_TCK) : -1;
}

static int64_t kept_waiting_us(const char *path)
{
	unsigned long long waited_ns = 0;
	char *text = file_text(path);
	bool found = text && sscanf(text, "%*u %llu", &waited_ns) == 1;

	free(text);
	return found ? (int64_t)(waited_ns / 1000) : 0; /* this kernel does not report it */
}

int64_t daemon_kept_waiting_us(const struct daemon *d)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/schedstat", (long)d->proc.pid);
	return kept_waiting_us(path) + kept_waiting_us("/proc/self/schedstat");
}
