/*
 * redis_sentinel: starts and harms servers that sentinels watch; see redis_sentinel.h.
 *
 * Sentinels find one another and the replicas through the master, every two to ten seconds. Here
 * the file of each sentinel names all others from the start, as the sentinel itself would write it.
 */
#include "redis_sentinel.h"

#include "test.h"

enum { TRIES = 5, START_MS = 8000, WELL_MS = 30000, FAILOVER_MS = 30000, SYNC_MS = 8000, OPTIONS_MAX = 24 };

/* How long a failover may take before it is given up. The next may begin after twice that time. */
enum { FAILOVER_TIMEOUT_MS = 5000, QUORUM = 2, PATIENCE_MS = 10000 };

#define WATCHER_ID \
	"%039d"    \
	"e"

/* ---- what a server reports of itself ---- */

/* A server closes all connections when sentinels change its role. */
static bool is_master(struct redis_server *server)
{
	redisReply *role = server_send(server, "ROLE\r\n", 6);
	bool is = role && role->type == REDIS_REPLY_ARRAY && strcmp(role->element[0]->str, "master") == 0;

	if (role)
		freeReplyObject(role);
	return is;
}

static bool is_in_sync(struct redis_server *replica)
{
	redisReply *info = server_send(replica, "INFO replication\r\n", 18);
	bool is = info && info->str && strstr(info->str, "master_link_status:up");

	if (info)
		freeReplyObject(info);
	return is;
}

/* ---- start ---- */

static void write_config(const struct redis_sentinel *s, int self, const char *path)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fprintf(f, "port %d\nbind 127.0.0.1\ndir %s\nsentinel myid " WATCHER_ID "\n", s->watchers[self].port,
		s->watchers[self].dir, self);
	fprintf(f, "sentinel monitor mymaster 127.0.0.1 %d %d\n", s->servers[0].port, QUORUM);
	fprintf(f, "sentinel down-after-milliseconds mymaster %d\n", PATIENCE_MS);
	fprintf(f, "sentinel failover-timeout mymaster %d\n", FAILOVER_TIMEOUT_MS);
	for (int i = 1; i < SENTINEL_SERVERS; i++)
		fprintf(f, "sentinel known-replica mymaster 127.0.0.1 %d\n", s->servers[i].port);
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (i != self)
			fprintf(f, "sentinel known-sentinel mymaster 127.0.0.1 %d " WATCHER_ID "\n",
				s->watchers[i].port, i);
	fclose(f);
}

static bool answers_or_died(void *arg)
{
	struct redis_server *watcher = arg;

	return server_answers(watcher) || proc_ended(&watcher->proc, 0);
}

/*
 * Sentinel's usual periods are too long for tests: it looks at each server every ten seconds,
 * informs the others every two, and tolerates a wrong master for four times that long. Shorter ones
 * than these fail, since the leader of a failover looks at the new master once a second, and until
 * then the others must not make it a replica again. A stall of the machine must not put them into
 * TILT mode for half a minute.
 */
static void hurry(struct redis_server *watcher)
{
	const redisReply *reply =
		server_command(watcher,
			       "SENTINEL DEBUG info-period 500 publish-period 800 ask-period 100 tilt-trigger 10000");

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("SENTINEL DEBUG: %s", reply->str);
}

static bool launch_watcher(struct redis_server *watcher)
{
	char path[160];
	const char *other = getenv("PATTERND_TEST_REDIS");
	const char *const argv[] = { other && *other ? other : "redis-server", path, "--sentinel", NULL };

	snprintf(path, sizeof(path), "%s/sentinel.conf", watcher->dir);
	proc_start(&watcher->proc, argv);
	if (wait_for(answers_or_died, watcher, START_MS) && watcher->proc.pid) {
		hurry(watcher);
		return true;
	}
	server_print_log(watcher);
	server_kill(watcher);
	return false;
}

static bool start_watcher(struct redis_sentinel *s, int i)
{
	struct redis_server *watcher = &s->watchers[i];
	char path[160];

	snprintf(watcher->dir, sizeof(watcher->dir), "%s", temp_dir());
	snprintf(path, sizeof(path), "%s/sentinel.conf", watcher->dir);
	write_config(s, i, path);
	return launch_watcher(watcher);
}

