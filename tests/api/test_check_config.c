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
