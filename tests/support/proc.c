/* proc: children and folders that do not outlive the test program; see proc.h. */
#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loopback.h"
#include "test.h"

enum { CHILDREN_MAX = 256, DIRS_MAX = 256, LOOK_MS = 2, LOOK_MOST_MS = 10, LOOKS_A_MS = 25, TAIL_BYTES = 3000 };

#define ROOT_STEM "/tmp/patternd-test-"

static char root[64];      /* the folder of this test program; it contains all others */
static pid_t cleaning_pid; /* the program that made it; a forked copy must not clean up */
static pid_t children[CHILDREN_MAX];
static char *dirs[DIRS_MAX];
static size_t dir_count;

int64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t monotonic_ms(void)
{
	return monotonic_us() / 1000;
}

void nap_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		continue;
}

int64_t patience_ms(int64_t timeout_ms)
{
	const char *times = getenv("PATTERND_PATIENCE");

	return timeout_ms * (times ? strtol(times, NULL, 10) : 1);
}

bool in_full(void)
{
	return getenv("PATTERND_FULL") != NULL;
}

bool may_open_files(size_t wanted)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max >= wanted)
		return true;
	print_message("the system allows %llu open files, and this takes %zu\n", (unsigned long long)limit.rlim_max,
		      wanted);
	return false;
}

/* Sleeps between two checks of a condition, for longer after many checks. */
static void nap_between_looks(int looks)
{
	int ms = LOOK_MS + looks / LOOKS_A_MS;

	nap_ms(ms < LOOK_MOST_MS ? ms : LOOK_MOST_MS);
}

bool wait_for(bool (*condition)(void *arg), void *arg, int timeout_ms)
{
	int64_t until_ms = monotonic_ms() + patience_ms(timeout_ms);

	for (int looks = 0; !condition(arg); looks++) {
		if (monotonic_ms() >= until_ms)
			return false;
		nap_between_looks(looks);
	}
	return true;
}

void wait_step(int64_t until_ms, int looks, const char *expression, const char *file, int line)
{
	if (monotonic_ms() >= until_ms) {
		print_error("waited in vain for: %s\n", expression);
		_fail(file, line);
	}
	nap_between_looks(looks);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void clean_up(void)
{
	if (getpid() != cleaning_pid)
		return;
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		if (!children[i])
			continue;
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	for (size_t i = 0; i < dir_count; i++)
		free(dirs[i]);
	if (*root)
		remove_tree(root);
}

static void own_the_end(void)
{
	if (cleaning_pid == getpid())
		return;
	cleaning_pid = getpid();
	atexit(clean_up);
}

/* Folders of test programs that were killed before they could clean up. */
static void remove_orphans(void)
{
	glob_t found;

	if (glob(ROOT_STEM "*", 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		pid_t pid = (pid_t)atol(found.gl_pathv[i] + strlen(ROOT_STEM));
		if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			remove_tree(found.gl_pathv[i]);
	}
	globfree(&found);
}

const char *temp_dir(void)
{
	own_the_end();
	if (!*root) {
		remove_orphans();
		snprintf(root, sizeof(root), ROOT_STEM "%ld", (long)getpid());
		remove_tree(root);
		if (mkdir(root, 0700) < 0)
			fail_msg("%s: %s", root, strerror(errno));
	}
	if (dir_count == DIRS_MAX)
		fail_msg("more than %d temporary folders", DIRS_MAX);
	char *path = NULL;
	if (asprintf(&path, "%s/%zu", root, dir_count) < 0 || mkdir(path, 0700) < 0)
		fail_msg("no temporary folder: %s", strerror(errno));
	dirs[dir_count++] = path;
	return path;
}

int free_port(void)
{
	int port = 0, fd = loopback_listen(&port);

	if (fd < 0)
		fail_msg("no free port: %s", strerror(errno));
	close(fd);
	return port;
}

char *file_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0, size = 0;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	for (;;) {
		if (size - len < 4096) {
			size = size * 2 + 8192;
			text = realloc(text, size);
			assert_non_null(text);
		}
		ssize_t n = read(fd, text + len, size - len - 1);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	close(fd);
	return text;
}

static void child_remember(pid_t was, pid_t is)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		if (children[i] == was) {
			children[i] = is;
			return;
		}
	}
	fail_msg("more than %d children", CHILDREN_MAX);
}

/*
 * Removes the variables of the tests, because the daemon warns of variables that are not options.
 * Keeps the ones that tests/valgrind reads.
 */
