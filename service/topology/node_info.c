#include "topology/node_info.h"

#include "topology/cluster.h"
#include "topology/quorum.h"
#include "topology/refusal.h"
#include "topology/topology.h"

static struct node_info info_of(const struct redis_node *n)
{
	return (struct node_info){
		.address = n->url.address,
		.server = n->server,
		.connections = n->ready,
		.trouble = n->ready      ? NULL
			   : *n->trouble ? n->trouble
					 : "not connected yet",
		.away_since_ms = n->away_since_ms,
		.refusal = refusal_text(n),
		.refuses_since_ms = n->refusal.since_ms,
		.refusal_error = n->refusal.error,
		.emptied_at_ms = restart_emptied_at_ms(&n->restart),
		.memory = n->check.memory,
		.has_clock = n->clock_read_us > 0,
		.clock_is_recent = node_clock_is_recent(n),
		.clock_offset_ms = n->clock_offset_ms,
	};
}

bool node_info_at(size_t i, struct node_info *out)
{
	for (const struct redis_node *n = node_first(); n; n = n->next) {
		if (n->retired || i-- > 0)
			continue;
		*out = info_of(n);
		out->slots = topology_is_cluster() ? cluster_slots_of(n) : 0;
		return true;
	}
	return false;
}

bool node_info_of_quorum(size_t i, struct node_info *out)
{
	if (i >= quorum_count())
		return false;
	*out = info_of(quorum_node((unsigned)i + 1));
	return true;
}
