/* embedded: see embedded.h. It forks, locks, executes and stops the private redis-server. */
#include "embedded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/config.h"
#include "process/log.h"

enum {
	PATH_BYTES = 1024,
	START_WAIT_MS = 5000,
	STOP_WAIT_MS = 5000,
	LOCK_WAIT_MS = 5000,
	STEP_MS = 10,
	LONG_STEP_MS = 100
};

#define FOLDER_NAME "patternd-" /* of a temporary folder; mkdtemp adds to it */

static char folder[PATH_BYTES];
static bool is_temporary;
static pid_t server;
static int lock_fd = -1;

static bool refuse(const char *what, const char *why)
{
	fprintf(stderr, "patternd: --embedded: %s: %s\n", what, why);
	return false;
}

/*
 * Waits until a child has ended, or the time has passed. SIGCHLD is blocked, since the event loop
 * reads it, which does not run here.
 */
static void wait_for_child(int ms)
{
	struct timespec most = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigtimedwait(&set, NULL, &most);
}

/*
 * Searches PATH as execlp does. This comes first, since without the program no other check matters.
 */
static bool find_program(const char *name)
{
	char path[PATH_BYTES];
	const char *folders = strchr(name, '/') ? "" : getenv("PATH");

	if (folders && !*folders && access(name, F_OK) == 0)
		return true;
	for (struct text rest = text_of(folders); rest.len;) {
		struct text at = text_cut(&rest, ':');
		snprintf(path, sizeof(path), "%.*s/%s", (int)at.len, at.at, name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return refuse(name, "no such program; apt install redis-server, or name a running Redis (--redis URL)");
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *ftw)
{
	(void)s;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_folder(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/*
 * Removes a temporary folder if its daemon was killed and its redis-server has ended. Its lock file
 * is empty before the lock is taken, and the lock is held while either of them runs.
 */
static void remove_if_abandoned(const char *path)
{
	char file[PATH_BYTES + 32];
	struct stat s;

	if (lstat(path, &s) != 0 || !S_ISDIR(s.st_mode) || s.st_uid != geteuid())
		return;
	snprintf(file, sizeof(file), "%s/patternd.lock", path);
	int fd = open(file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &s) == 0 && s.st_size > 0)
		remove_folder(path);
	if (fd >= 0)
		close(fd);
}

static void remove_abandoned(const char *parent)
{
	char path[PATH_BYTES];
	DIR *d = opendir(parent);

	for (const struct dirent *e; d && (e = readdir(d));)
		if (strncmp(e->d_name, FOLDER_NAME, strlen(FOLDER_NAME)) == 0 &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", parent, e->d_name) < sizeof(path))
			remove_if_abandoned(path);
	if (d)
		closedir(d);
}

static bool make_temporary_folder(void)
{
	const char *parent = getenv("TMPDIR");

	if (!parent || !*parent)
		parent = "/tmp";
	remove_abandoned(parent);
	if ((size_t)snprintf(folder, sizeof(folder), "%s/" FOLDER_NAME "XXXXXX", parent) >= sizeof(folder))
		return refuse(parent, "its path is too long");
	return mkdtemp(folder) ? true
			       : refuse(parent, "no temporary folder can be made there; name one: --embedded=DIR");
}

static bool make_folder(const char *dir)
{
	is_temporary = *dir == '\0';
	if (is_temporary)
		return make_temporary_folder();
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return refuse(dir, strerror(errno));
	char *whole = realpath(dir, NULL);
	if (!whole)
		return refuse(dir, strerror(errno));
	bool fits = (size_t)snprintf(folder, sizeof(folder), "%s", whole) < sizeof(folder);
	free(whole);
	return fits ? true : refuse(dir, "its path is too long");
}

/* Returns true if the daemon that wrote the lock file runs, and not only its redis-server. */
static bool lock_holder_runs(void)
{
	char text[32] = "";
	ssize_t n = pread(lock_fd, text, sizeof(text) - 1, 0);
	pid_t pid = n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;

	return pid > 0 && kill(pid, 0) == 0;
}

/*
 * A lock cannot be waited for with a timeout, and a server that still saves its data holds it for
 * longer than a step.
 *
 * The redis-server inherits the lock with the open file: after a kill -9 of the daemon, the folder
 * stays locked until the server has written its data and exited.
 */
static bool lock_folder(void)
{
	char path[PATH_BYTES + 32];

	snprintf(path, sizeof(path), "%s/patternd.lock", folder);
	lock_fd = open(path, O_RDWR | O_CREAT, 0600);
	if (lock_fd < 0)
		return refuse(path, strerror(errno));
	for (int waited = 0; flock(lock_fd, LOCK_EX | LOCK_NB) != 0; waited += STEP_MS) {
		if (errno != EWOULDBLOCK)
			return refuse(path, strerror(errno));
		if (lock_holder_runs() || waited >= LOCK_WAIT_MS)
			return refuse(folder, "another patternd uses this folder");
		wait_for_child(STEP_MS);
	}
	if (ftruncate(lock_fd, 0) != 0 || dprintf(lock_fd, "%d\n", (int)getpid()) < 0)
		return refuse(path, strerror(errno));
	return true;
}

static void run_server(pid_t daemon_pid)
{
	char log_file[PATH_BYTES + 32];

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* the server saves and exits with the daemon, even after kill -9 */
	if (getppid() != daemon_pid)
		_exit(1);
	setpgid(0, 0); /* so that only the daemon handles Ctrl-C */
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	snprintf(log_file, sizeof(log_file), "%s/redis.log", folder);
	execlp(config()->redis_server, "redis-server", "--port", "0", "--unixsocket", "redis.sock", "--unixsocketperm",
	       "700", "--dir", folder, "--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--logfile",
	       log_file, "--daemonize", "no", "--maxmemory-policy", "noeviction", (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * Returns the last line of the server's log, which is reported because a temporary folder is
 * removed.
 */
static const char *last_log_line(void)
{
	static char line[512] = "nothing";
	char path[PATH_BYTES + 32];

	snprintf(path, sizeof(path), "%s/redis.log", folder);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return line;
}

/*
 * Waits until the server has made its socket, which takes about 20 ms, or has exited, which ends a
 * step at once. The daemon serves nothing before.
 */
static bool wait_for_socket(const char *path)
{
	int status;

	for (int waited = 0; waited < START_WAIT_MS; waited += STEP_MS) {
		if (access(path, F_OK) == 0)
			return true;
		if (waitpid(server, &status, WNOHANG) == server) {
			server = 0;
			if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
				return refuse(config()->redis_server, "not found, or its interpreter is missing");
			if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
				return refuse(config()->redis_server, "it cannot be executed");
			return refuse("redis-server exited at once; its last log line", last_log_line());
		}
		wait_for_child(STEP_MS);
	}
	return refuse(folder, "redis-server does not start");
}

bool embedded_start(const char *dir, char *url, unsigned long url_size)
{
	char socket_path[PATH_BYTES + 32];

	if (!find_program(config()->redis_server) || !make_folder(dir) || !lock_folder())
		return false;
	snprintf(socket_path, sizeof(socket_path), "%s/redis.sock", folder);
	if (strlen(socket_path) >= 108)
		return refuse(folder, "its path is too long for a unix socket (95 bytes at most)");
	unlink(socket_path); /* a crash may have left it; with the lock held, no server listens there */
	pid_t self = getpid();
	server = fork();
	if (server < 0)
		return refuse("cannot fork", strerror(errno));
	if (server == 0)
		run_server(self);
	snprintf(url, url_size, "unix://%s", socket_path);
	return wait_for_socket(socket_path);
}

const char *embedded_folder(void)
{
	return folder;
}

bool embedded_exited(void)
{
	int status;

	if (server <= 0 || waitpid(server, &status, WNOHANG) != server)
		return false;
	server = 0;
	bool was_killed = WIFSIGNALED(status);
	log_event(LOG_ERROR, "embedded_redis_ended", "the private redis-server %s %d; its last log line: %s",
		  was_killed ? "was killed by signal" : "exited with status",
		  was_killed ? WTERMSIG(status) : WEXITSTATUS(status), last_log_line());
	return true;
}

void embedded_stop(void)
{
	if (server > 0) {
		kill(server, SIGTERM);
		for (int waited = 0; waitpid(server, NULL, WNOHANG) == 0; waited += LONG_STEP_MS) {
			if (waited >= STOP_WAIT_MS)
				kill(server, SIGKILL);
			wait_for_child(LONG_STEP_MS); /* usually until it has ended; SIGCHLD also reports a stop */
		}
		server = 0;
	}
	if (is_temporary && *folder)
		remove_folder(folder);
	if (lock_fd >= 0)
		close(lock_fd);
	lock_fd = -1;
}
