/*
 * docs/access.md is correct: the Redis user that it shows can run every operation, and has no other
 * permission.
 */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>

#include "../support/contract.h"
#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/redis_server.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 5000, LINE_BYTES = 4096, SOURCES_BYTES = 4 * 1024 * 1024 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;
static char line[LINE_BYTES]; /* the ACL line of the page, with a password in it */
static char *page;

static const char *source_folder(void)
{
	const char *folder = getenv("PATTERND_SOURCE");

	return folder ? folder : ".";
}

/* The text after the line of a mark in docs/access.md. */
static const char *behind(const char *mark)
{
	const char *at = strstr(page, mark);

	if (!at)
		fail_msg("docs/access.md has no '%s'", mark);
	return strchr(at, '\n') + 1;
}

static int open_all(void **state)
{
	char path[512], url[128];

	snprintf(path, sizeof(path), "%s/docs/access.md", source_folder());
	page = file_text(path);
	assert_non_null(page);
	const char *at = strstr(behind("<!-- acl:"), "ACL SETUSER"), *password = strstr(at, ">PASSWORD");
	assert_non_null(password);
	snprintf(line, sizeof(line), "%.*s>secret%.*s", (int)(password - at), at, (int)strcspn(password + 9, "\n"),
		 password + 9);
	server_start(&redis);
	redisReply *r = server_command(&redis, line);
	if (r->type == REDIS_REPLY_ERROR)
		fail_msg("%s", r->str);
	snprintf(url, sizeof(url), "redis://team:secret@127.0.0.1:%d/0", redis.port);
	daemon_start(&patternd, "--redis", url, "--prefix", "team:");
	client = client_open(patternd.port);
	return 0;
}

static int close_all(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	free(page);
	return 0;
}

/* ---- The user of Redis ---- */

static void ask_all(bool with_deletes)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (!with_deletes && strcmp(op->method, "DELETE") == 0)
			continue;
		char *target = contract_target(op, NULL, NULL);
		json_t *body = contract_body(op);
		char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
		struct answer a = http(client, op->method, target, text);
		bool is_allowed = a.status != 0 && (a.status < 400 || !strstr(a.body, "NOPERM"));
		if (!is_allowed)
			answer_print(a);
		assert_true(is_allowed);
		free(text);
		json_decref(body);
		free(target);
	}
}

static void nothing_was_denied(void)
{
	redisReply *denied = server_command(&redis, "ACL LOG 100");

	for (size_t i = 0; i < denied->elements; i++)
		for (size_t k = 0; k + 1 < denied->element[i]->elements; k += 2)
			if (denied->element[i]->element[k + 1]->str)
				print_error("%s: %s\n", denied->element[i]->element[k]->str,
					    denied->element[i]->element[k + 1]->str);
	assert_int_equal(denied->elements, 0);
	assert_false(proc_wrote(&patternd.proc, "NOPERM"));
}

SUITE(.open = open_all, .close = close_all);

/*
 * Every operation runs twice, so that its resources exist, and once after Redis has lost the
 * scripts.
 */
TEST(every_operation_is_allowed)
{
	ask_all(true);
	ask_all(true);
	server_command(&redis, "SCRIPT FLUSH");
	ask_all(true);
	ask_all(false);
	nothing_was_denied();
	/* All keys are below the prefix. */
	assert_int_equal(server_command(&redis, "EVAL %s 0",
					"local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do "
					"if k:sub(1, 5) ~= 'team:' then n = n + 1 end end return n")
				 ->integer,
			 0);
	assert_true(server_keys(&redis) > 10);
}

static bool is_allowed(const char *word)
{
	char lead[64] = " +";
	size_t n = 2;

	for (; *word && n + 1 < sizeof(lead); word++)
		lead[n++] = (char)tolower((unsigned char)*word);
	lead[n] = '\0';
	for (const char *at = line; (at = strstr(at, lead)); at += n)
		if (at[n] == ' ' || at[n] == '\0' || at[n] == '|')
			return true;
	return false;
}