static bool start_replica(struct redis_sentinel *s, int i, const char *const more[])
{
	struct redis_server *replica = &s->servers[i];
	const char *options[OPTIONS_MAX + 8] = { "--replicaof", "127.0.0.1", s->settings[0],
						 "--repl-diskless-sync-delay", "0" };
	size_t n = 5;

	for (size_t k = 0; k < OPTIONS_MAX && more[k]; k++)
		options[n++] = more[k];
	options[n] = NULL;
	/* Server 0 is not a replica, but it serves some, so it needs the sync delay. */
	return server_try_start(replica, i ? options : options + 3);
}

static void kill_all(struct redis_sentinel *s)
{
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		server_kill(&s->watchers[i]);
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		server_kill(&s->servers[i]);
}

/* False when another program took one of the ports first. */
static bool start_all(struct redis_sentinel *s, const char *const options[])
{
	bool started = true;
	int len = snprintf(s->url, sizeof(s->url), "redis+sentinel://");

	for (int i = 0; i < SENTINEL_SERVERS; i++) {
		s->servers[i].alone = true;
		s->servers[i].port = free_port();
	}
	snprintf(s->settings[0], sizeof(s->settings[0]), "%d", s->servers[0].port);
	for (int i = 0; i < SENTINEL_WATCHERS; i++) {
		s->watchers[i].alone = true;
		s->watchers[i].port = free_port();
		len += snprintf(s->url + len, sizeof(s->url) - (size_t)len, "%s127.0.0.1:%d", i ? "," : "",
				s->watchers[i].port);
	}
	snprintf(s->url + len, sizeof(s->url) - (size_t)len, "/mymaster");
	for (int i = 0; i < SENTINEL_SERVERS && started; i++)
		started = start_replica(s, i, options);
	for (int i = 1; i < SENTINEL_SERVERS && started; i++)
		wait_until(is_in_sync(&s->servers[i]),
			   START_MS); /* a sentinel that saw otherwise looks again after a second */
	for (int i = 0; i < SENTINEL_WATCHERS && started; i++)
		started = start_watcher(s, i);
	if (!started)
		kill_all(s);
	return started;
}

void sentinel_start_with(struct redis_sentinel *s, ...)
{
	const char *options[OPTIONS_MAX + 1];
	bool started = false;
	size_t n = 0;
	va_list args;

	va_start(args, s);
	for (const char *option; n < OPTIONS_MAX && (option = va_arg(args, const char *)); n++)
		options[n] = option;
	va_end(args);
	options[n] = NULL;
	for (int i = 0; i < TRIES && !started; i++)
		started = start_all(s, options);
	if (!started)
		fail_msg("no servers under sentinels");
	sentinel_wait_well(s);
}

void sentinel_stop(struct redis_sentinel *s)
{
	kill_all(s);
}

/* ---- which server is the master ---- */

/* A member of a reply of SENTINEL, in which names and values alternate. */
static const char *member(const redisReply *map, const char *name)
{
	for (size_t i = 0; i + 1 < map->elements; i += 2)
		if (strcmp(map->element[i]->str, name) == 0)
			return map->element[i + 1]->str;
	return "";
}

bool sentinel_names(struct redis_sentinel *s, int watcher, int server)
{
	const redisReply *address = server_command(&s->watchers[watcher], "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");

	return address->elements == 2 && atoi(address->element[1]->str) == s->servers[server].port;
}

/* True when each running sentinel names this server as the master, or when none runs. */
static bool is_named(struct redis_sentinel *s, int server)
{
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (s->watchers[i].proc.pid && !sentinel_names(s, i, server))
			return false;
	return true;
}

int sentinel_master(struct redis_sentinel *s)
{
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		if (s->servers[i].proc.pid && is_master(&s->servers[i]) && is_named(s, i))
			return i;
	return -1;
}

