/* receive_input: makes an order (receive.h) from the input of either operation that receives. */
#include "queues/queue_call.h"
#include "queues/queue_content.h"
#include "queues/receive/receive.h"

/*
 * Copies the lists of `settle`, which both operations have. NULL: memory ran out, and the request
 * was answered.
 */
#define SETTLE_NEW(req, given, order)                                                \
	queue_settle_new(req,                                                        \
			 (struct queue_settle){ .queues = (order)->queues,           \
						.queue_count = (order)->queue_count, \
						.names_queue = (order)->names_queue, \
						.is_part = true,                     \
						.late = (given)->late,               \
						.pointer = "/settle" },              \
			 (given)->acknowledge.count + (given)->complete.count + (given)->reject.count)

static struct queue_settle *settle_of_one(struct request *req, const struct queue_message_receive_settle *given,
					  const struct receive_order *order)
{
	struct queue_settle *s = SETTLE_NEW(req, given, order);

	for (size_t i = 0; s && i < given->acknowledge.count; i++)
		queue_settle_add(s, (struct queue_settling){ .receipt = given->acknowledge.items[i] });
	for (size_t i = 0; s && i < given->complete.count; i++)
		queue_settle_add(s, (struct queue_settling){ QUEUE_SETTLE_COMPLETED(&given->complete.items[i]) });
	for (size_t i = 0; s && i < given->reject.count; i++)
		queue_settle_add(s, (struct queue_settling){ QUEUE_SETTLE_REJECTED(&given->reject.items[i]) });
	return s;
}

void queue_message_receive(struct request *req, const struct queue_message_receive_input *in)
{
	struct receive_order order = {
		.queues = &in->name,
		.queue_count = 1,
		.limit = (int32_t)in->limit,
		.wait_ms = in->has_wait_ms ? (int32_t)in->wait_ms : -1,
		.has_visibility_ms = in->has_visibility_ms,
		.visibility_ms = (int32_t)in->visibility_ms,
		.acknowledge = in->acknowledge,
		.must_exist = in->must_exist,
		.worker = queue_encoded(req, in->worker),
	};

	if (in->has_settle)
		order.settle = settle_of_one(req, &in->settle, &order);
	if (!in->has_settle || order.settle)
		receive_begin(req, &order);
}

static struct queue_settle *settle_of_several(struct request *req, const struct queue_list_receive_settle *given,
					      const struct receive_order *order)
{
	struct queue_settle *s = SETTLE_NEW(req, given, order);

	for (size_t i = 0; s && i < given->acknowledge.count; i++)
		queue_settle_add(s, (struct queue_settling){ .queue = given->acknowledge.items[i].queue,
							     .receipt = given->acknowledge.items[i].receipt });
	for (size_t i = 0; s && i < given->complete.count; i++)
		queue_settle_add(s, (struct queue_settling){ .queue = given->complete.items[i].queue,
							     QUEUE_SETTLE_COMPLETED(&given->complete.items[i]) });
	for (size_t i = 0; s && i < given->reject.count; i++)
		queue_settle_add(s, (struct queue_settling){ .queue = given->reject.items[i].queue,
							     QUEUE_SETTLE_REJECTED(&given->reject.items[i]) });
	return s;
}

void queue_list_receive(struct request *req, const struct queue_list_receive_input *in)
{
	struct receive_order order = {
		.queues = in->queues.items,
		.queue_count = (uint16_t)in->queues.count,
		.names_queue = true,
		.limit = (int32_t)in->limit,
		.wait_ms = in->has_wait_ms ? (int32_t)in->wait_ms : -1,
		.has_visibility_ms = in->has_visibility_ms,
		.visibility_ms = (int32_t)in->visibility_ms,
		.acknowledge = in->acknowledge,
		.must_exist = in->must_exist,
		.worker = queue_encoded(req, in->worker),
	};

	if (in->has_settle)
		order.settle = settle_of_several(req, &in->settle, &order);
	if (!in->has_settle || order.settle)
		receive_begin(req, &order);
}