/* Appends the text of each file below `folder` to `all`, if the file's name has this ending. */
static void add_sources(const char *folder, const char *ending, char *all)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", source_folder(), folder);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		size_t n = strlen(e->d_name), end = strlen(ending), len = strlen(all);
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			add_sources(path, ending, all);
		if (n < end || strcmp(e->d_name + n - end, ending) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", source_folder(), folder, e->d_name);
		char *text = file_text(path);
		assert_true(text && len + strlen(text) < SOURCES_BYTES);
		memcpy(all + len, text, strlen(text) + 1);
		free(text);
	}
	closedir(dir);
}

/*
 * The examples do not run every command: each word of a script that is a Redis command is allowed.
 */
TEST(every_command_of_the_scripts_is_allowed)
{
	char *all = calloc(1, SOURCES_BYTES), word[32];

	add_sources("lua", ".lua", all);
	unsigned commands = 0;
	for (const char *at = all; (at = strchr(at, '\'')); at++) {
		size_t len = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (len < 2 || len >= sizeof(word) || at[len + 1] != '\'')
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)len, at + 1);
		if (server_command(&redis, "COMMAND INFO %s", word)->element[0]->type == REDIS_REPLY_NIL)
			continue;
		commands++;
		if (!is_allowed(word))
			fail_msg("a script calls %s, which the line of docs/access.md does not allow", word);
	}
	assert_true(commands > 100);
	free(all);
}

/* ---- The commands that the build has collected ---- */

/* The rules, one per line; the caller frees. */
static char *collected(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s", getenv("PATTERND_OPENAPI"));
	snprintf(strrchr(path, '/'), 32, "/permissions.txt");
	char *rules = file_text(path);
	assert_non_null(rules);
	return rules;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || isspace((unsigned char)at[-1])) &&
		    (at[len] == '\0' || isspace((unsigned char)at[len])))
			return true;
	return false;
}

/* The ACL line of docs/access.md allows exactly the commands that the daemon calls. */
TEST(the_line_is_what_is_called)
{
	char *rules = collected(), *words = strdup(line);
	unsigned count = 0;

	for (char *rule = strtok(rules, "\n"); rule; rule = strtok(NULL, "\n"), count++)
		if (!has_word(line, rule))
			fail_msg("add %s to the ACL line of docs/access.md", rule);
	assert_in_range(count, 70, 200);
	free(rules);
	rules = collected();
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		if (*word == '+' && !has_word(rules, word))
			fail_msg("the line of docs/access.md allows %s, which nothing calls", word);
	free(words);
	free(rules);
}

/* ---- Missing permissions are reported ---- */

static void acl(const char *rules)
{
	char command[LINE_BYTES];

	snprintf(command, sizeof(command), "ACL SETUSER team %s", rules);
	redisReply *r = server_command(&redis, command);
	if (r->type == REDIS_REPLY_ERROR)
		fail_msg("%s: %s", command, r->str);
}

static struct answer ready(void)
{
	return http(client, "GET", "/readyz", NULL);
}

/*
 * Takes a permission from the user. After a reload, /readyz names the command that grants it again,
 * and nothing else.
 */
static void must_be_missed(const char *take, const char *rule)
{
	char detail[256];

	acl(take);
	kill(patternd.proc.pid, SIGHUP);
	snprintf(detail, sizeof(detail), "the Redis user lacks permissions: ACL SETUSER team %s\"", rule);
	wait_until(strstr(ready().body, detail) != NULL, SOON_MS);
	acl(rule);
}

TEST(each_permission_is_missed)
{
	static const char *const optional[] = { "+client|setname",
						"+client|id",
						"+client|tracking",
						"+info",
						"+select",
						"+scan",
						"+acl|whoami",
						"+acl|dryrun",
						"+pubsub|shardchannels",
						"+pubsub|shardnumsub" };
	char *rules = collected(), take[64];

	assert_status(ready(), 200);
	for (char *rule = strtok(rules, "\n"); rule; rule = strtok(NULL, "\n")) {
		bool is_optional = false;
		for (size_t i = 0; i < COUNT(optional); i++)
			is_optional = is_optional || strcmp(rule, optional[i]) == 0;
		if (is_optional)
			continue;
		snprintf(take, sizeof(take), "-%s", rule + 1);
		must_be_missed(take, rule);
	}
	must_be_missed("resetkeys ~other:*", "~team:*");
	must_be_missed("resetchannels", "&team:*");
	acl("resetkeys ~team:*");
	free(rules);
	wait_until(ready().status == 200, SOON_MS); /* without a reload */
	assert_int_equal(metric_of(&patternd, "redis_permissions_missing"), 0);
	server_command(&redis, "ACL LOG RESET");
}

