/*
 * torture_scenarios: what the daemon does while calls fail. test_torture.c includes this file after
 * the helpers that it uses.
 */
#ifndef TEST_TORTURE_SCENARIOS_H
#define TEST_TORTURE_SCENARIOS_H

static void play_operation(const void *what)
{
	const struct contract_operation *op = what;
	char *target = contract_target(op, NULL, NULL);
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : strdup("");
	bool takes_key = false;

	for (size_t i = 0; i < op->parameter_count; i++)
		takes_key = takes_key || strcmp(op->parameters[i].name, "Idempotency-Key") == 0;
	exchange(op->method, target, text, takes_key ? "Idempotency-Key: torture\r\n" : "");
	free(text);
	json_decref(body);
	free(target);
}

static bool is_stream(const struct contract_operation *op)
{
	return strcmp(op->id, "lock_hold") == 0 || strstr(op->id, "_stream");
}

/*
 * Sends two requests on one connection, the second with a body in chunks that arrive in pieces.
 * Another client leaves in the middle of such a body.
 */
static void play_connection(const void *what)
{
	struct raw *r = come();

	(void)what;
	ask(r, "POST", "/locks/torture", "{\"ttl_ms\":30000}", "");
	await(r, "the first of two");
	send_text(
		r,
		"POST /counters/torture/increment HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer torture\r\n"
		"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n{\"counters\":{\"likes\r\n");
	send_text(r, "5\r\n\":1}}\r\n0\r\n\r\n");
	await(r, "the second of two");
	leave(r);
	r = come();
	send_text(r, "POST /counters/torture/increment HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{");
	leave(r);
}

/* A body whose tree fills more than the block that a request begins with. */
static void play_large_body(const void *what)
{
	enum { MEMBERS = 600, MEMBER_BYTES = 32 };
	static char body[MEMBERS * MEMBER_BYTES + 64];
	size_t len = (size_t)snprintf(body, sizeof(body), "{\"body\":{");

	(void)what;
	for (int i = 0; i < MEMBERS; i++)
		len += (size_t)snprintf(body + len, sizeof(body) - len, "\"m%d\":[\"\\u00e9\",%d.5,%d],", i, i, i);
	snprintf(body + len, sizeof(body) - len, "\"end\":[]}}");
	exchange("POST", "/queues/torture/messages", body, "");
}

/* A client waits for a message that another sends. Another waiter leaves. */
static void play_wait(const void *what)
{
	struct raw *waits = come(), *leaves = come();

	(void)what;
	ask(waits, "POST", "/queues/torture/receive", "{\"wait_ms\":60}", "");
	ask(leaves, "POST", "/queues/other/receive", "{\"wait_ms\":60}", "");
	exchange("POST", "/queues/torture/messages", "{\"body\":\"a\"}", "");
	await(waits, "the waiter");
	leave(waits);
	leave(leaves);
}

/* A client waits in the wait queue of a lock that another releases. */
static void play_line(const void *what)
{
	struct raw *waits = come();

	(void)what;
	exchange("POST", "/locks/torture", "{\"ttl_ms\":50}", "");
	ask(waits, "POST", "/locks/torture", "{\"wait_ms\":60}", "Idempotency-Key: torture\r\n");
	exchange("DELETE", "/locks/torture?force=true", "", "");
	await(waits, "the waiter of the lock");
	leave(waits);
}

/* Clients listen to streams until the first message, and leave. */
static void play_stream(const void *what)
{
	struct raw *listens = come(), *holds = come(), *listens_to_all = come();

	(void)what;
	ask(listens_to_all, "GET", "/topics/stream?name=tort*&name=other", "", "");
	ask(holds, "POST", "/locks/torture/hold", "{\"ttl_ms\":1000}", "");
	ask(listens, "GET", "/topics/torture/stream", "", "");
	if (await_head(listens, "the listener")) {
		free(raw_chunk(listens, ANSWER_MS));
		exchange("POST", "/topics/torture", "{\"body\":1}", "");
		free(raw_chunk(listens, 30)); /* the message may not have been sent, or not received */
	}
	await_head(listens_to_all, "the listener to a pattern");
	await_head(holds, "the holder");
	leave(holds);
	leave(listens);
	leave(listens_to_all);
}

