/*
 * --check-config reads what a start reads, prints the resulting options and every fault, and does
 * not listen or connect. A PATTERND_ variable that is not an option is a fault here, and a warning
 * at a start.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "../support/certificates.h"
#include "../support/daemon.h"
#include "../support/redis_server.h"
#include "test.h"

#define DIGEST "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"

static struct daemon patternd;

static const char *file_with(char path[200], const char *name, const char *text)
{
	snprintf(path, 200, "%s/%s", temp_dir(), name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static void assert_in(const char *path, const char *wanted)
{
	char *text = file_text(path);

	assert_non_null(text);
	if (!strstr(text, wanted))
		fail_msg("'%s' is not in:\n%s", wanted, text);
	free(text);
}

static size_t lines_of(const char *path)
{
	size_t n = 0;
	char *text = file_text(path);

	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		n++;
	free(text);
	return n;
}

TEST(test_prints_what_would_be_used)
{
	char tokens[200], policies[200], file[200], text[2000], socket[200];
	struct certificate ca = certificate_make((struct certificate_wish){ .name = "a CA" });
	struct certificate own = certificate_make(
		(struct certificate_wish){ .name = "patternd", .dns = "limits.example", .ip = "192.0.2.7", .by = &ca });
	static const char *const environment[] = { "PATTERND_DRAIN_MS=7", "PATTERND_PORT=tcp://10.0.0.1:8379",
						   "PATTERND_URL=http://h", NULL };

	file_with(tokens, "tokens", DIGEST " locks:* # worker\n");
	chmod(tokens, 0600);
	file_with(policies, "policies",
		  "{\"a\":{\"limit\":3,\"window_ms\":60000},\"b\":{\"limit\":3,\"window_ms\":60000}}");
	snprintf(socket, sizeof(socket), "%s/socket", temp_dir());
	snprintf(text, sizeof(text), "tokens = %s\n\npolicies = %s\ntls-cert = %s\ntls-key = %s\nlisten = unix:%s\n",
		 tokens, policies, own.cert_path, own.key_path, socket);
	file_with(file, "patternd.conf", text);
	patternd.proc.env = environment;
	int status = daemon_run(&patternd, "--check-config", "--config", file, "--redis", "redis://u:hush@192.0.2.1");
	patternd.proc.env = NULL;
	char *faults = file_text(patternd.proc.err_path);
	assert_string_equal(faults, "");
	free(faults);
	assert_int_equal(status, 0);
	const char *out = patternd.proc.out_path;
	snprintf(text, sizeof(text), "policies = %s  # file %s:3\n", policies, file);
	assert_in(out, text);
	assert_in(out, "drain-ms = 7  # environment PATTERND_DRAIN_MS\n");
	assert_in(out, "redis = redis://u:...@192.0.2.1  # flag\n");
	assert_in(out, "pool-size = 2  # default\n");
	assert_in(out, "# --tokens has 1 token\n");
	assert_in(out, "# --policies has 2 policies\n");
	assert_in(out, "# --tls-cert is for limits.example 192.0.2.7 (CN=patternd); it expires at 20");
	assert_int_not_equal(access(socket, F_OK), 0); /* it did not listen */
}

