#include "queues/send/message_size.h"

#include "queues/queue_content.h"

size_t queue_message_size(struct request *req, const struct queue_message_send_messages_item *m, size_t most)
{
	size_t headers = 0;

	for (size_t i = 0; i < m->headers.count; i++)
		headers += m->headers.items[i].key.len + m->headers.items[i].value.len;
	if (headers + m->body.len <= most)
		return headers + m->body.len;
	return headers + queue_body_text(req, m->body).len;
}

void queue_message_answer_too_large(struct request *req, const char *pointer, struct text queue, size_t size,
				    size_t most)
{
	answer_field_problem(req, P_MESSAGE_TOO_LARGE, pointer,
			     "has %zu bytes with the headers; queue '%s' allows %zu (max_message_bytes)", size,
			     queue.at, most);
}
