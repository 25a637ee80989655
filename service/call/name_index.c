#include "call/name_index.h"

#include <string.h>

#include "process/config.h"
#include "request/request.h"
#include "topology/slot.h"
#include "topology/topology.h"

struct text name_index_key(struct request *req, struct text key)
{
	size_t lead = strlen(config()->prefix);
	const char *kind = key.at + lead;
	int slot = topology_slot(key);

	return arena_printf(&req->arena, "%snames:{%s}:%.*s", config()->prefix,
			    slot == REDIS_ANYWHERE ? "" : slot_tag(slot), (int)strcspn(kind, ":"), kind);
}
