/*
 * --tokens: what the file may contain, the error for each mistake in it, reloading it on SIGHUP,
 * what scopes allow when names are in query and body, and that no token is ever written anywhere.
 */
#include <signal.h>
#include <sys/stat.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "../support/stride.h"
#include "../support/tokens.h"
#include "../support/waiter.h"
#include "test.h"

#define HEX "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"       /* of "secret" */
#define OTHER_HEX "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" /* of "test" */
#define SECRET AUTHORIZATION("secret")

enum { WAIT_MS = 5000 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static int open_redis(void **state)
{
	server_start(&redis);
	return 0;
}

static int close_redis(void **state)
{
	server_stop(&redis);
	return 0;
}

static void start(const char *path)
{
	daemon_start(&patternd, "--redis", redis.url, "--tokens", path);
	client = client_open(patternd.port);
}

static int stop(void **state)
{
	if (client)
		client_close(client);
	client = NULL;
	daemon_stop(&patternd);
	server_command(&redis, "FLUSHALL");
	return 0;
}

static void write_over(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* ---- The file ---- */

SUITE(.open = open_redis, .close = close_redis, .after = stop);

TEST(mistakes, .after = no_fixture)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ "", ": it holds no token" },
		{ "# nothing\n\n   \n", ": it holds no token" },
		{ "secret locks:*\n", ":1: the line must start with the 64 hex digits" },
		{ "\n# a\nsecret locks:*\n", ":3: the line must start with the 64 hex digits" },
		{ HEX "0 *\n", ":1: the line must start with the 64 hex digits" },
		{ "g" HEX "\n", ":1: the line must start with the 64 hex digits" },
		{ HEX "locks:*\n", ":1: the line must start with the 64 hex digits" },
		{ HEX "\n", ":1: the token has no scope" },
		{ HEX " # worker\n", ":1: the token has no scope" },
		{ HEX " #worker locks:*\n", ":1: the token has no scope" },
		{ HEX "  -\n", ":1: the scope '-'" }, /* as sha256sum prints it */
		{ HEX " *\n" HEX " locks:*\n", ":2: line 1 already has this token" },
		{ OTHER_HEX " *\n" HEX " *\n\n" OTHER_HEX " *\n", ":4: line 1 already has this token" },
		{ HEX " lock:*\n", ":1: nothing needs the scope 'lock:*'; it starts with one of locks, " },
		{ HEX " locks:* queues:orders\n",
		  ":1: nothing needs the scope 'queues:orders'; there are queues:NAME:" },
		{ HEX " queues:orders:recieve\n", "queues:NAME:receive" },
		{ HEX " metrics:x:read\n", ":1: nothing needs the scope 'metrics:x:read'; there are metrics:read" },
		{ HEX " locks:a:list\n", ":1: nothing needs the scope 'locks:a:list'" },
		{ HEX " queues:a:b:send\n", ":1: the scope 'queues:a:b:send': a scope has three parts at most" },
		{ HEX " queues:a*b:send\n",
		  ":1: the scope 'queues:a*b:send': a * is only allowed at the end of a name" },
		{ HEX " queues:%zz:send\n", ":1: the scope 'queues:%zz:send': a % in a name starts an escape" },
		{ HEX " locks:*, queues:*\n", ":1: the scope 'locks:*,'" },
		{ HEX " * # \x01\n", ":1: the label must have at most 64 bytes of plain text" },
		{ HEX " * # 0123456789012345678901234567890123456789012345678901234567890123456789\n",
		  ":1: the label must have at most 64 bytes" },
	};
	char said[512];

	for (size_t i = 0; i < COUNT(rows); i += (size_t)stride()) {
		const char *path = text_file(rows[i].text);
		snprintf(said, sizeof(said), "patternd: --tokens: %s%s", path,
			 *rows[i].said == ':' ? rows[i].said : ":");
		assert_int_equal(daemon_run(&patternd, "--listen", "127.0.0.1:0", "--tokens", path), 2);
		if (proc_wrote(&patternd.proc, said) && proc_wrote(&patternd.proc, rows[i].said))
			continue;
		proc_print_tail(&patternd.proc);
		fail_msg("stderr lacks '%s'", rows[i].said);
	}
}

