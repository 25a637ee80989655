#include "contract/self_call.h"

#include <assert.h>
#include <string.h>

#include "contract/input.h"
#include "core/container.h"
#include "request/request.h"

enum { FAR_US = 1000000000 };

const struct operation *self_call_operation(const char *id)
{
	size_t i = 0;

	while (i < operation_count && strcmp(operations[i].id, id) != 0)
		i++;
	assert(i < operation_count);
	return &operations[i];
}

static bool set_timer(struct self_call *i)
{
	return loop_timer_set(&i->soon, i->until_us ? i->until_us : loop_now_us() + FAR_US);
}

static void on_soon(struct loop_timer *t)
{
	struct self_call *i = container_of(t, struct self_call, soon);

	if (i->req->state == ANSWERED || (i->until_us && i->until_us <= loop_now_us()))
		i->answered(i);
	else
		set_timer(i);
}

static void on_answered(struct request *req)
{
	struct self_call *i = req->exchange;

	loop_timer_set(&i->soon, loop_now_us());
}

static bool is_disconnected(struct request *req)
{
	(void)req;
	return false;
}

static void ignore(struct request *req)
{
	(void)req;
}

static struct text copy(struct request *req, struct text given)
{
	return arena_copy(&req->arena, given.at ? given.at : "", given.len);
}

bool self_call_take_input(struct request *req, const struct self_call_input *input)
{
	req->asked.path_values[0] = copy(req, input->name);
	req->asked.body = copy(req, input->body);
	req->asked.query_count = 0;
	req->asked.conditions = input->conditions;
	req->asked.query = arena_alloc(&req->arena, (input->query_count + 1) * sizeof(*req->asked.query));
	for (size_t i = 0; req->asked.query && i < input->query_count; i++)
		req->asked.query[req->asked.query_count++] = (struct request_parameter){
			copy(req, input->query[i].key),
			copy(req, input->query[i].value),
		};
	return !req->arena.failed;
}

/* The timer is set before the answer, so setting it again cannot fail. */
bool self_call_run(struct self_call *i, const struct operation *op, const struct self_call_input *input)
{
	static const struct request_asker daemon = { on_answered, ignore, is_disconnected, ignore };

	assert(!i->req);
	i->soon.expired = on_soon;
	struct request *req = set_timer(i) ? request_new("", 0) : NULL;
	if (!req) {
		loop_timer_stop(&i->soon);
		return false;
	}
	i->req = req;
	req->asker = &daemon;
	req->exchange = i;
	req->op = op;
	req->asked.method = op->method;
	if (!self_call_take_input(req, input)) {
		self_call_end(i);
		return false;
	}
	const void *filled = input_fill(req);
	if (filled)
		op->run(req, filled);
	return true;
}

void self_call_end(struct self_call *i)
{
	struct request *req = i->req;

	i->req = NULL;
	loop_timer_stop(&i->soon);
	if (req)
		request_asker_done(req);
}
