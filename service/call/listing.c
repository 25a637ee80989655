/* listing: see listing.h. */
#include "call/listing.h"

#include "request/request.h"

void listing_keep(struct request *req, struct listing *l, struct found f)
{
	f.name = arena_copy(&req->arena, f.name.at, f.name.len);
	f.part = arena_copy(&req->arena, f.part.at, f.part.len);
	if (f.name.at && f.part.at)
		l->found[l->found_count++] = f;
}