TEST(no_file, .after = no_fixture)
{
	char fifo[256];

	assert_int_equal(daemon_run(&patternd, "--tokens", "/no/such/file"), 2);
	assert_true(proc_wrote(&patternd.proc, "--tokens: /no/such/file: cannot read it: No such file"));
	assert_int_equal(daemon_run(&patternd, "--tokens", temp_dir()), 2);
	assert_true(proc_wrote(&patternd.proc, "it is not a regular file"));
	snprintf(fifo, sizeof(fifo), "%s/fifo", temp_dir());
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(daemon_run(&patternd, "--tokens", fifo), 2); /* the daemon does not wait for a writer */
	assert_true(proc_wrote(&patternd.proc, "it is not a regular file"));
}

TEST(too_many)
{
	const char *path = text_file("");
	char token[32], said[64];

	for (int count = 4096; count <= 4097; count++) {
		FILE *out = fopen(path, "we");
		for (int i = 0; i < count; i++) {
			snprintf(token, sizeof(token), "token-%d", i);
			token_print(out, token, "locks:*");
		}
		fclose(out);
		if (count == 4096) {
			start(path);
			assert_status(http(client, "GET", "/locks/a", NULL, AUTHORIZATION("token-0")), 200);
			assert_status(http(client, "GET", "/locks/a", NULL, AUTHORIZATION("token-4095")), 200);
			assert_status(http(client, "GET", "/locks/a", NULL, AUTHORIZATION("token-4096")), 401);
			stop(NULL);
		} else {
			assert_int_equal(daemon_run(&patternd, "--tokens", path), 2);
			snprintf(said, sizeof(said), ":%d: the file has more than 4096 tokens", count);
			assert_true(proc_wrote(&patternd.proc, said));
		}
	}
}

/* Unusual files that are allowed. */
TEST(forms)
{
	static const char *const texts[] = {
		HEX " locks:*", /* no newline at the end */
		HEX " locks:*\r\n",
		"  \t" HEX "\t\tmetrics:read   locks:a:read  # who # what\n",
		"2BB80D537B1DA3E38BD30361AA855686BDE0EACD7162FEF6A25FE97BF527A25B locks:a*:read\n",
		"#" HEX " *\n\n\n   # " HEX " *\n" HEX " locks:%61:read\n" OTHER_HEX " *\n",
		HEX " locks:*:*\n",
		HEX " *",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		start(text_file(texts[i]));
		assert_status(http(client, "GET", "/locks/a", NULL, SECRET), 200);
		assert_status(http(client, "GET", "/locks/a", NULL, AUTHORIZATION("secret2")), 401);
		assert_false(proc_wrote(&patternd.proc, "tokens_readable"));
		stop(NULL);
	}
}

TEST(readable_by_all)
{
	const char *path = text_file(HEX " *\n");

	chmod(path, 0644);
	start(path);
	assert_true(proc_wrote(&patternd.proc, "tokens_readable"));
}

/* ---- SIGHUP ---- */

static bool is_in_log(void *arg)
{
	return proc_wrote(&patternd.proc, arg);
}

static void reload(const char *said)
{
	char text[256];

	snprintf(text, sizeof(text), "%s", said);
	proc_signal(&patternd.proc, SIGHUP);
	if (wait_for(is_in_log, text, WAIT_MS))
		return;
	proc_print_tail(&patternd.proc);
	fail_msg("the log lacks '%s'", said);
}