/* Redis closes all connections while a client waits. */
static void play_reconnect(const void *what)
{
	struct raw *waits = come();

	(void)what;
	ask(waits, "POST", "/queues/torture/receive", "{\"wait_ms\":100}", "");
	server_command(&redis, "CLIENT KILL TYPE normal SKIPME yes");
	server_command(&redis, "CLIENT KILL TYPE pubsub");
	await(waits, "the waiter");
	leave(waits);
	daemon_is_ready(&patternd, 50); /* tortures the greeting, too */
}

/* Returns a number of INFO, summed over all servers. */
static long long counted(const char *section, const char *lead)
{
	long long count = 0;
	char command[32];

	snprintf(command, sizeof(command), "INFO %s", section);
	for (const char *at = server_command(&redis, command)->str; (at = strstr(at, lead));)
		count += atoll(at += strlen(lead));
	return count;
}

static long long connections_made(void)
{
	return counted("stats", "total_connections_received:");
}

/*
 * The daemon rereads its files, and keeps what it had of a file that it cannot read. Over TLS it
 * reconnects to Redis with the files that it could read.
 */
static void play_reload(const void *what)
{
	long long before = mode == TLS ? connections_made() : 0;
	int64_t until_ms = monotonic_ms() + FOLLOWS_MS;

	(void)what;
	proc_signal(&patternd.proc, SIGHUP);
	while (mode == TLS && connections_made() < before + 2 && monotonic_ms() < until_ms)
		nap_ms(1);
	exchange("GET", "/locks/torture", "", "");
}

static void ask_redirected(void *arg, int moved)
{
	(void)arg;
	if (moved == 0)
		exchange("POST", "/locks/torture", "{\"ttl_ms\":30000}", "");
}

/*
 * While a slot moves, its node redirects a single command (ASK). Afterwards it redirects all
 * (MOVED), and the daemon reads the map again.
 */
static void play_redirect(const void *what)
{
	struct redis_cluster *c = redis.cluster;
	int slot = cluster_slot("torture", strlen("torture"));
	int64_t until_ms = monotonic_ms() + FOLLOWS_MS;

	(void)what;
	/* Otherwise a late message about the previous move would undo this one. */
	wait_until(cluster_is_well(c), RECOVER_MS);
	cluster_migrate(c, slot, (cluster_owner(c, slot) + 1) % c->count, ask_redirected, NULL);
	/* The test itself has read the map before, which counts, too. */
	maps_due = server_calls(&redis, "cluster|slots") + 1;
	long long moved = counted("errorstats", "errorstat_MOVED:count=");
	exchange("GET", "/locks/torture", "", "");
	if (counted("errorstats", "errorstat_MOVED:count=") == moved)
		maps_due = 0; /* the request did not get that far, or the map was just being read */
	while (server_calls(&redis, "cluster|slots") < maps_due && monotonic_ms() < until_ms)
		nap_ms(1);
}

static const struct scenario {
	const char *name;
	void (*play)(const void *what);
	unsigned modes; /* the modes in which the scenario differs */
} scenarios[] = {
	{ "a connection", play_connection, PLAIN | TLS | CLUSTER | HTTPS },
	{ "a large body", play_large_body, PLAIN | TLS },
	{ "a wait", play_wait, PLAIN | CLUSTER | HTTPS },
	{ "a line", play_line, PLAIN },
	{ "streams", play_stream, PLAIN | TLS | CLUSTER | HTTPS },
	{ "reconnect", play_reconnect, PLAIN | TLS | CLUSTER },
	{ "reload", play_reload, PLAIN | TLS | HTTPS },
	{ "a redirect", play_redirect, CLUSTER },
};

static const char *const some_operations[] = { "lock_acquire",   "queue_message_send",
					       "ratelimit_take", "geo_nearby_list",
					       "lock_list",      "openapi_get",
					       "metrics_get",    NULL };

#endif
