#include "call/listing.h"

#include "call/call_problem.h"
#include "request/request.h"
#include "topology/topology.h"

bool listing_is_partial(void)
{
	return topology_is_cluster() && topology_connections() > 0;
}

bool listing_has_failed(struct listing *l, struct call *failed)
{
	l->failed = failed;
	if (!call_problem_is_overload(failed))
		return false;
	call_problem_answer(failed);
	return true;
}

void listing_keep(struct request *req, struct listing *l, struct found f)
{
	f.name = arena_copy(&req->arena, f.name.at, f.name.len);
	f.part = arena_copy(&req->arena, f.part.at, f.part.len);
	if (f.name.at && f.part.at)
		l->found[l->found_count++] = f;
}
