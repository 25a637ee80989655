/*
 * Tests of options: which source counts, which values are refused with a line that names the
 * option, and that no secret is ever shown. Each case runs in its own process, because a process
 * reads its options only once.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "process/config.h"
#include "process/option.h"
#include "stride.h"
#include "test.h"

enum { MOST = 6 };

struct given {
	char *flags[MOST];
	char *environment[MOST];
	const char *file; /* the content of the file that --config names; NULL: no file */
};

static char out[20000], err[20000]; /* what the last run wrote */

static void read_all(FILE *from, char *to, size_t size)
{
	rewind(from);
	size_t n = fread(to, 1, size - 1, from);
	to[n] = '\0';
	fclose(from);
}

/*
 * Copies the arguments, because config overwrites a password in them. They are freed when the child
 * ends.
 */
static void copy_arguments(char **argv, int argc)
{
	for (int i = 0; i < argc; i++)
		argv[i] = strdup(argv[i]);
}

/* Prints the arguments. After the options were read, no argument shows a password. */
static void show_arguments(char **argv, int argc)
{
	for (int i = 0; i < argc; i++) {
		printf("%s\n", argv[i]);
		free(argv[i]);
	}
}

/*
 * Loads the options in a child. When they are valid, the child then prints its arguments and the
 * output of config_out.
 */
static enum config_outcome load(const struct given *g)
{
	char path[] = "/tmp/patternd-config-XXXXXX";
	char *argv[MOST + 4] = { "patternd" };
	int argc = 1, status;
	FILE *to_out = tmpfile(), *to_err = tmpfile();

