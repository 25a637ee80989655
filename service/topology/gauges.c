#include "topology/gauges.h"

#include "process/metrics.h"
#include "redis/renewal.h"
#include "topology/node.h"
#include "topology/quorum.h"
#include "topology/refusal.h"
#include "topology/topology.h"

static double connections_ready(void)
{
	return topology_connections();
}

static double calls_in_flight(void)
{
	return topology_in_flight();
}

static double permissions_missing(void)
{
	return renewal_permissions_missing();
}

static double config_risks(void)
{
	return renewal_config_risks();
}

static double is_up(void)
{
	return topology_is_up();
}

static double refusing(void)
{
	return refusal_count();
}

static double clock_off_s(const struct redis_node *n)
{
	int64_t ms = n->retired || !node_clock_is_recent(n) ? 0 : n->clock_offset_ms;

	return (double)(ms < 0 ? -ms : ms) / 1000;
}

static double clock_offset(void)
{
	double most = 0;

	for (const struct redis_node *n = node_first(); n; n = n->next)
		most = clock_off_s(n) > most ? clock_off_s(n) : most;
	for (unsigned i = 1; i <= quorum_count(); i++)
		most = clock_off_s(quorum_node(i)) > most ? clock_off_s(quorum_node(i)) : most;
	return most;
}

void gauges_open(void)
{
	metrics_gauge("redis_connections", "Connections to Redis that are usable.", connections_ready);
	metrics_gauge("redis_calls_in_flight", "Commands that Redis has not answered yet.", calls_in_flight);
	metrics_gauge("redis_permissions_missing", "Permissions that the Redis user lacks; GET /readyz names them.",
		      permissions_missing);
	metrics_gauge("redis_config_risks",
		      "Ways for Redis to lose data by its configuration, as of the latest checks.", config_risks);
	metrics_gauge("redis_up", "1 when Redis is usable; in a Cluster, when every slot has a usable node.", is_up);
	metrics_gauge("redis_refusing", "Servers of Redis that refuse calls; GET /info has their errors.", refusing);
	metrics_gauge("redis_clock_offset_seconds",
		      "Largest difference between the clock of a server of Redis and the daemon's, without a sign.",
		      clock_offset);
}