TEST(rotation)
{
	const char *path = text_file(HEX " locks:*\n");

	start(path);
	write_over(path, HEX " locks:*\n" OTHER_HEX " locks:*\n");
	reload("2 tokens from ");
	assert_status(http(client, "GET", "/locks/a", NULL, SECRET), 200);
	assert_status(http(client, "GET", "/locks/a", NULL, AUTHORIZATION("test")), 200);
	write_over(path, OTHER_HEX " locks:*\n");
	reload("read 1 token from ");
	/* The connection is the same as before. */
	assert_problem(http(client, "GET", "/locks/a", NULL, SECRET), 401, "unauthorized", "none");
	write_over(path, HEX " queues:*\n" OTHER_HEX " *\n# more\n" HEX "0 *\n");
	reload(":4: the line must start with the 64 hex digits");
	assert_true(proc_wrote(&patternd.proc, path));
	assert_true(proc_wrote(&patternd.proc, "the tokens read before stay in use"));
	reload("a file with an error above keeps its earlier content");
	assert_status(http(client, "GET", "/locks/a", NULL, SECRET), 401);
	write_over(path, HEX " locks:*\n");
	proc_signal(&patternd.proc, SIGHUP);
	wait_until(http(client, "GET", "/locks/a", NULL, SECRET).status == 200, WAIT_MS);
	write_over(path, "");
	reload("it holds no token");
	remove(path);
	reload("cannot read it");
	assert_status(http(client, "GET", "/locks/a", NULL, SECRET), 200);
	assert_status(http(client, "GET", "/locks/a", NULL), 401);
}

TEST(without_a_file_sighup_does_nothing)
{
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	for (int i = 0; i < 100; i++)
		proc_signal(&patternd.proc, SIGHUP);
	assert_status(http(client, "GET", "/locks/a", NULL), 200);
	assert_status(http(client, "GET", "/locks/a", NULL, SECRET, SECRET), 200); /* tokens are not checked */
	assert_status(http(client, "GET", "/info", NULL), 200);
}

/* `missing` bytes of the body are sent later. */
static struct raw *asks(const char *target, const char *token, const char *body, size_t missing)
{
	struct raw *r = raw_connect(patternd.port);
	char text[512];

