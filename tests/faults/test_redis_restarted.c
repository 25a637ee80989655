/*
 * A Redis that restarts while the daemon runs. The daemon reports it as a loss only if the server
 * held data and had none to load.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../support/daemon.h"
#include "../support/http.h"
#include "../support/leap.h"
#include "../support/redis_server.h"
#include "test.h"

enum { SOON_MS = 8000, HOUR_S = 3600 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static void begin(const char *url)
{
	patternd = (struct daemon){ 0 };
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", url);
	client = client_open(patternd.port);
}

static int close_all(void **state)
{
	(void)state;
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

/* The finding of GET /info that Redis lost its data; NULL without one. */
static const json_t *loss(void)
{
	return json_item(http(client, "GET", "/info", NULL), "/findings", "kind", "redis_emptied");
}

static int restarts(void)
{
	return daemon_log_count(&patternd, "\"redis_restarted\"");
}

static int losses(void)
{
	return daemon_log_count(&patternd, "restarted and had no data to load");
}

/* Returns once the daemon has logged it. */
static void restart(void)
{
	int before = restarts();

	server_kill(&redis);
	server_restart(&redis);
	wait_until(restarts() > before, SOON_MS);
}

static void put_queue(void)
{
	assert_status(http(client, "PUT", "/queues/q", "{\"order\":\"strict\"}"), 201);
}

static void start_alone(const char *appendonly)
{
	redis = (struct redis_server){ .alone = true };
	server_start(&redis, "--appendonly", appendonly);
	begin(redis.url);
}

SUITE(.after = close_all);

TEST(a_restart_without_data_is_a_finding_for_an_hour)
{
	start_alone("no");
	put_queue();
	restart();
	assert_int_equal(losses(), 1);
	const json_t *f = loss();
	assert_non_null(f);
	assert_non_null(strstr(redis.url, json_string_value(json_object_get(f, "name"))));
	json_int_t since_ms = json_integer_value(json_object_get(f, "since_at_ms"));
	struct answer a = http(client, "GET", "/overview", NULL);
	assert_int_equal(json_integer_value(
				 json_object_get(json_item(a, "/findings", "kind", "redis_emptied"), "since_at_ms")),
			 since_ms);
	/* The next restart loses nothing more, and what was lost stays lost. */
	restart();
	assert_int_equal(losses(), 1);
	assert_int_equal(json_integer_value(json_object_get(loss(), "since_at_ms")), since_ms);
	if (!daemon_is_sanitized()) {
		leap(&patternd, HOUR_S);
		wait_until(!loss(), SOON_MS);
	}
}

/* Other daemons fill Redis; this one learns it when it checks the server. */
TEST(a_loss_of_what_others_wrote_is_found)
{
	start_alone("no");
	if (daemon_is_sanitized())
		skip(); /* it would wait for a minute */
	server_command(&redis, "SET p:counter:{a} 1");
	leap(&patternd, 62);
	http(client, "GET", "/queues", NULL);
	restart();
	assert_int_equal(losses(), 1);
	assert_non_null(loss());
}

TEST(a_restart_with_its_file_is_not)
{
	start_alone("yes");
	put_queue();
	restart();
	assert_int_equal(losses(), 0);
	assert_null(loss());
	assert_status(http(client, "GET", "/queues/q", NULL), 200);
}

TEST(a_restart_without_its_file_is)
{
	char command[160];

	start_alone("yes");
	put_queue();
	server_kill(&redis);
	snprintf(command, sizeof(command), "rm -r %s/appendonlydir", redis.dir);
	assert_int_equal(system(command), 0);
	server_restart(&redis);
	wait_until(losses() == 1, SOON_MS);
	assert_non_null(loss());
}

TEST(a_snapshot_that_is_loaded_ends_the_finding)
{
	start_alone("no");
	put_queue();
	restart();
	assert_non_null(loss());
	put_queue();
	server_command(&redis, "SAVE");
	restart();
	assert_int_equal(losses(), 1);
	assert_null(loss());
}

TEST(an_empty_server_loses_nothing)
{
	start_alone("no");
	assert_status(http(client, "GET", "/queues", NULL), 200);
	restart();
	assert_int_equal(losses(), 0);
	assert_null(loss());
}

/*
 * A name that leads to another server after a failover. The replica got its data by replication,
 * so it loaded none when it started.
 */
TEST(a_promoted_replica_at_the_same_address_is_not_a_restart)
{
	struct redis_server replica = { .alone = true, .over_unix = true };
	char link[128], url[160], port[16];

	redis = (struct redis_server){ .alone = true, .over_unix = true };
	server_start(&redis);
	snprintf(link, sizeof(link), "%s/redis", temp_dir());
	snprintf(url, sizeof(url), "unix://%s", link);
	assert_int_equal(symlink(redis.socket_path, link), 0);
	snprintf(port, sizeof(port), "%d", free_port());
	server_command(&redis, "CONFIG SET port %s", port);
	server_start(&replica, "--replicaof", "127.0.0.1", port);
	wait_until(strstr(server_command(&replica, "INFO replication")->str, "master_link_status:up"), SOON_MS);
	begin(url);
	put_queue();
	wait_until(server_keys(&replica) > 0, SOON_MS);
	nap_ms(2500); /* Redis reports its uptime in whole seconds */
	server_command(&replica, "REPLICAOF NO ONE");
	server_kill(&redis);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink(replica.socket_path, link), 0);
	wait_until(http(client, "GET", "/queues/q", NULL).status == 200, SOON_MS);
	assert_int_equal(restarts(), 0);
	assert_null(loss());
	server_stop(&replica);
}