TEST(test_reports_every_fault)
{
	char tokens[200], policies[200], file[200], text[2000];
	static const char *const environment[] = { "PATTERND_POOL_SISE=3", "PATTERND_UI=maybe", NULL };

	file_with(tokens, "tokens", "\nnonsense\n");
	chmod(tokens, 0600);
	file_with(policies, "policies", "{\"a\":{\"limit\":0,\"window_ms\":60000},\"b\":{\"limit\":3}}");
	snprintf(text, sizeof(text),
		 "tokens = %s\npolicies = %s\npool-size = 0\nmax-connection = 3\ncors-origins = nowhere\n", tokens,
		 policies);
	file_with(file, "patternd.conf", text);
	const char *const named[] = {
		"patternd.conf:3: pool-size: '0' is not",
		"patternd.conf:4: unknown option 'max-connection': is max-connections meant?",
		"PATTERND_UI: 'maybe' is not off|read|write",
		"--listen: cannot serve on 'nonsense'",
		"--health-listen: cannot serve on '1'",
		"--listen-mode",
		"--max-request-memory",
		"--tls-cert '/no/such/cert'",
		"/tokens:2: the line must start",
		"--cors-origins: 'nowhere'",
		"/policies: /a/limit",
		"/policies: /b",
		"--metrics-names: 'geo:x'",
		"--redis-password-file: cannot read '/no/such/password'",
		"--redis-replicas is given",
		"--lock-quorum: server 2: is missing",
		"the variable PATTERND_POOL_SISE is not an option: is PATTERND_POOL_SIZE meant?",
	};
	patternd.proc.env = environment;
	int status =
		daemon_run(&patternd, "--config", file, "--listen=nonsense", "--health-listen=1", "--listen-mode=rw",
			   "--max-request-memory=1048576", "--tls-cert=/no/such/cert", "--tls-key=/no/such/key",
			   "--metrics-names=geo:x", "--redis-password-file=/no/such/password",
			   "--redis-replicas=redis://h", "--lock-quorum=redis://h", "--check-config");
	patternd.proc.env = NULL;
	assert_int_equal(status, 2);
	for (size_t i = 0; i < COUNT(named); i++)
		assert_in(patternd.proc.err_path, named[i]);
	assert_int_equal(lines_of(patternd.proc.err_path), COUNT(named));
	assert_in(patternd.proc.out_path, "cors-origins = nowhere  # file ");
}

TEST(test_warns_of_variables)
{
	static const char *const environment[] = { "PATTERND_POOL_SISE=3", "PATTERND_SERVICE_HOST=10.0.0.1",
						   "PATTERND_PORT_8379_TCP=tcp://10.0.0.1:8379", "PATTERND_TOKEN=t",
						   NULL };
	static const char *const formats[] = { "json", "text" };
	struct redis_server redis = { 0 };

	server_start(&redis);
	for (size_t i = 0; i < 2; i++) {
		patternd.proc.env = environment;
		daemon_start(&patternd, "--redis", redis.url, "--log-format", formats[i]);
		patternd.proc.env = NULL;
		daemon_stop(&patternd);
		char *log = file_text(patternd.proc.err_path);
		char *line = strstr(log, "unknown_variable");
		assert_non_null(line);
		assert_null(strstr(line + 1, "unknown_variable")); /* only one */
		*strchr(line, '\n') = '\0';
		assert_non_null(strstr(line, "PATTERND_POOL_SISE is not an option: is PATTERND_POOL_SIZE meant?"));
		free(log);
	}
	server_stop(&redis);
}

