#include "queues/send/dedupe.h"

#include "common/key_kinds.h"
#include "queues/queue_content.h"
#include "request/seal.h"

bool queue_dedupe_has(const struct queue_message_send_messages_item *m)
{
	return m->dedupe_id.len || m->dedupe_by_body;
}

const struct text *queue_dedupe_ids(struct request *req, const struct queue_message_send_messages_item *messages,
				    size_t count)
{
	struct text *ids = arena_alloc(&req->arena, count * sizeof(*ids));

	for (size_t i = 0; ids && i < count; i++)
		ids[i] = messages[i].dedupe_by_body ? seal_digest(req, queue_body_text(req, messages[i].body))
						    : messages[i].dedupe_id;
	return ids;
}

/* Names have no tab, so two pairs of group and id never have the same key. */
void queue_dedupe_call_keys(struct request *req, struct call *c, struct text queue, struct text group, struct text id)
{
	struct text in_group[] = { group, TEXT("\t"), id };
	struct text of_id = arena_printf(&req->arena, "dedupe:%s", seal_digest(req, id).at);
	struct text of_group =
		arena_printf(&req->arena, "dedupe:%s", seal_digest(req, arena_join(&req->arena, in_group, 3)).at);

	call_key(c, KEY_QUEUE, queue, of_id.at ? of_id.at : "");
	call_key(c, KEY_QUEUE, queue, of_group.at ? of_group.at : "");
}

void queue_dedupe_answer_required(struct request *req, const char *pointer, struct text queue)
{
	answer_field_problem(req, P_DEDUPE_ID_REQUIRED, pointer,
			     "needs the setting dedupe_by_body, which is false in queue '%s'; send a dedupe_id, or set "
			     "dedupe_by_body to true with PATCH /queues/{name}",
			     queue.at);
}