/*
 * The daemon reports all missing permissions in one line, logs it once, and counts them in a
 * metric. With --strict it uses no connection.
 */
TEST(all_that_is_missing_is_reported_once)
{
	static const char missing[] = "ACL SETUSER team +pexpireat +hset\"";
	struct daemon other = { 0 };
	char url[128];

	snprintf(url, sizeof(url), "redis://team:secret@127.0.0.1:%d/0", redis.port);
	acl("-pexpireat -hset");
	daemon_launch(&other, "--redis", url, "--prefix", "team:");
	struct client *c = client_open(other.port);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body, missing), SOON_MS);
	assert_problem(http(c, "GET", "/readyz", NULL), 503, "not_ready", "none");
	assert_int_equal(metric_of(&other, "redis_permissions_missing"), 2);
	assert_status(http(c, "POST", "/pv/a", NULL), 200); /* it needs neither permission */
	char *log = file_text(other.proc.err_path), *said = strstr(log, "redis_permissions_missing");
	assert_non_null(said);
	assert_non_null(strstr(said, missing));
	assert_null(strstr(said + 1, "redis_permissions_missing"));
	free(log);
	client_close(c);
	daemon_stop(&other);

	server_command(&redis, "CONFIG SET appendonly yes"); /* else --strict refuses for want of AOF */
	daemon_launch(&other, "--redis", url, "--prefix", "team:", "--strict");
	c = client_open(other.port);
	wait_until(strstr(http(c, "GET", "/readyz", NULL).body,
			  "--strict: the Redis user lacks permissions: ACL SETUSER"),
		   SOON_MS);
	assert_problem(http(c, "POST", "/pv/a", NULL), 503, "redis_unavailable", "none");
	client_close(c);
	daemon_stop(&other);
	server_command(&redis, "CONFIG SET appendonly no");
	acl("+pexpireat +hset");
}

/* The detail of the finding; "" if there is none. */
static const char *found_missing(struct client *c)
{
	struct answer a = http(c, "GET", "/overview", NULL);
	const json_t *f = json_item(a, "/findings", "kind", "permissions_missing");

	assert_status(a, 200);
	return f ? json_string_value(json_object_get(f, "detail")) : "";
}

/*
 * If a running daemon loses a permission, it has a finding once a command was denied. When the
 * permission is granted again, the daemon logs it once for all connections, and the finding goes.
 */
TEST(a_permission_that_is_taken_is_found)
{
	struct daemon other = { 0 };
	char url[128];

	snprintf(url, sizeof(url), "redis://team:secret@127.0.0.1:%d/0", redis.port);
	daemon_start(&other, "--redis", url, "--prefix", "team:", "--pool-size", "3");
	struct client *c = client_open(other.port);
	wait_until(metric_of(&other, "redis_connections") == 3, SOON_MS); /* all have queried their permissions */
	assert_string_equal(found_missing(c), "");
	assert_true(json_is_null(json_at(http(c, "GET", "/info", NULL), "/redis/missing_permissions")));
	acl("-hset");
	assert_problem(http(c, "POST", "/locks/taken", NULL), 503, "redis_permission_denied", "unknown");
	wait_until(strcmp(found_missing(c), "the Redis user lacks permissions: ACL SETUSER team +hset") == 0, SOON_MS);
	assert_string_equal(text_at(http(c, "GET", "/info", NULL), "/redis/missing_permissions"), found_missing(c));
	assert_int_equal(daemon_log_count(&other, "redis_permissions_missing"), 1);
	assert_int_equal(daemon_log_count(&other, "redis_permissions_granted"), 0);
	acl("+hset");
	wait_until(!*found_missing(c) && daemon_log_count(&other, "redis_permissions_granted") == 1, 2 * SOON_MS);
	assert_true(json_is_null(json_at(http(c, "GET", "/info", NULL), "/redis/missing_permissions")));

	acl("-@write -@read");
	kill(other.proc.pid, SIGHUP);
	wait_until(strstr(found_missing(c), " and more, which GET /readyz names"), SOON_MS);
	assert_non_null(strstr(found_missing(c), "+hset "));
	server_command(&redis, line);
	wait_until(!*found_missing(c) && daemon_log_count(&other, "redis_permissions_granted") == 2, 2 * SOON_MS);
	assert_int_equal(daemon_log_count(&other, "redis_permissions_missing"), 2);
	client_close(c);
	daemon_stop(&other);
	server_command(&redis, "ACL LOG RESET");
}

