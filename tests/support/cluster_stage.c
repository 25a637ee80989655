#include "cluster_stage.h"

#include "redis_cluster_slots.h"
#include "test.h"

enum { SERVED_MS = 8000, WRITABLE_MS = 30000 };

struct redis_cluster cluster;
const char *stage_names[STAGE_NAMES];
int stage_timeout_ms = STAGE_TIMEOUT_MS;

int slot_of(const char *name)
{
	return cluster_slot(name, strlen(name));
}

static void choose_names(void)
{
	static char texts[STAGE_NAMES][16];
	int number = 0;

	for (int i = 0; i < STAGE_NAMES; i++) {
		do
			snprintf(texts[i], sizeof(texts[i]), "n%d", number++);
		while (slot_of(texts[i]) * CLUSTER_MASTERS / CLUSTER_SLOTS != i % CLUSTER_MASTERS);
		stage_names[i] = texts[i];
	}
}

static int open_stage(struct redis_cluster kind)
{
	char timeout[16];

	cluster = kind;
	cluster_start(&cluster);
	redis = (struct redis_server){ .cluster = &cluster };
	snprintf(timeout, sizeof(timeout), "%d", stage_timeout_ms);
	daemon_start(&patternd, "--redis", cluster.url, "--redis-timeout-ms", timeout);
	client = client_open(patternd.port);
	choose_names();
	return 0;
}

int cluster_of_masters(void **state)
{
	return open_stage((struct redis_cluster){ 0 });
}

int cluster_with_replicas(void **state)
{
	return open_stage((struct redis_cluster){ .with_replicas = true });
}

int cluster_behind_proxies(void **state)
{
	return open_stage((struct redis_cluster){ .behind_proxies = true });
}

int cluster_stage_close(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	if (redis.reply)
		freeReplyObject(redis.reply);
	redis.reply = NULL;
	cluster_stop(&cluster);
	return 0;
}

struct load *cluster_under_load(void)
{
	struct load *l = load_start((struct load_plan){
		.port = patternd.port, .names = stage_names, .count = STAGE_NAMES, .timeout_ms = STAGE_TIMEOUT_MS });

	load_wait_served(l, SERVED_MS);
	return l;
}

struct answer send_to(const char *queue)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/messages", queue);
	return http(client, "POST", target, "{\"body\":1}");
}

struct answer get_lock(const char *lock)
{
	char target[64];

	snprintf(target, sizeof(target), "/locks/%s", lock);
	return http(client, "GET", target, NULL);
}

int64_t cluster_writable_us(const char *name)
{
	wait_until(cluster_command(&cluster, name, "SETEX control-{%s} 1 x", name)->type == REDIS_REPLY_STATUS,
		   WRITABLE_MS);
	return monotonic_us();
}

void assert_failed_in_time(struct answer a)
{
	assert_problem(a, a.status == 504 ? 504 : 503, NULL, a.status == 504 ? "unknown" : "none");
	assert_in_range(a.took_us, 0, (STAGE_TIMEOUT_MS + STAGE_MARGIN_MS) * (daemon_is_sanitized() ? 3000 : 1000));
}