static void forget_variables(void)
{
	char name[128];
	const char *daemon = getenv("PATTERND_BIN");
	bool memcheck = daemon && strstr(daemon, "/tests/valgrind");

	for (char **e = environ; *e;) {
		bool is_ours =
			strncmp(*e, "PATTERND_", 9) == 0 && !(memcheck && strncmp(*e, "PATTERND_MEMCHECK", 17) == 0);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (!is_ours || unsetenv(name) != 0)
			e++;
	}
}

/*
 * Runs in the child until exec. Makes only calls that are safe after the fork of a program with
 * threads.
 */
static void become(const struct proc *p, const char *const argv[], pid_t parent)
{
	int in = open("/dev/null", O_RDONLY);
	int out = open(p->out_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	int err = open(p->err_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || in < 0 || out < 0 || err < 0)
		_exit(126);
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (p->files_max) {
		struct rlimit limit = { .rlim_cur = p->files_max, .rlim_max = p->files_max };
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	forget_variables();
	for (size_t i = 0; p->env && p->env[i]; i++)
		putenv((char *)(uintptr_t)p->env[i]);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

static char clock_setting[PATH_MAX];

static const char *const *clock_env(void)
{
	static char preload[PATH_MAX];
	static const char *const env[] = { preload, clock_setting, NULL };

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("PATTERND_CLOCK_AHEAD"));
	return env;
}

const char *const *clock_off_by(int seconds)
{
	snprintf(clock_setting, sizeof(clock_setting), "CLOCK_AHEAD_S=%d", seconds);
	return clock_env();
}

const char *const *clock_read_from(const char *path)
{
	snprintf(clock_setting, sizeof(clock_setting), "CLOCK_FILE=%s", path);
	return clock_env();
}

void proc_start(struct proc *p, const char *const argv[])
{
	pid_t parent = getpid();

	own_the_end();
	if (!*p->out_path) {
		const char *dir = temp_dir();
		snprintf(p->out_path, sizeof(p->out_path), "%s/stdout", dir);
		snprintf(p->err_path, sizeof(p->err_path), "%s/stderr", dir);
	}
	fflush(NULL);
	p->status = 0;
	p->pid = fork();
	if (p->pid < 0)
		fail_msg("fork: %s", strerror(errno));
	if (p->pid == 0)
		become(p, argv, parent);
	child_remember(0, p->pid);
}

static bool has_ended(void *arg)
{
	struct proc *p = arg;

	if (p->pid && waitpid(p->pid, &p->status, WNOHANG) != 0) {
		child_remember(p->pid, 0);
		p->pid = 0;
	}
	return p->pid == 0;
}

bool proc_ended(struct proc *p, int timeout_ms)
{
	return wait_for(has_ended, p, timeout_ms);
}

void proc_signal(struct proc *p, int number)
{
	if (p->pid)
		kill(p->pid, number);
}

void proc_kill(struct proc *p)
{
	proc_signal(p, SIGKILL);
	if (!proc_ended(p, 10000))
		fail_msg("process %ld survived SIGKILL", (long)p->pid);
}

int proc_exit_status(const struct proc *p)
{
	return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

/* The state and the parent of a process; 'X' when there is no such process. */
static char state_of(const char *pid, pid_t *parent)
{
	char path[300], state = 'X';
	int ppid = 0;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	char *text = file_text(path);
	char *at = text ? strrchr(text, ')') : NULL;
	if (at && sscanf(at + 1, " %c %d", &state, &ppid) != 2)
		state = 'X';
	free(text);
	*parent = ppid;
	return state;
}

pid_t proc_child_of(pid_t parent)
{
	DIR *all = opendir("/proc");
	pid_t found = 0, its_parent;

	for (struct dirent *entry; all && !found && (entry = readdir(all));)
		if (isdigit((unsigned char)entry->d_name[0]) && state_of(entry->d_name, &its_parent) != 'X' &&
		    its_parent == parent)
			found = (pid_t)atol(entry->d_name);
	if (all)
		closedir(all);
	return found;
}

bool proc_runs(pid_t pid)
{
	char name[32];
	pid_t parent;

	snprintf(name, sizeof(name), "%ld", (long)pid);
	char state = state_of(name, &parent);
	return state != 'X' && state != 'Z';
}

bool proc_wrote(const struct proc *p, const char *text)
{
	char *all = file_text(p->err_path);
	bool found = all && strstr(all, text);

	free(all);
	return found;
}

void proc_print_tail(const struct proc *p)
{
	char *all = file_text(p->err_path);

	if (all) {
		size_t len = strlen(all);
		print_error("... its stderr:\n%s\n", all + (len > TAIL_BYTES ? len - TAIL_BYTES : 0));
	}
	free(all);
}