/* What needs no socket to be known is a fault for --check-config as well as at the start. */
TEST(test_addresses_that_cannot_be)
{
	char file[200], at_file[220], below_file[240], nowhere[220], twice[450];
	char *argv_check = "--check-config", *argv_start = "--insecure";

	file_with(file, "a-file", "x");
	snprintf(at_file, sizeof(at_file), "unix:%s", file);
	snprintf(below_file, sizeof(below_file), "unix:%s/socket", file);
	snprintf(nowhere, sizeof(nowhere), "unix:%s/no/such", temp_dir());
	const char *folder = temp_dir();
	snprintf(twice, sizeof(twice), "unix:%s/s,unix:%s/s", folder, folder);
	const struct {
		const char *listen, *health, *why;
	} rows[] = {
		{ "127.0.0.1:1234,127.0.0.1:1234", "127.0.0.1:0", "--listen: cannot serve on '127.0.0.1:1234'" },
		{ "localhost:1234,LOCALHOST:01234", "127.0.0.1:0", "the option has this address already" },
		{ "[::1]:1234,[0:0::1]:1234", "127.0.0.1:0", "the option has this address already" },
		{ "0.0.0.0:1234,127.0.0.1:1234", "127.0.0.1:0", "the option has this address already" },
		{ "127.0.0.1:1234", "127.0.0.1:1234", "--health-listen: cannot serve on '127.0.0.1:1234'" },
		{ "127.0.0.1:1234", "[::]:1234", "another option has this address already" },
		{ "[::]:1234", "0.0.0.0:1234", "another option has this address already" },
		{ twice, "127.0.0.1:0", "the option has this address already" },
		{ at_file, "127.0.0.1:0", "the file there is not a socket" },
		{ below_file, "127.0.0.1:0", "its folder is a file" },
		{ "127.0.0.1:0", nowhere, "its folder does not exist" },
		{ "http://127.0.0.1:1234", "127.0.0.1:0", "without http://" },
		{ "127.0.0.1:0", "tcp://127.0.0.1:1234", "without http://" },
		{ "127.0.0.1:0,127.0.0.1:0", "127.0.0.1:0", NULL },
		{ "[::]:1234,127.0.0.1:1234", "127.0.0.1:1235", NULL },
		{ "[::1]:1234", "127.0.0.1:1234", NULL },
		{ "127.0.0.1:1234", "127.0.0.2:1234", NULL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int starts = 0; starts < (rows[i].why ? 2 : 1); starts++) {
			int status = daemon_run(&patternd, "--listen", rows[i].listen, "--health-listen",
						rows[i].health, "--insecure", starts ? argv_start : argv_check);
			if (status != (rows[i].why ? 2 : 0) ||
			    (rows[i].why && !proc_wrote(&patternd.proc, rows[i].why)))
				fail_msg("%s, %s: %d", rows[i].listen, rows[i].health, status);
		}
}

TEST(test_hosts_that_cannot_match)
{
	static const char *const bad[] = { "*",
					   "*.example",
					   "a b",
					   "a.example:80",
					   "http://a.example",
					   "a.example,,b",
					   "a.example.",
					   "[nonsense]",
					   "m\xc3\xbcnchen.example" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (daemon_run(&patternd, "--allowed-hosts", bad[i], "--check-config") != 2)
			fail_msg("'%s' should be refused", bad[i]);
		assert_true(proc_wrote(&patternd.proc, "patternd: --allowed-hosts: '"));
	}
	assert_int_equal(daemon_run(&patternd, "--allowed-hosts", "a.example, b_2, 10.0.0.1,[::1]", "--check-config"),
			 0);
}

/* A file that is not read to its end, or not as it is written, is a fault. */
TEST(test_files_that_cannot_be)
{
	char path[200];

	assert_int_equal(daemon_run(&patternd, "--check-config", "--config", "/dev/zero"), 2);
	assert_true(proc_wrote(&patternd.proc, "it is not a regular file"));
	snprintf(path, sizeof(path), "%s/pipe", temp_dir());
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(daemon_run(&patternd, "--check-config", "--config", path), 2);
	assert_true(proc_wrote(&patternd.proc, "it is not a regular file"));
	assert_int_equal(daemon_run(&patternd, "--check-config", "--config", temp_dir()), 2);
	file_with(path, "twice.conf", "drain-ms = 7\npool-size = 2\n\ndrain-ms = 7\n");
	assert_int_equal(daemon_run(&patternd, "--check-config", "--config", path), 2);
	assert_true(proc_wrote(&patternd.proc, "twice.conf:4: drain-ms: line 1 has set it already"));
	file_with(path, "nul.conf", "");
	FILE *f = fopen(path, "w");
	static const char lines[] = "drain-ms = 7\0\npool-size = 3\0 # x\n";
	fwrite(lines, 1, sizeof(lines) - 1, f);
	fclose(f);
	assert_int_equal(daemon_run(&patternd, "--check-config", "--config", path), 2);
	assert_true(proc_wrote(&patternd.proc, "nul.conf:1: the line contains a NUL"));
	assert_true(proc_wrote(&patternd.proc, "nul.conf:2: the line contains a NUL"));
}
