/*
 * proc: child processes, temporary folders, free ports and waiting, for tests.
 *
 * Owns every child and folder that a test makes. Children die with the test program, however it
 * ends. Folders are removed at its exit, or by the next test program if it was killed. Children are
 * only ever ended by their pid. An error fails the running test. Tests wait for conditions, never
 * for a fixed time.
 */
#ifndef TEST_PROC_H
#define TEST_PROC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int64_t monotonic_ms(void);
int64_t monotonic_us(void);

/* Sleeps for `ms` between two checks of a condition, or where a test needs time to pass. */
void nap_ms(int64_t ms);

/*
 * The real timeout: `timeout_ms` times PATTERND_PATIENCE, since everything takes longer under
 * valgrind.
 */
int64_t patience_ms(int64_t timeout_ms);

/*
 * True when PATTERND_FULL is set, as by `make verify`: tests that take long use their full counts.
 */
bool in_full(void);

/*
 * Lets this program and its children open as many files as the system allows. Prints a message and
 * returns false when that is less than `wanted`.
 */
bool may_open_files(size_t wanted);

/*
 * Checks every 2 ms whether `condition` holds, and less often after some time. False at the
 * timeout.
 */
bool wait_for(bool (*condition)(void *arg), void *arg, int timeout_ms);

/* Does the same with an expression; fails the test at the timeout. */
#define wait_until(expression, timeout_ms)                                             \
	do {                                                                           \
		int64_t until_ms_ = monotonic_ms() + patience_ms(timeout_ms);          \
		for (int looks_ = 0; !(expression); looks_++)                          \
			wait_step(until_ms_, looks_, #expression, __FILE__, __LINE__); \
	} while (0)
void wait_step(int64_t until_ms, int looks, const char *expression, const char *file, int line);

/*
 * Makes an empty folder, which is removed with its content when the test program exits. The text
 * lives as long as the folder.
 */
const char *temp_dir(void);

/* A TCP port of the loopback on which no program listens now. */
int free_port(void);

/* All of a file, ended by a NUL; the caller frees. NULL when it cannot be read. */
char *file_text(const char *path);

struct proc {
	pid_t pid;                                   /* 0: not running */
	int status;                                  /* as of waitpid, once it ended */
	char out_path[PATH_MAX], err_path[PATH_MAX]; /* what it wrote to stdout and stderr */
	const char *const *env;                      /* "NAME=value" over the environment, ended by NULL; set first */
	size_t files_max; /* RLIMIT_NOFILE, hard and soft; 0: as it is. Set before proc_start */
};

/*
 * An `env` that sets a child's wall clock ahead, or behind if `seconds` is negative. It lives until
 * the next call. Do not use it for sanitized programs.
 */
const char *const *clock_off_by(int seconds);
/*
 * The same, but the wall clock stays at the instant in the file at `path`, an int64_t of
 * microseconds.
 */
const char *const *clock_read_from(const char *path);

/* Starts argv[0] (looked for in PATH). It gets SIGKILL when this program ends. */
void proc_start(struct proc *p, const char *const argv[]);

/* True, and p->status is set, when the child has ended or ends within `timeout_ms`. */
bool proc_ended(struct proc *p, int timeout_ms);

/* Sends a signal to the child, if it runs. */
void proc_signal(struct proc *p, int number);

/* Kills the child with SIGKILL, if it runs, and waits for its end. */
void proc_kill(struct proc *p);

/* The exit status of the child, or 128 + the signal that ended it. */
int proc_exit_status(const struct proc *p);

/* The first child of any process, 0 when it has none. */
pid_t proc_child_of(pid_t parent);

/* True while a process runs; one that only waits to be reaped does not. */
bool proc_runs(pid_t pid);

/* True when the child's stderr has `text` in it. */
bool proc_wrote(const struct proc *p, const char *text);

/* Prints the end of the child's stderr, to explain a failure. */
void proc_print_tail(const struct proc *p);

#endif
