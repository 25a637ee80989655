/* redis_server: starts, looks into and ends private redis-servers; see redis_server.h. */
#include "redis_server.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "redis_as_one.h"
#include "test.h"

enum { START_MS = 8000, TRIES = 5, OPTIONS_MAX = 31 };

static void disconnect(struct redis_server *r)
{
	if (r->reply)
		freeReplyObject(r->reply);
	if (r->context)
		redisFree(r->context);
	r->reply = NULL;
	r->context = NULL;
}

/* A connection ends on CLIENT KILL, and when the server restarts. */
static bool is_connected(const struct redis_server *r)
{
	char byte;

	return r->context && !r->context->err && recv(r->context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN;
}

static bool connect_to(struct redis_server *r)
{
	struct timeval timeout = { .tv_sec = 10 };

	if (is_connected(r))
		return true;
	disconnect(r);
	r->context = r->over_unix ? redisConnectUnixWithTimeout(r->socket_path, timeout)
				  : redisConnectWithTimeout("127.0.0.1", r->port, timeout);
	if (!r->context || r->context->err)
		return false;
	redisSetTimeout(r->context, timeout);
	return true;
}

bool server_answers(struct redis_server *r)
{
	char wanted[48];
	redisReply *info = server_send(r, "INFO server\r\n", 13);

	snprintf(wanted, sizeof(wanted), "\r\nprocess_id:%ld\r\n", (long)r->proc.pid);
	bool is_up = info && info->str && (strstr(info->str, wanted) || strncmp(info->str, "NOAUTH", 6) == 0);
	if (info)
		freeReplyObject(info);
	return is_up;
}

static bool answers_or_died(void *arg)
{
	struct redis_server *r = arg;

	return server_answers(r) || proc_ended(&r->proc, 0);
}

/* False when another program took the port between the choice and the start. */
static bool launch(struct redis_server *r)
{
	char port[16];
	const char *argv[OPTIONS_MAX + 22] = {
		"redis-server", "--dir", r->dir,         "--port", port,          "--bind", "127.0.0.1",
		"--save",       "",      "--appendonly", "no",     "--daemonize", "no",     "--enable-debug-command",
		"yes"
	};
	const char *other = getenv("PATTERND_TEST_REDIS");
	size_t n = 15;

	if (other && *other)
		argv[0] = other;
	/* With a frozen clock, as of clock_read_from, the thread of jemalloc would never sleep. */
	argv[n++] = "--jemalloc-bg-thread";
	argv[n++] = "no";
	snprintf(port, sizeof(port), "%d", r->over_unix ? 0 : r->port);
	if (r->over_unix) {
		argv[n++] = "--unixsocket";
		argv[n++] = r->socket_path;
	}
	for (size_t i = 0; r->options[i]; i++)
		argv[n++] = r->options[i];
	argv[n] = NULL;
	proc_start(&r->proc, argv);
	if (!wait_for(answers_or_died, r, START_MS) || !r->proc.pid) {
		disconnect(r);
		proc_kill(&r->proc);
		return false;
	}
	return true;
}

void server_print_log(const struct redis_server *r)
{
	char *said = file_text(r->proc.out_path);

	print_error("... output of redis-server:\n%s\n", said ? said : "");
	free(said);
}

bool server_try_start(struct redis_server *r, const char *const options[])
{
	size_t n = 0;

	for (; n < OPTIONS_MAX && options[n]; n++)
		r->options[n] = options[n];
	r->options[n] = NULL;
	snprintf(r->dir, sizeof(r->dir), "%s", temp_dir());
	snprintf(r->socket_path, sizeof(r->socket_path), "%s/redis.sock", r->dir);
	if (r->over_unix)
		snprintf(r->url, sizeof(r->url), "unix://%s", r->socket_path);
	else
		snprintf(r->url, sizeof(r->url), "redis://127.0.0.1:%d/0", r->port);
	return launch(r);
}

static void start_alone(struct redis_server *r, const char *const options[])
{
	bool any_port = r->port == 0;

	for (int i = 0; i < (any_port ? TRIES : 1); i++) {
		if (any_port)
			r->port = free_port();
		if (server_try_start(r, options))
			return;
	}
	server_print_log(r);
	fail_msg("redis-server did not start");
}

static void start_cluster(struct redis_server *r, const char *const options[])
{
	r->cluster = calloc(1, sizeof(*r->cluster));
	assert_non_null(r->cluster);
	cluster_start_list(r->cluster, options);
	snprintf(r->url, sizeof(r->url), "%s", r->cluster->url);
	r->port = r->cluster->nodes[0].server.port;
}

void server_start_with(struct redis_server *r, ...)
{
	const char *options[OPTIONS_MAX + 1];
	size_t n = 0;
	va_list args;

	va_start(args, r);
	for (const char *option; n < OPTIONS_MAX && (option = va_arg(args, const char *)); n++)
		options[n] = option;
	va_end(args);
	options[n] = NULL;
	if (!r->alone && tests_run_on_a_cluster())
		start_cluster(r, options);
	else
		start_alone(r, options);
}

void server_restart(struct redis_server *r)
{
	for (int i = 0; r->cluster && i < r->cluster->count; i++)
		cluster_restart(r->cluster, i);
	if (r->cluster) {
		cluster_wait_well(r->cluster);
	} else if (!launch(r)) {
		server_print_log(r);
		fail_msg("redis-server did not start again");
	}
}

void server_kill(struct redis_server *r)
{
	disconnect(r);
	for (int i = 0; r->cluster && i < r->cluster->count; i++)
		cluster_kill(r->cluster, i);
	proc_kill(&r->proc);
}

void server_stop(struct redis_server *r)
{
	if (!r->cluster) {
		server_kill(r);
		return;
	}
	disconnect(r);
	cluster_stop(r->cluster);
	free(r->cluster);
	r->cluster = NULL;
}

void server_signal(struct redis_server *r, int number)
{
	for (int i = 0; r->cluster && i < r->cluster->count; i++)
		server_signal(&r->cluster->nodes[i].server, number);
	proc_signal(&r->proc, number);
}

redisReply *server_command(struct redis_server *r, const char *format, ...)
{
	char *bytes = NULL;
	va_list args;

	if (r->reply)
		freeReplyObject(r->reply);
	r->reply = NULL;
	va_start(args, format);
	int len = redisvFormatCommand(&bytes, format, args);
	va_end(args);
	if (len < 0)
		fail_msg("%s: no command", format);
	r->reply = r->cluster ? as_one_send(r->cluster, bytes, (size_t)len) : server_send(r, bytes, (size_t)len);
	redisFreeCommand(bytes);
	if (!r->reply)
		fail_msg("%s: %s", format,
			 r->context && r->context->err ? r->context->errstr : "no connection to redis-server");
	return r->reply;
}

redisReply *server_send(struct redis_server *r, const char *bytes, size_t len)
{
	void *reply = NULL;

	if (!connect_to(r))
		return NULL;
	redisAppendFormattedCommand(r->context, bytes, len);
	redisGetReply(r->context, &reply);
	return reply;
}

static long long calls_of(const char *stats, const char *command)
{
	char lead[64];
	long long calls = 0;

	snprintf(lead, sizeof(lead), "cmdstat_%s:calls=", command);
	for (const char *at = stats; (at = strstr(at, lead));)
		calls += atoll(at += strlen(lead));
	return calls;
}

void server_nearly_fill(struct redis_server *r)
{
	server_command(r, "SETRANGE foreign 40000000 x");
	const char *used = strstr(server_command(r, "INFO memory")->str, "used_memory:");
	server_command(r, "CONFIG SET maxmemory %lld", atoll(used + strlen("used_memory:")) / 19 * 20);
}

void server_make_room(struct redis_server *r)
{
	server_command(r, "CONFIG SET maxmemory 0");
	server_command(r, "DEL foreign");
}

long long server_calls(struct redis_server *r, const char *command)
{
	return calls_of(server_command(r, "INFO commandstats")->str, command);
}

long long server_scripts_run(struct redis_server *r)
{
	const char *stats = server_command(r, "INFO commandstats")->str;
	long long calls = calls_of(stats, "evalsha") + calls_of(stats, "eval") + calls_of(stats, "evalsha_ro") +
			  calls_of(stats, "eval_ro") + calls_of(stats, "fcall");
	const char *unknown = strstr(server_command(r, "INFO errorstats")->str, "errorstat_NOSCRIPT:count=");

	return calls - (unknown ? strtoll(unknown + strlen("errorstat_NOSCRIPT:count="), NULL, 10) : 0);
}

long long server_keys(struct redis_server *r)
{
	long long indexes = (long long)server_command(r, "KEYS *:names:{*")->elements;

	return server_command(r, "DBSIZE")->integer - indexes;
}

int64_t server_now_us(struct redis_server *r)
{
	const redisReply *t = server_command(r, "TIME");

	return strtoll(t->element[0]->str, NULL, 10) * 1000000 + strtoll(t->element[1]->str, NULL, 10);
}

int64_t server_now_ms(struct redis_server *r)
{
	return server_now_us(r) / 1000;
}

long long server_commands_run(struct redis_server *r)
{
	static const char *const looks[] = { "info:", "ping:", "pubsub|", "client|", "config|", "cluster|" };
	long long calls = 0;

	for (const char *at = server_command(r, "INFO commandstats")->str; (at = strstr(at, "cmdstat_"));) {
		bool counts = true;
		at += strlen("cmdstat_");
		for (size_t i = 0; i < COUNT(looks); i++)
			counts = counts && strncmp(at, looks[i], strlen(looks[i])) != 0;
		if (counts)
			calls += atoll(strstr(at, "calls=") + strlen("calls="));
	}
	return calls;
}

char *server_picture(struct redis_server *r)
{
	/* Sorts the keys, because Redis walks them in no fixed order. */
	static const char source[] = "local keys, out = redis.call('KEYS', '*'), {} table.sort(keys) "
				     "local function sorted(list, step) "
				     "  local rows = {} "
				     "  for i = 1, #list, step do "
				     "    rows[#rows + 1] = #list[i] .. list[i] .. (step == 2 and list[i + 1] or '') "
				     "  end "
				     "  table.sort(rows) return table.concat(rows, '\\n') "
				     "end "
				     "for _, k in ipairs(keys) do "
				     "  local t, d = redis.call('TYPE', k).ok "
				     "  if t == 'hash' then d = sorted(redis.call('HGETALL', k), 2) "
				     "  elseif t == 'set' then d = sorted(redis.call('SMEMBERS', k), 1) "
				     "  else d = redis.call('DUMP', k) end "
				     "  local at = string.format('%.0f', redis.call('PEXPIRETIME', k)) "
				     "  out[#out + 1] = k .. ' ' .. redis.sha1hex(d) .. ' ' .. at "
				     "end "
				     "return table.concat(out, '\\n')";
	const redisReply *reply = server_command(r, "EVAL %s 0", source);
	char *picture = strdup(reply->str ? reply->str : "");

	assert_non_null(picture);
	return picture;
}
