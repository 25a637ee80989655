/* idempotency: see idempotency.h. */
#include "call/idempotency.h"

#include <string.h>

#include "process/config.h"
#include "request/request.h"
#include "request/seal.h"
#include "topology/topology.h"

enum { RECORD_DIGITS = 32 };

struct text idempotency_record_key(struct request *req, struct text key)
{
	const char *open = memchr(key.at, '{', key.len), *close = open ? strchr(open, '}') : NULL;
	struct text prefix = text_of(config()->prefix), digest = seal_digest(req, seal_scope(req));

	digest.len = digest.at ? RECORD_DIGITS : 0;
	if (topology_slot(key) == REDIS_ANYWHERE || !close)
		return arena_join(&req->arena, (struct text[]){ prefix, TEXT("idem:{"), digest, TEXT("}") }, 4);
	struct text tag = { open, (size_t)(close + 1 - open) };
	return arena_join(&req->arena, (struct text[]){ prefix, TEXT("idem:"), tag, TEXT(":"), digest }, 5);
}

/* A text in a header of the operation's own, such as Lock-Token; absent when it was not sent. */
static struct text header_text(const struct request *req, const struct field *field)
{
	if (field->place != IN_HEADER || field->kind != FIELD_TEXT)
		return (struct text){ 0 };
	return *(const struct text *)((const char *)req->input + field->offset);
}

/* The body, and the headers that the operation takes: they are inputs as members of the body are. */
static struct text digest_of(struct request *req)
{
	struct text digest = seal_digest(req, req->asked.body.at ? req->asked.body : TEXT(""));

	for (size_t i = 0; i < req->op->field_count; i++) {
		const struct field *field = &req->op->fields[i];
		struct text value = header_text(req, field), name = text_of(field->name);
		if (value.at)
			digest = seal_digest(req, arena_join(&req->arena, (struct text[]){ digest, name, value }, 3));
	}
	return digest;
}

struct text idempotency_fingerprint(struct request *req)
{
	char buffer[TEXT_DIGITS];
	struct text digest = digest_of(req);
	struct text kept_ms =
		text_of_int(req->asked.record_ms ? req->asked.record_ms : config()->idempotency_ttl_ms, buffer);

	return arena_join(&req->arena, (struct text[]){ digest, kept_ms }, 2);
}
