/*
 * daemon: the program under test (the variable PATTERND_BIN names it), started on a free port.
 *
 *	struct daemon d = { 0 };
 *	daemon_start(&d, "--redis", r.url, "--redis-timeout-ms", "300");   until /readyz is 200
 *	struct client *c = client_open(d.port);
 *	...
 *	daemon_stop(&d);             SIGTERM; fails the test unless it exits with 0
 *
 * A sanitizer's report is printed. It makes the exit status of the daemon non-zero, which fails the
 * test.
 */
#ifndef TEST_DAEMON_H
#define TEST_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "proc.h"

struct daemon {
	struct proc proc; /* proc.env and proc.files_max may be set before the start */
	int port;         /* where it listens, read from its log; 0 while it does not run */
	int health_port;  /* of --health-listen, where readiness is asked for; 0: none */
};

/*
 * Starts it with `--listen 127.0.0.1:0 --access-log all` and these options, and waits until it
 * listens, is ready, and reaches all slots of a Cluster.
 */
#define daemon_start(...) daemon_start_with(__VA_ARGS__, (const char *)NULL)
void daemon_start_with(struct daemon *d, ...) __attribute__((sentinel));

/* Does the same for a daemon that has no Redis yet: waits only until it listens. */
#define daemon_launch(...) daemon_launch_with(__VA_ARGS__, (const char *)NULL)
void daemon_launch_with(struct daemon *d, ...) __attribute__((sentinel));

/*
 * The same, but returns false when the daemon ends by itself; proc_exit_status returns its status.
 */
#define daemon_try_launch(...) daemon_try_launch_with(__VA_ARGS__, (const char *)NULL)
bool daemon_try_launch_with(struct daemon *d, ...) __attribute__((sentinel));

/*
 * Runs the daemon with exactly these options until it ends by itself. Returns its exit status;
 * fails the test after 10 s.
 */
#define daemon_run(...) daemon_run_with(__VA_ARGS__, (const char *)NULL)
int daemon_run_with(struct daemon *d, ...) __attribute__((sentinel));

/* True when /readyz returns 200 within `timeout_ms`. */
bool daemon_is_ready(struct daemon *d, int timeout_ms);

/* True when /healthz returns 200 within a second: it is alive and its loop runs. */
bool daemon_is_alive(struct daemon *d);

/*
 * SIGTERM; fails the test unless it ends within 10 s with status 0, without a sanitizer's report.
 * Does nothing after daemon_kill.
 */
void daemon_stop(struct daemon *d);

/* SIGKILL: what a crash or the out-of-memory killer does. */
void daemon_kill(struct daemon *d);

/*
 * The number of the daemon's open descriptors, which shows a connection that was not closed. -1
 * when the daemon has ended.
 */
int daemon_open_files(const struct daemon *d);

/*
 * True when this build has AddressSanitizer, which retains freed memory, so that resident memory
 * has no meaning.
 */
bool daemon_is_sanitized(void);

/* How often its log has these words. */
int daemon_log_count(const struct daemon *d, const char *words);

/* Resident memory in KiB, and CPU time used so far in ms; -1 when it is gone. */
long daemon_resident_kib(const struct daemon *d);
long daemon_most_resident_kib(const struct daemon *d); /* since it started */
long daemon_cpu_ms(const struct daemon *d);

/*
 * How long the daemon and this program were ready to run while other processes had the processors:
 * the machine's share of a measured time.
 */
int64_t daemon_kept_waiting_us(const struct daemon *d);

#endif