	assert_true(to_out && to_err);
	if (g->file) {
		int fd = mkstemp(path);
		assert_true(fd >= 0 && write(fd, g->file, strlen(g->file)) == (ssize_t)strlen(g->file));
		close(fd);
		argv[argc++] = "--config";
		argv[argc++] = path;
	}
	for (int i = 0; i < MOST && g->flags[i]; i++)
		argv[argc++] = g->flags[i];
	char *environment[MOST + 1] = { NULL };
	memcpy(environment, g->environment, sizeof(g->environment));
	pid_t child = fork();
	if (child == 0) {
		dup2(fileno(to_out), 1);
		dup2(fileno(to_err), 2);
		copy_arguments(argv, argc);
		enum config_outcome outcome = config_load(argc, argv, environment);
		if (config_is_dry_run())
			config_print();
		else if (outcome == CONFIG_RUN)
			show_arguments(argv, argc);
		if (outcome == CONFIG_RUN && !config_is_dry_run()) {
			struct arena arena = { 0 };
			struct json_out o;
			out_init(&o, &arena, 1000);
			out_object(&o, NULL);
			config_out(&o);
			out_close(&o);
			fwrite(o.at, 1, o.len, stdout);
			arena_free(&arena);
			arena_free_cache();
		}
		config_free();
		fflush(NULL);
		_exit((int)outcome);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (g->file)
		unlink(path);
	read_all(to_out, out, sizeof(out));
	read_all(to_err, err, sizeof(err));
	assert_true(WIFEXITED(status));
	return (enum config_outcome)WEXITSTATUS(status);
}

TEST(which_source_counts)
{
	static const struct {
		struct given given;
		const char *wanted; /* a member of the JSON that /info shows */
	} rows[] = {
		{ { .file = NULL }, "\"pool-size\":\"2\"" },
		{ { .file = "pool-size = 3" }, "\"pool-size\":\"3\"" },
		{ { .file = "pool-size = 3", .environment = { "PATTERND_POOL_SIZE=4" } }, "\"pool-size\":\"4\"" },
		{ { .file = "pool-size = 3",
		    .environment = { "PATTERND_POOL_SIZE=4" },
		    .flags = { "--pool-size", "5" } },
		  "\"pool-size\":\"5\"" },
		{ { .file = "pool-size = 3", .flags = { "--pool-size=6" } }, "\"pool-size\":\"6\"" },
		{ { .flags = { "--pool-size", "7", "--pool-size=8" } }, "\"pool-size\":\"8\"" }, /* the last one */
		{ { .file = "# a comment\n\n  pool-size=9  \r\n\tprefix =  a = b \n" }, "\"prefix\":\"a = b\"" },
		{ { .file = "pool-size = 9" }, "\"max-body-bytes\":\"1048576\"" }, /* others have defaults */
		{ { .flags = { "--strict" } }, "\"strict\":\"true\"" },
		{ { .environment = { "PATTERND_STRICT=1" }, .flags = { "--strict=false" } }, "\"strict\":\"false\"" },
		{ { .file = "strict = true", .environment = { "PATTERND_STRICT=0" } }, "\"strict\":\"false\"" },
		{ { .flags = { "--log-level", "debug" } }, "\"log-level\":\"debug\"" },
		{ { .flags = { "--prefix", "" } }, "\"prefix\":\"\"" },
		{ { .flags = { "--prefix", "--strict" } }, "\"strict\":\"false\"" }, /* a value is not a flag */
		{ { .file = NULL }, "\"embedded\":null" },
		{ { .flags = { "--embedded" } }, "\"embedded\":\"\"" },
		{ { .flags = { "--embedded=/d" } }, "\"embedded\":\"/d\"" },
		{ { .environment = { "PATTERND_POOL_SIZE_=9", "XPATTERND_POOL_SIZE=9", "PATTERND_POOL=9" } },
		  "\"pool-size\":\"2\"" },
		{ { .flags = { "--max-connections", "1000000" } }, "\"max-connections\":\"1000000\"" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (load(&rows[i].given) != CONFIG_RUN)
			fail_msg("row %zu is refused: %s", i, err);
		assert_string_equal(err, "");
		if (!strstr(out, rows[i].wanted))
			fail_msg("row %zu: no %s in %s", i, rows[i].wanted, out);
	}
}

TEST(what_is_refused)
{
	static const struct {
		struct given given;
		const char *named; /* must be in the message */
	} rows[] = {
		{ { .flags = { "--no-such" } }, "--no-such' (see --help)" },
		{ { .flags = { "--pool-sise=3" } }, "--pool-size meant?" },
		{ { .flags = { "--pool-siz" } }, "--pool-size meant?" },
		{ { .flags = { "--pool" } }, "--pool-size meant?" },
		{ { .flags = { "--check-confg" } }, "--check-config meant?" },
		{ { .flags = { "--ready-follows-redis-ready-follows-redis-ready-follows-redis-and-so-on" } },
		  "(see --help)" },
		{ { .flags = { "--" } }, "'--'" },
		{ { .flags = { "-x" } }, "-x" },
		{ { .flags = { "stray" } }, "stray" },
		{ { .flags = { "--Pool-Size", "3" } }, "--Pool-Size" },
		{ { .flags = { "--pool-size" } }, "--pool-size" },
		{ { .flags = { "--pool-size", "" } }, "--pool-size" },
		{ { .flags = { "--pool-size", "x" } }, "--pool-size" },
		{ { .flags = { "--pool-size", "3x" } }, "--pool-size" },
		{ { .flags = { "--pool-size", "1.5" } }, "--pool-size" },
		{ { .flags = { "--pool-size", "0" } }, "1 to 64" },
		{ { .flags = { "--pool-size", "65" } }, "1 to 64" },
		{ { .flags = { "--pool-size", "-1" } }, "--pool-size" },
		{ { .flags = { "--pool-size", "9223372036854775808" } }, "--pool-size" },
		{ { .flags = { "--strict=yes" } }, "--strict" },
		{ { .flags = { "--log-level", "loud" } }, "--log-level" },
		{ { .flags = { "--log-level", "debug|info" } }, "--log-level" },
		{ { .flags = { "--log-level", "" } }, "debug|info|warn|error" },
		{ { .flags = { "--embedded", "dir" } }, "dir" }, /* its value needs a '=' */
		{ { .flags = { "--embedded", "--redis", "redis://h" } }, "--redis" },
		{ { .environment = { "PATTERND_REDIS=redis://h" }, .flags = { "--embedded" } }, "--embedded" },
		{ { .flags = { "--version=1" } }, "takes no value" },
		{ { .environment = { "PATTERND_POOL_SIZE=x" } }, "PATTERND_POOL_SIZE" },
		{ { .environment = { "PATTERND_POOL_SIZE=" } }, "PATTERND_POOL_SIZE" },
		{ { .environment = { "PATTERND_LOG_FORMAT=xml" } }, "PATTERND_LOG_FORMAT" },
		{ { .environment = { "PATTERND_POOL_SIZE=x" }, .flags = { "--pool-size=3" } }, "PATTERND_POOL_SIZE" },
		{ { .environment = { "PATTERND_CONFIG=/no/such/file" } }, "/no/such/file" },
		{ { .flags = { "--config", "/no/such/file" } }, "--config" },
		{ { .flags = { "--config=/" } }, "--config" },
		{ { .flags = { "--config" } }, "--config" },
		{ { .file = "pool-size" }, ":1:" },
		{ { .file = "\n\npool-size = 0" }, ":3: pool-size" },
		{ { .file = "\npool_size = 3" }, "'pool_size': is pool-size meant?" },
		{ { .file = "config = x" }, "'config' (see --help)" },
		{ { .file = "= 3" }, ":1:" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (load(&rows[i].given) != CONFIG_REFUSED)
			fail_msg("row %zu is taken: %s", i, out);
		if (!strstr(err, rows[i].named))
			fail_msg("row %zu: no %s in %s", i, rows[i].named, err);
		assert_string_equal(out, "");
		assert_memory_equal(err, "patternd: ", 10);
		assert_int_equal(strcspn(err, "\n"), strlen(err) - 1); /* one line */
	}
}

/*
 * A line is accepted whole or refused: a line that does not fit must never be read as another line,
 * or as a comment.
 */
TEST(long_lines_are_refused)
{
	static char file[20000];

	for (size_t before = 4060; before < 4110; before += (size_t)stride()) {
		size_t n = (size_t)snprintf(file, sizeof(file), "strict = true\nprefix = ");
		memset(file + n, 'x', before);
		snprintf(file + n + before, sizeof(file) - n - before, "# not a comment\n");
		struct given g = { .file = file };
		enum config_outcome outcome = load(&g);
		if (outcome == CONFIG_RUN && !strstr(out, "x# not a comment"))
			fail_msg("a value of %zu bytes was cut", before);
		if (outcome == CONFIG_REFUSED)
			assert_non_null(strstr(err, ":2: "));
	}
}

TEST(secrets_are_not_shown)
{
	static const struct {
		struct given given;
		const char *shown;
	} rows[] = {
		{ { .flags = { "--redis=redis://me:hush@h:1/2" } }, "redis://me:...@h:1/2" },
		{ { .flags = { "--redis=redis://:hush@h" } }, "redis://:...@h" },
		{ { .flags = { "--redis=rediss://me:hush@h" } }, "rediss://me:...@h" },
		{ { .flags = { "--redis=redis://:hush@hush@h" } }, "redis://:...@h" },
		{ { .flags = { "--redis=redis://me:hush:hush/@h" } }, "redis://me:...@h" },
		{ { .environment = { "PATTERND_REDIS=redis://me:hush@h" } }, "redis://me:...@h" },
		{ { .file = "redis = redis://me:hush@h" }, "redis://me:...@h" },
		{ { .flags = { "--redis=redis://h:1/0" } }, "redis://h:1/0" },
		{ { .flags = { "--redis=unix:///run/a@b:c" } }, "unix:///run/a@b:c" },
	};
	/* A mistyped option does not put a password into a log. */
	static const struct given slips[] = {
		{ .flags = { "--redis=redis:me:hush@h", "--check-config" } },
		{ .flags = { "--redis=me:hush@h", "--check-config" } },
		{ .flags = { "--rediss=redis://me:hush@h" } },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (int print = 0; print < 2; print++) {
			struct given g = rows[i].given;
			g.flags[1] = print ? "--check-config" : NULL;
			if (!g.flags[0])
				g.flags[0] = "--strict";
			assert_int_equal(load(&g), CONFIG_RUN);
			if (strstr(out, "hush") || !strstr(out, rows[i].shown))
				fail_msg("row %zu: no %s in %s", i, rows[i].shown, out);
		}
	for (size_t i = 0; i < COUNT(slips); i++) {
		load(&slips[i]);
		if (strstr(out, "hush") || strstr(err, "hush"))
			fail_msg("slip %zu shows a password: %s%s", i, out, err);
	}
}

/* Each fault is reported in its own line, so that a file can be corrected in one go. */
TEST(every_fault_is_reported)
{
	static const struct given g = { .file = "pool-sise = 3\nstrict = perhaps\n",
					.environment = { "PATTERND_LOG_LEVEL=loud", "PATTERND_DRAIN_MS=x" },
					.flags = { "--no-such", "7", "--max-in-flight=0", "stray" } };
	static const char *const named[] = { ":1: unknown option 'pool-sise': is pool-size meant?",
					     ":2: strict: 'perhaps'",
					     "PATTERND_LOG_LEVEL: 'loud'",
					     "PATTERND_DRAIN_MS: 'x'",
					     "'--no-such'",
					     "--max-in-flight: '0'",
					     "'stray'" };
	size_t lines = 0;

	assert_int_equal(load(&g), CONFIG_REFUSED);
	for (size_t i = 0; i < COUNT(named); i++)
		if (!strstr(err, named[i]))
			fail_msg("no %s in %s", named[i], err);
	for (const char *at = err; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, COUNT(named));
}

static char reported[2000];

static void note(const char *message)
{
	snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported), "%s\n", message);
}

TEST(unknown_variables_are_reported)
{
	static char *const passed_over[] = {
		"PATTERND_POOL_SIZE=3",
		"PATTERND_CONFIG=/x",
		"PATTERND_URL=http://h",
		"PATTERND_TOKEN=t",
		"PATTERND_PORT=tcp://10.0.0.1:8379",
		"PATTERND_PORT_8379_TCP=tcp://10.0.0.1:8379",
		"PATTERND_PORT_8379_TCP_ADDR=10.0.0.1",
		"PATTERND_SERVICE_HOST=10.0.0.1",
		"PATTERND_SERVICE_PORT=8379",
		"PATTERND_SERVICE_PORT_HTTP=8379",
		"PATTERND_METRICS_PORT_8380_UDP_PROTO=udp",
		"PATTERND_METRICS_SERVICE_HOST=10.0.0.2",
		"XPATTERND_POOL_SISE=3",
		NULL,
	};
	static char *const unknown[] = { "PATTERND_POOL_SISE=3", "PATTERND_PORT=8379", "PATTERND_VERSION=1",
					 "PATTERND_=", NULL };

	option_unknown_variables((char **)(uintptr_t)passed_over, note);
	assert_string_equal(reported, "");
	option_unknown_variables((char **)(uintptr_t)unknown, note);
	assert_string_equal(reported, "the variable PATTERND_POOL_SISE is not an option: is PATTERND_POOL_SIZE meant?\n"
				      "the variable PATTERND_PORT is not an option: is PATTERND_LISTEN meant?\n"
				      "the variable PATTERND_VERSION is not an option; see --help\n"
				      "the variable PATTERND_ is not an option; see --help\n");
}

TEST(help_version_and_print)
{
	static const struct given help = { .flags = { "--help" } }, version = { .flags = { "--no-such", "--version" } };
	static const struct given print = { .file = "pool-size = 3",
					    .environment = { "PATTERND_PREFIX=q:" },
					    .flags = { "--strict", "--check-config" } };

	assert_int_equal(load(&help), CONFIG_DONE);
	assert_non_null(strstr(out, "--max-in-flight"));
	assert_int_equal(load(&version), CONFIG_DONE);
	assert_memory_equal(out, "patternd ", 9);
	assert_int_equal(load(&print), CONFIG_RUN);
	assert_non_null(strstr(out, "pool-size = 3  # file /tmp/patternd-config-"));
	assert_non_null(strstr(out, "prefix = q:  # environment PATTERND_PREFIX\n"));
	assert_non_null(strstr(out, "strict = true  # flag\n"));
	assert_non_null(strstr(out, "drain-ms = 5000  # default\n"));
	assert_non_null(strstr(out, "# embedded is off\n"));
}