/*
 * One connection to a server asks about the permissions, also after an outage, a reload and a
 * denied command; the others use its answers.
 */
TEST(permissions_are_asked_about_once)
{
	enum { POOL = 4, CONNECTIONS = POOL + 1 };
	struct redis_server own = { 0 };
	struct daemon other = { 0 };
	char url[128];

	server_start(&own);
	snprintf(url, sizeof(url), "redis://127.0.0.1:%d", own.port);
	daemon_start(&other, "--redis", url, "--pool-size", "1");
	long long questions = server_calls(&own, "acl|dryrun");
	assert_in_range(questions, 50, 200);
	daemon_stop(&other);
	server_command(&own, "CONFIG RESETSTAT");
	daemon_start(&other, "--redis", url, "--pool-size", "4");
	struct client *c = client_open(other.port);
	wait_until(metric_of(&other, "redis_connects_total") == CONNECTIONS, SOON_MS);
	assert_int_equal(server_calls(&own, "acl|dryrun"), questions);
	server_command(&own, "CLIENT KILL TYPE normal");
	wait_until(metric_of(&other, "redis_connects_total") == 2 * CONNECTIONS, SOON_MS);
	assert_int_equal(server_calls(&own, "acl|dryrun"), 2 * questions);
	kill(other.proc.pid, SIGHUP);
	wait_until(metric_of(&other, "redis_connects_total") == 3 * CONNECTIONS, SOON_MS);
	assert_int_equal(server_calls(&own, "acl|dryrun"), 3 * questions);
	server_command(&own, "ACL SETUSER default -evalsha");
	assert_problem(http(c, "POST", "/locks/denied", NULL), 503, "redis_permission_denied", "none");
	wait_until(metric_of(&other, "redis_connects_total") == 4 * CONNECTIONS, SOON_MS);
	assert_int_equal(server_calls(&own, "acl|dryrun"), 4 * questions);
	assert_int_equal(metric_of(&other, "redis_connect_failures_total"), 0);
	client_close(c);
	daemon_stop(&other);
	server_stop(&own);
}

/* The daemon serves a user that may not query its permissions, and logs that. */
TEST(a_failed_query_is_logged)
{
	static const char *const denied[] = { "-acl|whoami", "-acl|dryrun" };
	struct daemon other = { 0 };
	char url[128];

	assert_false(proc_wrote(&patternd.proc, "redis_permissions_unknown"));
	snprintf(url, sizeof(url), "redis://team:secret@127.0.0.1:%d/0", redis.port);
	for (size_t i = 0; i < 2; i++) {
		acl(denied[i]);
		daemon_start(&other, "--redis", url, "--prefix", "team:");
		assert_true(proc_wrote(&other.proc, "redis_permissions_unknown"));
		assert_int_equal(metric_of(&other, "redis_permissions_missing"), 0);
		daemon_stop(&other);
	}
	acl("+acl|whoami +acl|dryrun");
	server_command(&redis, "ACL LOG RESET");
}

TEST(the_user_reaches_nothing_else)
{
	static const char *const denied[] = {
		"GET p:x",        "SET other 1",      "DEL teams",       "KEYS *",           "FLUSHALL",
		"CONFIG GET dir", "SPUBLISH other x", "PUBLISH other x", "ACL LIST",         "EVAL return+1 1 p:x",
		"CLIENT LIST",    "DEBUG SLEEP 0",    "SUBSCRIBE other", "PSUBSCRIBE team:*"
	};

	redisContext *c = redisConnect("127.0.0.1", redis.port);
	freeReplyObject(redisCommand(c, "AUTH team secret"));
	for (size_t i = 0; i < COUNT(denied); i++) {
		redisReply *r = redisCommand(c, denied[i]);
		assert_non_null(r);
		if (r->type != REDIS_REPLY_ERROR || strncmp(r->str, "NOPERM", 6) != 0)
			fail_msg("'%s' should be denied", denied[i]);
		freeReplyObject(r);
	}
	redisFree(c);
	server_command(&redis, "ACL LOG RESET");
}