	snprintf(text, sizeof(text),
		 "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 target, token, strlen(body) + missing, body);
	raw_text(r, text);
	return r;
}

/*
 * The token of four requests is removed: one waits, one streams, one waits behind it, and one still
 * sends its body. A request with another token waits on.
 */
TEST(under_way)
{
	static const char *const lines[] = { "p:queue:{a}", "p:queue:{b}", "p:lock:{h}" };
	static const char wait[] = "{\"wait_ms\":20000}";
	const char *path = text_file(HEX " queues:* locks:*\n" OTHER_HEX " queues:* locks:*\n");

	start(path);
	struct raw *holds = asks("/locks/h/hold", "secret", "{}", 0);
	wait_until(http(client, "GET", "/locks/h", NULL, SECRET).status == 200 &&
			   bool_at(http(client, "GET", "/locks/h", NULL, SECRET), "/held"),
		   WAIT_MS);
	struct raw *behind = asks("/locks/h", "secret", "{\"ttl_ms\":60000,\"wait_ms\":20000}", 0);
	struct raw *waits = asks("/queues/a/receive", "secret", wait, 0);
	struct raw *stays = asks("/queues/b/receive", "test", wait, 0);
	struct raw *sends = asks("/queues/receive", "secret", "{\"queues\":", 6);
	for (size_t i = 0; i < COUNT(lines); i++)
		wait_until(tickets_at(&redis, lines[i]) == 1, WAIT_MS);
	write_over(path, OTHER_HEX " queues:* locks:*\n");
	reload("read 1 token from ");
	assert_true(raw_closed(waits, WAIT_MS));
	assert_true(raw_closed(holds, WAIT_MS));
	assert_true(raw_closed(behind, WAIT_MS));
	raw_text(sends, "[\"a\"]}");
	assert_problem(raw_answer(sends, WAIT_MS), 401, "unauthorized", "none");
	wait_until(tickets_at(&redis, "p:queue:{a}") == 0 && tickets_at(&redis, "p:lock:{h}") == 0, WAIT_MS);
	for (const char *const *q = (const char *const[]){ "/queues/a/messages", "/queues/b/messages", NULL }; *q; q++)
		assert_status(http(client, "POST", *q, "{\"body\":1}", AUTHORIZATION("test")), 201);
	assert_int_equal(int_at(raw_answer(stays, WAIT_MS), "/messages/0/body"), 1);
	struct answer a = http(client, "GET", "/queues/a", NULL, AUTHORIZATION("test"));
	assert_int_equal(int_at(a, "/ready"), 1);
	assert_int_equal(int_at(a, "/in_flight"), 0);
	wait_until(!bool_at(http(client, "GET", "/locks/h", NULL, AUTHORIZATION("test")), "/held"), WAIT_MS);
	raw_close(holds);
	raw_close(behind);
	raw_close(waits);
	raw_close(stays);
	raw_close(sends);
}

/* ---- What scopes allow ---- */

static struct answer post_as(const char *authorization, const char *target, const char *body)
{
	return http(client, "POST", target, body, authorization);
}

#define assert_allowed(a) assert_true((a).status != 401 && (a).status != 403)
#define assert_forbidden(a, scope)                                  \
	do {                                                        \
		struct answer a_ = (a);                             \
		assert_problem(a_, 403, "forbidden", "none");       \
		if (!strstr(text_at(a_, "/detail"), "'" scope "'")) \
			fail_msg("%s", text_at(a_, "/detail"));     \
	} while (0)

TEST(names_in_bodies)
{
	start(tokens_file(
		"secret",
		"queues:a:receive queues:a%3Ab:receive locks:a*:acquire ratelimit:a:take uv:a:write uv:b:read "
		"sets:a:read leaderboards:a:manage leaderboards:b:read geo:a:read policies:web:authorize"));
	assert_allowed(post_as(SECRET, "/queues/receive", "{\"queues\":[\"a\"]}"));
	assert_allowed(post_as(SECRET, "/queues/receive", "{\"queues\":[\"a\",\"a:b\"]}"));
	assert_forbidden(post_as(SECRET, "/queues/receive", "{\"queues\":[\"a\",\"b\"]}"), "queues:b:receive");
	assert_forbidden(post_as(SECRET, "/queues/receive", "{\"queues\":[\"a:c\"]}"), "queues:a%3Ac:receive");
	assert_forbidden(post_as(SECRET, "/queues/receive", "{\"queues\":[\"a%3Ab\"]}"), "queues:a%253Ab:receive");
	assert_forbidden(post_as(SECRET, "/queues/receive", "{\"queues\":[\"a\",\"*\"]}"), "queues:%2A:receive");
	assert_allowed(post_as(SECRET, "/queues/a%3Ab/receive", NULL));
	assert_allowed(post_as(SECRET, "/queues/%61/receive", NULL));
	assert_forbidden(post_as(SECRET, "/queues/a%3Ac/receive", NULL), "queues:a%3Ac:receive");
	assert_forbidden(post_as(SECRET, "/queues/a%253Ab/receive", NULL), "queues:a%253Ab:receive");
	assert_forbidden(post_as(SECRET, "/queues/a%2Fa/receive", NULL), "queues:a/a:receive");
	assert_allowed(post_as(SECRET, "/locks", "{\"names\":[\"a1\",\"a2\"]}"));
	assert_forbidden(post_as(SECRET, "/locks", "{\"names\":[\"a3\",\"ba\"]}"), "locks:ba:acquire");
	assert_allowed(post_as(SECRET, "/ratelimit", "{\"key\":\"a\",\"limit\":9,\"window_ms\":1000}"));
	assert_forbidden(post_as(SECRET, "/ratelimit", "{\"key\":\"b\",\"limit\":9,\"window_ms\":1000}"),
			 "ratelimit:b:take");
	assert_forbidden(post_as(SECRET, "/ratelimit",
				 "{\"checks\":[{\"name\":\"x\",\"key\":\"a\",\"limit\":9,\"window_ms\":1000},"
				 "{\"name\":\"y\",\"key\":\"b\",\"limit\":9,\"window_ms\":1000}]}"),
			 "ratelimit:b:take");
	assert_allowed(post_as(SECRET, "/uv/a/merge", "{\"sources\":[\"b\"]}"));
	assert_forbidden(post_as(SECRET, "/uv/a/merge", "{\"sources\":[\"b\",\"a\"]}"), "uv:a:read");
	assert_forbidden(post_as(SECRET, "/uv/b/merge", "{\"sources\":[\"b\"]}"), "uv:b:write");
	assert_allowed(http(client, "GET", "/uv/combine?name=b", NULL, SECRET));
	assert_forbidden(http(client, "GET", "/uv/combine?name=b&name=a", NULL, SECRET), "uv:a:read");
	assert_allowed(http(client, "GET", "/sets/combine?union=a", NULL, SECRET));
	assert_forbidden(http(client, "GET", "/sets/combine?union=a&union=b", NULL, SECRET), "sets:b:read");
	/* A request without names needs the scope for all names. */
	assert_forbidden(http(client, "GET", "/sets/combine", NULL, SECRET), "sets:NAME:read");
	assert_forbidden(http(client, "GET", "/sets/combine?subtract=b&subtract=a", NULL, SECRET), "sets:b:read");
	assert_forbidden(post_as(SECRET, "/leaderboards/a/merge", "{\"sources\":[\"b\",\"c\"]}"),
			 "leaderboards:c:read");
	assert_forbidden(http(client, "GET", "/geo/nearby?name=a&name=b&longitude=1&latitude=1&radius=1", NULL, SECRET),
			 "geo:b:read");
	assert_allowed(http(client, "GET", "/geo/nearby?name=a&longitude=1&latitude=1&radius=1", NULL, SECRET));
	/* A proxy's token names the policy that the proxy may use, with every method. */
	assert_allowed(http(client, "DELETE", "/ratelimit/authorize?policy=web&key=k", NULL, SECRET));
	assert_allowed(http(client, "GET", "/ratelimit/authorize/web/some/path?policy=other", NULL, SECRET));
	assert_forbidden(http(client, "GET", "/ratelimit/authorize?policy=other&key=web", NULL, SECRET),
			 "policies:other:authorize");
	assert_forbidden(http(client, "GET", "/ratelimit/authorize/other/web", NULL, SECRET),
			 "policies:other:authorize");
	/* A refused request changed nothing. */
	assert_int_equal(server_command(&redis, "EXISTS p:lock:{a3} p:lock:{ba}")->integer, 0);
}

/* A key and a policy may have the same name, and the scope for one does not reach the other. */
TEST(keys_and_policies_are_apart)
{
	static const char limit[] = "{\"limit\":9,\"window_ms\":1000}",
			  take[] = "{\"key\":\"web\",\"limit\":9,\"window_ms\":1000}";
	static const char policy[] = "/ratelimit/policies/web", key[] = "/ratelimit/keys/web";
	static const char *const changes[] = { "PUT", "PATCH", "DELETE" };

	start(tokens_file("secret", "ratelimit:web:* ratelimit:list", "owner", "policies:web:* policies:list", "caller",
			  "ratelimit:web:take"));
	for (size_t i = 0; i < COUNT(changes); i++)
		assert_forbidden(http(client, changes[i], policy, i < 2 ? limit : NULL, SECRET), "policies:web:manage");
	assert_forbidden(http(client, "GET", policy, NULL, SECRET), "policies:web:read");
	assert_forbidden(http(client, "GET", "/ratelimit/policies", NULL, SECRET), "policies:list");
	assert_forbidden(http(client, "GET", "/ratelimit/authorize/web/", NULL, SECRET), "policies:web:authorize");
	assert_status(post_as(SECRET, "/ratelimit", take), 200);
	assert_status(http(client, "DELETE", key, NULL, SECRET), 204);
	assert_status(http(client, "PUT", policy, limit, AUTHORIZATION("owner")), 201);
	assert_status(http(client, "GET", "/ratelimit/authorize?policy=web&key=web", NULL, AUTHORIZATION("owner")),
		      200);
	assert_forbidden(post_as(AUTHORIZATION("owner"), "/ratelimit", take), "ratelimit:NAME:take");
	assert_forbidden(http(client, "GET", key, NULL, AUTHORIZATION("owner")), "ratelimit:web:read");
	assert_forbidden(http(client, "GET", "/ratelimit/keys", NULL, AUTHORIZATION("owner")), "ratelimit:list");
	assert_forbidden(http(client, "DELETE", key, NULL, AUTHORIZATION("caller")), "ratelimit:web:reset");
}

TEST(force_is_a_scope_of_its_own)
{
	start(tokens_file("secret", "locks:*:acquire locks:*:read", "forcer", "locks:*:manage", "both", "locks:*"));
	struct answer a = post_as(SECRET, "/locks/a", "{}");
	assert_status(a, 201);
	assert_forbidden(http(client, "DELETE", "/locks/a?force=true", NULL, SECRET), "locks:a:manage");
	assert_forbidden(http(client, "DELETE", "/locks/a", NULL, "Lock-Token: none", AUTHORIZATION("forcer")),
			 "locks:a:acquire");
	assert_status(http(client, "DELETE", "/locks/a?force=false", NULL, "Lock-Token: none", SECRET), 409);
	assert_status(http(client, "DELETE", "/locks/a?force=true", NULL, AUTHORIZATION("forcer")), 200);
	assert_status(post_as(SECRET, "/locks/a", "{}"), 201);
	assert_status(http(client, "DELETE", "/locks/a?force=true", NULL, AUTHORIZATION("both")), 200);
}

static const char *acquired_by(const char *authorization)
{
	struct answer a = http(client, "POST", "/locks/a", "{}", authorization, "Idempotency-Key: guessed");

	return a.status == 201 ? text_at(a, "/token") : "";
}

/*
 * A guessed Idempotency-Key gets no answer of another caller. A new token with the same label is
 * the same caller.
 */
TEST(a_record_belongs_to_its_caller)
{
	static const char *const own = SECRET, *const others = AUTHORIZATION("other");
	static const char *const old = AUTHORIZATION("old"), *const successor = AUTHORIZATION("successor");
	char token[64];

	start(tokens_file("secret", "locks:*", "other", "locks:*", "old", "locks:* # worker", "successor",
			  "locks:* # worker", "third", "locks:* # third"));
	snprintf(token, sizeof(token), "%s", acquired_by(own));
	assert_string_equal(acquired_by(own), token);
	assert_string_equal(acquired_by(others), "");
	assert_status(http(client, "DELETE", "/locks/a?force=true", NULL, own), 200);
	snprintf(token, sizeof(token), "%s", acquired_by(old));
	assert_string_equal(acquired_by(successor), token);
	assert_string_equal(acquired_by(AUTHORIZATION("third")), "");
}

TEST(the_daemon_itself)
{
	start(tokens_file("secret", "metrics:read", "informed", "info:read"));
	assert_status(http(client, "GET", "/healthz", NULL), 200);
	assert_status(http(client, "GET", "/readyz", NULL), 200);
	assert_status(http(client, "HEAD", "/healthz", NULL, AUTHORIZATION("unknown")), 200);
	assert_status(http(client, "HEAD", "/metrics", NULL), 401);
	assert_forbidden(http(client, "GET", "/info", NULL, SECRET), "info:read");
	assert_forbidden(http(client, "GET", "/metrics", NULL, AUTHORIZATION("informed")), "metrics:read");
	assert_status(http(client, "GET", "/info", NULL, AUTHORIZATION("informed")), 200);
	assert_status(http(client, "GET", "/openapi.json", NULL), 401);
	assert_status(http(client, "GET", "/openapi.json", NULL, SECRET), 200);
	assert_status(http(client, "GET", "/problems/forbidden", NULL, SECRET), 200);
	struct answer a = http(client, "GET", "/metrics", NULL, SECRET);
	assert_status(a, 200);
	assert_non_null(strstr(a.body, "patternd_tokens_refused_total 2\n"));
	assert_non_null(strstr(a.body, "patternd_scopes_refused_total 2\n"));
}

/* ---- Tokens and grants are never written ---- */

TEST(no_output_has_a_token)
{
	static const char canary[] = "canary-0123456789abcdef";
	static const char *const targets[] = { "/locks/a",
					       "/info",
					       "/metrics",
					       "/queues/b",
					       "/no/such",
					       "/locks/%zz",
					       "/ratelimit/authorize?policy=web&key_header=Authorization" };
	const char *path =
		tokens_file("canary-0123456789abcdef", "locks:a:read metrics:read info:read # the worker \"7\"");

	start(path);
	for (size_t i = 0; i < COUNT(targets); i++) {
		struct answer a = http(client, "GET", targets[i], NULL, AUTHORIZATION("canary-0123456789abcdef"));
		assert_true(a.status != 0 && a.status != 401);
		assert_null(strstr(a.body, canary));
		a = http(client, "GET", targets[i], NULL, AUTHORIZATION("canary-0123456789abcdeg"));
		assert_null(strstr(a.body, "canary"));
	}
	char *file = file_text(path), hex[65] = "";
	memcpy(hex, file, 64);
	free(file);
	/* Each log line is complete once the line of a later request is there. */
	http(client, "GET", "/healthz", NULL, "X-Request-ID: the-last");
	wait_until(proc_wrote(&patternd.proc, "the-last"), WAIT_MS);
	assert_false(proc_wrote(&patternd.proc, "canary"));
	assert_false(proc_wrote(&patternd.proc, hex));
	assert_true(proc_wrote(&patternd.proc, "\"caller\":\"the worker \\\"7\\\"\""));
	struct answer a = http(client, "GET", "/info", NULL, AUTHORIZATION("canary-0123456789abcdef"));
	assert_null(strstr(a.body, hex));
}

static const char *const granting[][3] = {
	/* target, body, pointer to the secret in the answer */
	{ "/locks/g", "{}", "/token" },
	{ "/semaphores/g/permits", "{\"limit\":2}", "/permit" },
	{ "/queues/g/receive", "{}", "/messages/0/receipt" },
};

/*
 * A reader of the log or the metrics could use such a secret to release another client's lock, or
 * to replay its answer.
 */
TEST(no_output_has_a_granted_secret)
{
	enum { GRANTS = COUNT(granting) };
	char *secrets[GRANTS], target[256], header[256];

	daemon_start(&patternd, "--redis", redis.url, "--log-level", "debug");
	client = client_open(patternd.port);
	assert_status(http(client, "POST", "/queues/g/messages", "{\"body\":1}"), 201);
	for (size_t i = 0; i < GRANTS; i++) {
		struct answer a = http(client, "POST", granting[i][0], granting[i][1], "Idempotency-Key: canary-key");
		assert_in_range(a.status, 200, 201);
		secrets[i] = strdup(text_at(a, granting[i][2]));
		assert_true(strlen(secrets[i]) >= 16);
	}
	/* Each secret is sent again, to its own resource and to another. */
	for (size_t i = 0; i < GRANTS; i++) {
		snprintf(target, sizeof(target), "/locks/%s?token=%s", i ? "h" : "g", secrets[i]);
		snprintf(header, sizeof(header), "Lock-Token: %s", secrets[i]);
		http(client, "DELETE", target, NULL, header);
		http(client, "DELETE", i ? "/locks/h" : "/locks/g", NULL, header);
		snprintf(target, sizeof(target), "/semaphores/g/permits/%s", secrets[i]);
		http(client, "DELETE", target, NULL);
		snprintf(target, sizeof(target), "/queues/g/deliveries/%s", secrets[i]);
		http(client, "DELETE", target, NULL);
	}
	http(client, "GET", "/healthz", NULL, "X-Request-ID: the-last");
	wait_until(proc_wrote(&patternd.proc, "the-last"), WAIT_MS);
	struct answer metrics = http(client, "GET", "/metrics", NULL), info = http(client, "GET", "/info", NULL);
	assert_false(proc_wrote(&patternd.proc, "canary"));
	for (size_t i = 0; i < GRANTS; i++) {
		assert_false(proc_wrote(&patternd.proc, secrets[i]));
		assert_null(strstr(metrics.body, secrets[i]));
		assert_null(strstr(info.body, secrets[i]));
		free(secrets[i]);
	}
}
