#include "topology/subscribers.h"

#include "topology/cluster.h"
#include "topology/topology.h"

static struct subscriber *subscriber_of(const struct redis_node *n)
{
	return n && n->subscriber && subscriber_is_up(n->subscriber) ? n->subscriber : NULL;
}

struct subscriber *subscribers_at(struct text channel)
{
	return subscriber_of(topology_node(topology_slot(channel)));
}

struct visit {
	void (*visit)(void *context, struct subscriber *s, bool is_away);
	void *context;
};

static void visit_node(void *context, struct redis_node *n)
{
	const struct visit *v = context;

	v->visit(v->context, subscriber_of(n), node_is_away(n));
}

void subscribers_visit(void (*visit)(void *context, struct subscriber *s, bool is_away), void *context)
{
	struct visit v = { visit, context };

	if (topology_is_cluster())
		cluster_visit_owners(visit_node, &v);
	else
		visit_node(&v, topology_node(REDIS_ANYWHERE));
}

unsigned subscribers_map_version(void)
{
	return topology_is_cluster() ? cluster_version() : 0;
}
