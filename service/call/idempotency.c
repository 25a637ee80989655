#include "call/idempotency.h"

#include <string.h>

#include "process/config.h"
#include "request/request.h"
#include "request/seal.h"
#include "topology/topology.h"

enum { RECORD_DIGITS = 32 };

struct text idempotency_record_key(struct request *req, struct text key, struct text part)
{
	const char *open = memchr(key.at, '{', key.len), *close = open ? strchr(open, '}') : NULL;
	struct text prefix = text_of(config()->prefix), digest = seal_digest(req, seal_scope(req));
	struct text colon = part.at ? TEXT(":") : TEXT("");

	digest.len = digest.at ? RECORD_DIGITS : 0;
	part = part.at ? part : TEXT("");
	if (topology_slot(key) == REDIS_ANYWHERE || !close)
		return arena_join(&req->arena,
				  (struct text[]){ prefix, TEXT("idem:{"), digest, TEXT("}"), colon, part }, 6);
	struct text tag = { open, (size_t)(close + 1 - open) };
	return arena_join(&req->arena, (struct text[]){ prefix, TEXT("idem:"), tag, TEXT(":"), digest, colon, part },
			  7);
}

struct text idempotency_fingerprint(struct request *req)
{
	char buffer[TEXT_DIGITS];
	struct text digest = seal_request(req);
	struct text kept_ms =
		text_of_int(req->asked.record_ms ? req->asked.record_ms : config()->idempotency_ttl_ms, buffer);

	return arena_join(&req->arena, (struct text[]){ digest, TEXT(" "), kept_ms }, 3);
}
