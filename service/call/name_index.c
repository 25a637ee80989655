/* name_index: see name_index.h. */
#include "call/name_index.h"

#include <string.h>

#include "process/config.h"
#include "request/request.h"
#include "topology/redis.h"
#include "topology/slot.h"

struct text name_index_key(struct request *req, struct text key)
{
	size_t lead = strlen(config()->prefix);
	const char *kind = key.at + lead;
	int slot = redis_slot(key);

	return arena_printf(&req->arena, "%snames:{%s}:%.*s", config()->prefix,
			    slot == REDIS_ANYWHERE ? "" : redis_slot_tag(slot), (int)strcspn(kind, ":"), kind);
}
