/*
 * The examples for reverse proxies, run with the proxies: nginx, Caddy and HAProxy of Debian, each
 * with its configuration from examples/, in front of a toy server. The requests are like a
 * browser's. Only the addresses are changed, to free ports of this test.
 */
#include <signal.h>

#include "../support/aside.h"
#include "../support/raw.h"
#include "../support/stage.h"
#include "../support/stubborn.h"
#include "../support/tokens.h"
#include "test.h"

enum { START_MS = 20000, ANSWER_MS = 5000, LIMIT = 6 };

static const struct stubborn_manner toy = {
	.name = "the application",
	.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
};

static struct stubborn *app;
static bool with_token; /* use the example's line with the token */
static const char *dir; /* of the proxy under test */
static int port;        /* where it listens */

/* ---- Configurations ---- */

static void write_file(const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* `text` with every `old` replaced; frees `text`, the caller frees the result. */
static char *replaced(char *text, const char *old, const char *new)
{
	char *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);

	for (const char *at = text, *next; at; at = next) {
		next = strstr(at, old);
		fwrite(at, 1, next ? (size_t)(next - at) : strlen(at), out);
		if (next) {
			fputs(new, out);
			next += strlen(old);
		}
	}
	fclose(out);
	free(text);
	return all;
}

/* A file of examples/, with the addresses of this test. */
static char *example(const char *name)
{
	const char *examples = getenv("PATTERND_EXAMPLES");
	char path[512], address[32];

	snprintf(path, sizeof(path), "%s/%s", examples ? examples : "examples", name);
	char *text = file_text(path);
	if (!text)
		fail_msg("%s cannot be read", path);
	snprintf(address, sizeof(address), ":%d", patternd.port);
	text = replaced(text, ":8379", address);
	if (with_token) {
		text = replaced(text, "#proxy_set_header Authorization \"Bearer TOKEN\"",
				"proxy_set_header Authorization \"Bearer secret\"");
		text = replaced(text, "#header_up Authorization \"Bearer TOKEN\"",
				"header_up Authorization \"Bearer secret\"");
		text = replaced(text, "--headers = { authorization = { 'Bearer TOKEN' } }",
				"headers = { authorization = { 'Bearer secret' } }");
	}
	snprintf(address, sizeof(address), ":%d", stubborn_port(app));
	text = replaced(text, ":3000", address);
	snprintf(address, sizeof(address), ":%d", port);
	return replaced(text, ":8080", address);
}

static void install(const char *name, const char *as, const char *old, const char *new)
{
	char *text = replaced(example(name), old, new);

	write_file(as, text);
	free(text);
}

/* Debian's nginx.conf around patternd.conf, without its user, logs and folders. */
static void install_nginx_conf(void)
{
	static const char around[] = "daemon off;\nmaster_process off;\npid %s/pid;\nevents { }\nhttp {\n"
				     "access_log off;\nclient_body_temp_path %s/body;\nproxy_temp_path %s/proxy;\n"
				     "fastcgi_temp_path %s/f;\nuwsgi_temp_path %s/u;\nscgi_temp_path %s/s;\n"
				     "include %s/patternd.conf;\n}\n";
	char text[4096];

	snprintf(text, sizeof(text), around, dir, dir, dir, dir, dir, dir, dir);
	write_file("nginx.conf", text);
}

static void install_nginx(const char *without)
{
	install("nginx/patternd.conf", "patternd.conf", without, "");
	install_nginx_conf();
}

static void nginx(void)
{
	install_nginx("no such line");
}

/*
 * Omits the line about Content-Length, as an administrator might. nginx then announces a body that
 * it does not send.
 */
static void nginx_without_care(void)
{
	install_nginx("proxy_set_header Content-Length \"\";");
}

static void caddy(void)
{
	install("caddy/Caddyfile", "Caddyfile", "no such line", "");
}

static void haproxy(void)
{
	char script[512];

	snprintf(script, sizeof(script), "%s/patternd.lua", dir);
	install("haproxy/patternd.lua", "patternd.lua", "no such line", "");
	install("haproxy/haproxy.cfg", "haproxy.cfg", "/etc/haproxy/patternd.lua", script);
}

struct kind {
	const char *name;
	void (*install)(void);
	const char *argv[8]; /* "@x" is the file x of its folder */
};

static const struct kind kinds[] = {
	{ "nginx", nginx, { "nginx", "-e", "stderr", "-c", "@nginx.conf" } },
	{ "nginx without care", nginx_without_care, { "nginx", "-e", "stderr", "-c", "@nginx.conf" } },
	{ "Caddy", caddy, { "caddy", "run", "--adapter", "caddyfile", "--config", "@Caddyfile" } },
	{ "HAProxy", haproxy, { "haproxy", "-db", "-f", "@haproxy.cfg" } },
};
enum { KINDS = COUNT(kinds) };

static bool listens(void *proc)
{
	return raw_listens(port) || proc_ended(proc, 0);
}

