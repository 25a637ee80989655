/*
 * P15: a request's frame has one reading. The test sends the framing rows of hostile HTTP to nginx
 * and HAProxy, which pass them on over connections that they keep. Whatever a proxy makes of a row,
 * the daemon has seen no more requests than its client got answers. The next client gets the answer
 * to its own request.
 */
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "hostile_rows.h"
#include "test.h"

enum { START_MS = 20000, ANSWER_MS = 3000, MORE_MS = 30, LAST_KIND = 6, PROBES = 3 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *direct;
static int port; /* where the proxy listens */

static const struct kind {
	const char *name;
	const char *config; /* takes the ports of proxy and daemon, in the order that `daemon_first` defines */
	bool daemon_first;
	const char *argv[6];
} kinds[] = {
	{ "nginx",
	  "daemon off;\nmaster_process off;\npid nginx.pid;\nevents { }\nhttp {\naccess_log off;\nclient_body_temp_path b;\n"
	  "proxy_temp_path p;\nfastcgi_temp_path f;\nuwsgi_temp_path u;\nscgi_temp_path s;\nclient_body_timeout 500ms;\n"
	  "upstream patternd { server 127.0.0.1:%d; keepalive 4; }\nserver { listen 127.0.0.1:%d;\nlocation / {\n"
	  "proxy_pass http://patternd;\nproxy_http_version 1.1;\nproxy_set_header Connection \"\";\n"
	  "proxy_set_header Host localhost;\nproxy_request_buffering off;\n} } }\n",
	  true,
	  { "nginx", "-e", "stderr", "-p", "@", "-c" } },
	{ "HAProxy",
	  "defaults\nmode http\ntimeout connect 2s\ntimeout client 1s\ntimeout server 2s\nhttp-reuse always\n"
	  "frontend f\nbind 127.0.0.1:%d\ndefault_backend b\nbackend b\nhttp-request set-header Host localhost\n"
	  "server s 127.0.0.1:%d\n",
	  false,
	  { "haproxy", "-db", "-f" } },
};
enum { KINDS = COUNT(kinds), ROWS = COUNT(rows) };

static bool listens(void *proc)
{
	return raw_listens(port) || proc_ended(proc, 0);
}

static void start(struct proc *p, const struct kind *kind)
{
	static char dir[256], path[300];
	const char *argv[9] = { NULL };
	size_t n = 0;

	snprintf(dir, sizeof(dir), "%s", temp_dir());
	snprintf(path, sizeof(path), "%s/config", dir);
	port = free_port();
	FILE *f = fopen(path, "we");
	assert_non_null(f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(f, kind->config, kind->daemon_first ? patternd.port : port, kind->daemon_first ? port : patternd.port);
#pragma GCC diagnostic pop
	assert_int_equal(fclose(f), 0);
	for (; n < 6 && kind->argv[n]; n++)
		argv[n] = *kind->argv[n] == '@' ? dir : kind->argv[n];
	argv[n] = path;
	*p = (struct proc){ 0 };
	proc_start(p, argv);
	if (wait_for(listens, p, START_MS) && p->pid)
		return;
	proc_print_tail(p);
	fail_msg("%s does not start", kind->name);
}

/* Returns how many requests the daemon has counted, except requests for /metrics. */
static long requests_seen(void)
{
	struct answer a = http(direct, "GET", "/metrics", NULL);
	static const char series[] = "\npatternd_http_requests_total{operation=\"";
	long sum = 0;

	for (const char *at = a.body; at && (at = strstr(at, series)); at++) {
		const char *operation = at + sizeof(series) - 1, *value = strstr(operation, "} ");
		if (value && strncmp(operation, "metrics_get\"", 12) != 0)
			sum += atol(value + 2);
	}
	return sum;
}

/* Sends requests for which the proxy may use the connections of the row before. */
static void the_next_gets_its_own(int serial)
{
	char target[64], body[32];

	for (int i = 0; i < PROBES; i++) {
		struct client *c = client_open(port);
		snprintf(target, sizeof(target), "/counters/probe-%d-%d/increment", serial, i);
		snprintf(body, sizeof(body), "{\"counters\":{\"n\":%d}}", 1000 + serial * PROBES + i);
		struct answer a = http(c, "POST", target, body);
		assert_status(a, 200);
		assert_int_equal(int_at(a, "/counters/n"), 1000 + serial * PROBES + i);
		client_close(c);
	}
}

static void send_row(const struct kind *kind, int serial)
{
	const struct row *row = &rows[serial];
	long before = requests_seen(), answers = 0;
	struct raw *r = raw_connect(port);

	raw_send(r, row->request, row->len);
	for (int wait_ms = ANSWER_MS; raw_answer(r, wait_ms).status; wait_ms = MORE_MS)
		answers++;
	the_next_gets_its_own(serial);
	long seen = requests_seen() - before - PROBES;
	while (seen > answers && raw_answer(r, ANSWER_MS).status)
		answers++;
	if (seen > (answers ? answers : 1)) /* the proxy may have closed the connection after one request */
		fail_msg("%s, %s: the daemon has seen %ld requests, the client %ld answers", kind->name, row->name,
			 seen, answers);
	raw_close(r);
	assert_true(daemon_is_alive(&patternd));
}

static void one_reading(void **state)
{
	const struct kind *kind = *state;
	struct proc p;
	int sent = 0;

	server_command(&redis, "FLUSHALL");
	start(&p, kind);
	for (int i = 0; i < ROWS; i++)
		if (atoi(rows[i].name) <= LAST_KIND) {
			send_row(kind, i);
			sent++;
		}
	assert_in_range(sent, 20, ROWS);
	proc_kill(&p);
}

TEST_ROWS(one_reading, kinds, name);

static int set_up(void **state)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s:/usr/sbin:/usr/local/sbin", getenv("PATH"));
	setenv("PATH", path, 1);
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--body-timeout-ms", "400", "--max-body-bytes", "65536");
	direct = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	client_close(direct);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

SUITE(.open = set_up, .close = tear_down);