int sentinel_promoted(struct redis_sentinel *s, int old)
{
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		if (i != old && s->servers[i].proc.pid && is_master(&s->servers[i]))
			return i;
	return -1;
}

/*
 * The last one waits twice as long: when all three start an election at once, each has one vote,
 * and the next election is ten seconds later.
 */
static void set_down_after(struct redis_sentinel *s, int ms)
{
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (s->watchers[i].proc.pid)
			server_command(&s->watchers[i], "SENTINEL SET mymaster down-after-milliseconds %d",
				       i == SENTINEL_WATCHERS - 1 ? 2 * ms : ms);
}

void sentinel_be_quick(struct redis_sentinel *s)
{
	set_down_after(s, SENTINEL_QUICK_MS);
}

void sentinel_be_patient(struct redis_sentinel *s)
{
	set_down_after(s, PATIENCE_MS);
}

int sentinel_kill_master(struct redis_sentinel *s)
{
	int master = sentinel_master(s);

	assert_in_range(master, 0, SENTINEL_SERVERS - 1);
	sentinel_be_quick(s);
	server_kill(&s->servers[master]);
	return master;
}

int sentinel_wait_master(struct redis_sentinel *s, int old)
{
	int master;

	wait_until((master = sentinel_master(s)) >= 0 && master != old, FAILOVER_MS);
	sentinel_be_patient(s);
	return master;
}

void sentinel_restart(struct redis_sentinel *s, int server)
{
	server_restart(&s->servers[server]);
}

/* ---- is all well ---- */

/*
 * True when this sentinel sees each running server in its right state and could lead a failover.
 */
static bool sees_all(struct redis_sentinel *s, struct redis_server *watcher, int master)
{
	const redisReply *reply = server_command(watcher, "SENTINEL MASTER mymaster");
	size_t in_sync = 0;

	if (strcmp(member(reply, "flags"), "master") != 0)
		return false;
	reply = server_command(watcher, "SENTINEL REPLICAS mymaster");
	for (size_t i = 0; i < reply->elements; i++) {
		const redisReply *replica = reply->element[i];
		in_sync += strcmp(member(replica, "flags"), "slave") == 0 &&
			   strcmp(member(replica, "master-link-status"), "ok") == 0 &&
			   atoi(member(replica, "master-port")) == s->servers[master].port;
	}
	if (in_sync != SENTINEL_SERVERS - 1)
		return false;
	reply = server_command(watcher, "SENTINEL CKQUORUM mymaster");
	return reply->type == REDIS_REPLY_STATUS && strncmp(reply->str, "OK 3 usable", 11) == 0;
}

bool sentinel_is_well(struct redis_sentinel *s)
{
	int master;

	for (int i = 0; i < SENTINEL_SERVERS; i++)
		if (!s->servers[i].proc.pid)
			return false;
	if ((master = sentinel_master(s)) < 0)
		return false;
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		if (i != master && !is_in_sync(&s->servers[i]))
			return false;
	for (int i = 0; i < SENTINEL_WATCHERS; i++)
		if (!s->watchers[i].proc.pid || !sees_all(s, &s->watchers[i], master))
			return false;
	return true;
}

/*
 * Waits until the replicas acknowledge a write. The state `online` does not show as much: the
 * master sends nothing before the replica has announced that it is online.
 */
static void wait_for_replicas(struct redis_server *master)
{
	server_command(master, "SET sync x");
	server_command(master, "DEL sync");
	assert_int_equal(server_command(master, "WAIT %d %d", SENTINEL_SERVERS - 1, SYNC_MS)->integer,
			 SENTINEL_SERVERS - 1);
}

void sentinel_wait_well(struct redis_sentinel *s)
{
	wait_until(sentinel_is_well(s), WELL_MS);
	wait_for_replicas(&s->servers[sentinel_master(s)]);
}

void sentinel_watcher_kill(struct redis_sentinel *s, int watcher)
{
	server_kill(&s->watchers[watcher]);
}

void sentinel_watcher_restart(struct redis_sentinel *s, int watcher)
{
	if (!launch_watcher(&s->watchers[watcher]))
		fail_msg("the sentinel did not start again");
}