static void start(struct proc *p, const struct kind *kind)
{
	static char paths[8][512], home[3][512];
	static const char *env[4] = { home[0], home[1], home[2], NULL };
	const char *argv[9] = { NULL };

	dir = temp_dir();
	port = free_port();
	kind->install();
	for (size_t i = 0; kind->argv[i]; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, kind->argv[i] + 1);
		argv[i] = *kind->argv[i] == '@' ? paths[i] : kind->argv[i];
	}
	snprintf(home[0], sizeof(home[0]), "HOME=%s", dir);
	snprintf(home[1], sizeof(home[1]), "XDG_DATA_HOME=%s", dir);
	snprintf(home[2], sizeof(home[2]), "XDG_CONFIG_HOME=%s", dir);
	*p = (struct proc){ .env = env };
	proc_start(p, argv);
	if (wait_for(listens, p, START_MS) && p->pid)
		return;
	proc_print_tail(p);
	fail_msg("%s does not start", kind->name);
}

/* ---- Requests as of a browser ---- */

#define BROWSER                                                                                                \
	"Host: shop.example\r\nUser-Agent: Mozilla/5.0\r\nAccept: text/html,application/xhtml+xml\r\n"         \
	"Accept-Encoding: gzip, deflate, br\r\nOrigin: https://shop.example\r\nSec-Fetch-Site: cross-site\r\n" \
	"Sec-Fetch-Mode: cors\r\nCookie: session=0123456789abcdef\r\nIdempotency-Key: the-same-each-time\r\n"  \
	"Connection: close\r\n"

static const char *const requests[LIMIT] = {
	"GET /shop/cart?x=1&policy=other&key=other HTTP/1.1\r\n" BROWSER "\r\n",
	"POST /shop HTTP/1.1\r\n" BROWSER "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\n12345",
	"PUT /shop HTTP/1.1\r\n" BROWSER "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
	"DELETE /shop HTTP/1.1\r\n" BROWSER "\r\n",
	"OPTIONS /shop HTTP/1.1\r\n" BROWSER "\r\n",
	"GET /%7B%7D/%C3%BC HTTP/1.1\r\n" BROWSER "\r\n",
};

/* The answer is valid until the next call. */
static struct answer ask(const char *request)
{
	static struct raw *r;

	if (r)
		raw_close(r);
	r = NULL;
	if (!request)
		return (struct answer){ 0 };
	r = raw_connect(port);
	raw_text(r, request);
	return raw_answer(r, ANSWER_MS);
}

static void put_policy(const char *more)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"limit\":%d,\"window_ms\":3600000%s}", LIMIT, more);
	assert_in_range(http(client, "PUT", "/ratelimit/policies/web", body).status, 200, 201);
}

static int left_in(const char *ratelimit)
{
	int left = -1;

	return ratelimit && sscanf(ratelimit, "\"web\";r=%d;t=", &left) == 1 ? left : -1;
}

/*
 * As many requests pass as the policy allows, whatever they are. Further requests are refused, and
 * do not reach the application.
 */
static void limits(void **state)
{
	const struct kind *kind = *state;
	struct proc p;

	put_policy("");
	start(&p, kind);
	for (int i = 0; i < LIMIT; i++) {
		uint64_t before = stubborn_connections(app);
		struct answer a = ask(requests[i]);
		if (a.status != 200 || strcmp(a.body, "hello") != 0) {
			proc_print_tail(&p);
			answer_print(a);
			fail_msg("%s: request %d", kind->name, i);
		}
		assert_int_equal(left_in(header_of(a, "RateLimit")), LIMIT - 1 - i);
		assert_string_equal(header_of(a, "RateLimit-Policy"), "\"web\";q=6;w=3600");
		assert_true(stubborn_connections(app) > before);
	}
	uint64_t before = stubborn_connections(app);
	for (int i = 0; i < LIMIT; i++) {
		struct answer a = ask(requests[i]);
		assert_status(a, 429);
		const char *retry_after = header_of(a, "Retry-After");
		assert_non_null(retry_after);
		assert_in_range(atoi(retry_after), 500, 600);
		assert_int_equal(left_in(header_of(a, "RateLimit")), 0);
	}
	assert_int_equal(stubborn_connections(app), before);
	struct answer a = http(client, "GET", "/ratelimit/keys/127.0.0.1?policy=web", NULL);
	assert_int_equal(int_at(a, "/remaining"), 0);
	ask(NULL);
	proc_kill(&p);
}

TEST_ROWS(limits, kinds, name);

/* The application accepts longer headers than the daemon, which must not get them. */
static void long_headers_pass(void **state)
{
	static const int lengths[][3] = { { 7000, 6000, 10 }, { 7000, 10, 6000 } };
	const struct kind *kind = *state;
	struct proc p;
	char text[16384];

	put_policy("");
	start(&p, kind);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		snprintf(text, sizeof(text),
			 "GET /shop HTTP/1.1\r\nHost: shop.example\r\nAuthorization: %0*d\r\nX-Id-Token: %0*d\r\n"
			 "Referer: %0*d\r\nConnection: close\r\n\r\n",
			 lengths[i][0], 0, lengths[i][1], 0, lengths[i][2], 0);
		struct answer a = ask(text);
		if (a.status != 200)
			fail_msg("%s: %zu: %d", kind->name, i, a.status);
	}
	ask(NULL);
	proc_kill(&p);
}

