#include "quorum.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "test.h"
#include "waiter.h"

enum { SOON_MS = 10000 };

struct quorum quorum;

int quorum_open(void **state)
{
	char timeout[16], redis_timeout[16];

	snprintf(timeout, sizeof(timeout), "%d", QUORUM_TIMEOUT_MS);
	snprintf(redis_timeout, sizeof(redis_timeout), "%d", QUORUM_REDIS_TIMEOUT_MS);
	server_start(&quorum.main);
	for (int i = 0; i < QUORUM_SERVERS; i++) {
		size_t len = strlen(quorum.urls);
		server_start(&quorum.servers[i]);
		snprintf(quorum.urls + len, sizeof(quorum.urls) - len, "%s%s", i ? "," : "", quorum.servers[i].url);
	}
	for (int i = 0; i < 2; i++) {
		daemon_start(&quorum.d[i], "--redis", quorum.main.url, "--lock-quorum", quorum.urls,
			     "--lock-quorum-timeout-ms", timeout, "--redis-timeout-ms", redis_timeout);
		quorum.c[i] = client_open(quorum.d[i].port);
	}
	quorum_wait_up(QUORUM_SERVERS);
	return 0;
}

int quorum_close(void **state)
{
	for (int i = 0; i < 2; i++) {
		client_close(quorum.c[i]);
		daemon_stop(&quorum.d[i]);
	}
	for (int i = 0; i < QUORUM_SERVERS; i++)
		server_stop(&quorum.servers[i]);
	server_stop(&quorum.main);
	return 0;
}

void quorum_wait_up(int servers)
{
	for (int i = 0; i < 2; i++)
		wait_until(metric_of(&quorum.d[i], "lock_quorum_members_up") == servers, SOON_MS);
}

void quorum_restart(int i, const char *const env[])
{
	quorum.servers[i].proc.env = env;
	server_restart(&quorum.servers[i]);
	quorum.servers[i].proc.env = NULL;
}

int quorum_forget(void **state)
{
	for (int i = 0; i < QUORUM_SERVERS; i++) {
		struct redis_server *s = &quorum.servers[i];
		proc_signal(&s->proc, SIGCONT);
		if (!s->proc.pid)
			server_restart(s);
	}
	quorum_wait_up(QUORUM_SERVERS);
	for (int i = 0; i < QUORUM_SERVERS; i++)
		server_command(&quorum.servers[i], "FLUSHALL");
	server_command(&quorum.main, "FLUSHALL");
	return 0;
}

int quorum_copies(const char *name)
{
	int copies = 0;

	for (int i = 0; i < QUORUM_SERVERS; i++)
		if (quorum.servers[i].proc.pid)
			copies += (int)server_command(&quorum.servers[i], "EXISTS p:lock:{%s}", name)->integer;
	return copies;
}

int64_t quorum_findings(void)
{
	struct answer a = http(quorum.c[0], "GET", "/overview", NULL);
	const json_t *emptied = json_item(a, "/kinds", "kind", "redis_emptied");

	return int_at(a, "/finding_count") -
	       (emptied ? json_integer_value(json_object_get(emptied, "finding_count")) : 0);
}

struct answer quorum_release(struct client *c, const char *target, const char *token)
{
	char header[128];

	snprintf(header, sizeof(header), "Lock-Token: %s", token);
	return http(c, "DELETE", target, NULL, header);
}

/* ---- A race ---- */

enum { RACERS = 6, PAUSE_MS = 20 };

static struct race {
	const char *body;
	int wanted;
	atomic_int inside, granted, refused, overlaps, falls;
	atomic_llong last_fence;
} race;

static void *run_race(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;
	struct client *c = client_open(quorum.d[seed % 2].port);

	while (race.granted < race.wanted) {
		struct answer a = http(c, "POST", "/locks/race", race.body);
		if (a.status != 201) {
			race.refused++;
			nap_ms(rand_r(&seed) % PAUSE_MS);
			client_forget(c);
			continue;
		}
		race.overlaps += atomic_fetch_add(&race.inside, 1) != 0;
		int64_t fence = json_integer_value(json_at(a, "/fence"));
		race.falls += atomic_exchange(&race.last_fence, fence) >= fence;
		nap_ms(1);
		race.inside--;
		race.granted++;
		quorum_release(c, "/locks/race", json_string_value(json_at(a, "/token")));
		client_forget(c);
	}
	client_close(c);
	return NULL;
}

int quorum_race(const char *body, int grants)
{
	pthread_t racers[RACERS];

	race.body = body;
	race.wanted = grants;
	for (size_t i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&racers[i], NULL, run_race, (void *)i), 0);
	for (size_t i = 0; i < RACERS; i++)
		pthread_join(racers[i], NULL);
	assert_int_equal(race.overlaps, 0);
	assert_int_equal(race.falls, 0);
	wait_until(quorum_copies("race") == 0, SOON_MS);
	return race.refused;
}
