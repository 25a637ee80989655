/*
 * proc: child processes, temporary folders, free ports and waiting, for tests.
 *
 * Owns every child and folder that a test makes: children die with the test program, however it
 * ends, and folders are removed at its exit (after a program was killed: by the next one).
 * Children are only ever ended by their pid. What cannot go on fails the running test. Never waits
 * a fixed time: it waits for conditions.
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

/*
 * Lets `ms` pass between two looks at a condition, or where passing time is the point of the test.
 */
void nap_ms(int64_t ms);

/*
 * The real timeout: `timeout_ms` times PATTERND_PATIENCE, since everything takes longer under
 * valgrind.
 */
int64_t patience_ms(int64_t timeout_ms);

/*
 * Whether counts are to be those of the table of faults, where that takes long: PATTERND_FULL, as
 * `make verify` sets it.
 */
bool in_full(void);

/*
 * Lets this program, and what it starts, open as many files as the system allows. False, after a
 * message, when that is less than `wanted`.
 */
bool may_open_files(size_t wanted);

/*
 * Looks every 2 ms until `condition` holds, and less often after some time. False when `timeout_ms`
 * passed first.
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
 * A new empty folder, removed with all that is in it when the test program exits. The text lives as
 * long.
 */
const char *temp_dir(void);

/* A TCP port of the loopback on which no program listens now. */
int free_port(void);

/* All of a file, ended by a NUL; the caller frees. NULL when it cannot be read. */
char *file_text(const char *path);

/* A child. */
struct proc {
	pid_t pid;                                   /* 0: not running */
	int status;                                  /* as of waitpid, once it ended */
	char out_path[PATH_MAX], err_path[PATH_MAX]; /* what it wrote to stdout and stderr */
	const char *const *env;                      /* "NAME=value" over the environment, ended by NULL; set first */
	size_t files_max; /* RLIMIT_NOFILE, hard and soft; 0: as it is. Set before proc_start */
};

/*
 * An `env` by which a child's wall clock is ahead, or behind if that is negative; lives until the
 * next call. Do not use it for sanitized programs.
 */
const char *const *clock_off_by(int seconds);
/*
 * The same, but the wall clock stays at the microseconds, an int64_t, that the file of that name
 * holds.
 */
const char *const *clock_read_from(const char *path);

/* Starts argv[0] (looked for in PATH). It gets SIGKILL when this program ends. */
void proc_start(struct proc *p, const char *const argv[]);

/* True, and p->status is set, when the child has ended or ends within `timeout_ms`. */
bool proc_ended(struct proc *p, int timeout_ms);

/* Sends a signal; nothing when it is not running. */
void proc_signal(struct proc *p, int number);

/* SIGKILL, and waits for the end. Nothing when it is not running. */
void proc_kill(struct proc *p);

/* The exit status of a child that ended by itself, 128 + the signal of one that was ended. */
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