TEST_ROWS(long_headers_pass, kinds, name);

/*
 * When Redis cannot decide, an open policy admits. A closed policy, or a patternd that is stopped
 * or not running, does not.
 */
static void fails_as_documented(void **state)
{
	const struct kind *kind = *state;
	struct proc p;

	put_policy(",\"on_error\":\"open\"");
	start(&p, kind);
	assert_status(ask(requests[0]), 200);
	server_command(&redis, "DEL p:limit:{127.0.0.1}:web:gcra");
	server_command(&redis, "SADD p:limit:{127.0.0.1}:web:gcra foreign");
	assert_status(ask(requests[0]), 200);
	put_policy("");
	struct answer a = ask(requests[1]);
	assert_in_range(a.status, 500, 503);
	assert_int_equal(kill(patternd.proc.pid, SIGSTOP), 0);
	a = ask(requests[0]);
	assert_int_equal(kill(patternd.proc.pid, SIGCONT), 0);
	assert_in_range(a.status, 500, 504);
	ask(NULL);
	proc_kill(&p);
	int real = patternd.port;
	patternd.port = free_port(); /* without a listener */
	start(&p, kind);
	patternd.port = real;
	a = ask(requests[0]);
	assert_in_range(a.status, 500, 503);
	ask(NULL);
	proc_kill(&p);
}

TEST_ROWS(fails_as_documented, kinds, name);

/*
 * The proxy sends its own token to a patternd with tokens, and the client's token is ignored.
 * Without the line of the example that sends the token, no request passes, except perhaps with a
 * valid token of the client.
 */
static void with_tokens(void **state)
{
	static const char *const clients[] = { "", "Authorization: Basic eDp5\r\n",
					       AUTHORIZATION("of-the-client") "\r\n", AUTHORIZATION("secret") "\r\n" };
	const struct kind *kind = *state;
	struct daemon guarded = { 0 };
	struct proc p;
	char text[256];
	int real = patternd.port;

	put_policy("");
	daemon_start(&guarded, "--redis", redis.url, "--tokens", tokens_file("secret", "policies:web:authorize"));
	patternd.port = guarded.port;
	for (int i = 0; i < 2; i++) {
		with_token = i == 1;
		start(&p, kind);
		for (size_t k = 0; k < COUNT(clients); k++) {
			snprintf(text, sizeof(text),
				 "GET /shop HTTP/1.1\r\nHost: shop.example\r\n%sConnection: close\r\n\r\n", clients[k]);
			struct answer a = ask(text);
			if (k == 3 && !with_token)
				continue; /* the client's token is valid, and may pass */
			if ((a.status == 200) != with_token)
				fail_msg("%s: %d %zu: %d", kind->name, i, k, a.status);
		}
		ask(NULL);
		proc_kill(&p);
	}
	with_token = false;
	patternd.port = real;
	daemon_stop(&guarded);
}

TEST_ROWS(with_tokens, kinds, name);

/* nginx before the whole daemon, with only the lines that it needs. */
static void bare_nginx(void)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "server {\n listen 127.0.0.1:%d;\n location / {\n  proxy_pass http://127.0.0.1:%d;\n"
		 "  proxy_set_header Host localhost;\n }\n}\n",
		 port, patternd.port);
	write_file("patternd.conf", text);
	install_nginx_conf();
}

static const struct kind bare = { "nginx", bare_nginx, { "nginx", "-e", "stderr", "-c", "@nginx.conf" } };

/* nginx buffers answers, and would send the first events after some KiB. */
TEST(streams_pass_nginx)
{
	static const char *const rows[] = {
		"GET /topics/t/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /topics/stream?name=t HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /locks/l/hold HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		"Content-Length: 2\r\n\r\n{}",
	};
	struct proc p;

	start(&p, &bare);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct raw *r = raw_connect(port);
		raw_text(r, rows[i]);
		assert_status(raw_head(r, ANSWER_MS), 200);
		char *chunk = raw_chunk(r, ANSWER_MS);
		assert_non_null(chunk);
		assert_memory_equal(chunk, "event: ", 7);
		free(chunk);
		raw_close(r);
	}
	proc_kill(&p);
}

static int set_up(void **state)
{
	char path[4096];

	/* Programs of /usr/sbin are not in every user's PATH. */
	snprintf(path, sizeof(path), "%s:/usr/sbin:/usr/local/sbin", getenv("PATH"));
	setenv("PATH", path, 1);
	app = stubborn_open(&toy);
	return stage_open(state);
}

static int tear_down(void **state)
{
	stage_close(state);
	stubborn_close(app);
	return 0;
}

/* Each kind has a process. */
SUITE(.open = set_up, .close = tear_down, .after = stage_forget, .columns = KINDS);
