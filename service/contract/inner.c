/* inner: see inner.h. */
#include "contract/inner.h"

#include <assert.h>
#include <string.h>

#include "contract/input.h"
#include "core/container.h"
#include "request/request.h"

enum { FAR_US = 1000000000 };

const struct operation *inner_operation(const char *id)
{
	size_t i = 0;

	while (i < operation_count && strcmp(operations[i].id, id) != 0)
		i++;
	assert(i < operation_count);
	return &operations[i];
}

static void on_soon(struct loop_timer *t)
{
	struct inner *i = container_of(t, struct inner, soon);

	if (i->req->state == ANSWERED)
		i->answered(i);
	else
		loop_timer_set(t, loop_now_us() + FAR_US);
}

static void on_answered(struct request *req)
{
	struct inner *i = req->exchange;

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

/* The timer is set before the answer, when to set it can no longer fail. */
bool inner_run(struct inner *i, const struct operation *op, struct text name, struct text body)
{
	static const struct request_asker daemon = { on_answered, ignore, is_disconnected, ignore };

	assert(!i->req);
	i->soon.expired = on_soon;
	struct request *req = loop_timer_set(&i->soon, loop_now_us() + FAR_US) ? request_new("", 0) : NULL;
	if (!req) {
		loop_timer_stop(&i->soon);
		return false;
	}
	i->req = req;
	req->asker = &daemon;
	req->exchange = i;
	req->op = op;
	req->asked.method = op->method;
	req->asked.path_values[0] = arena_copy(&req->arena, name.at ? name.at : "", name.len);
	req->asked.body = arena_copy(&req->arena, body.at, body.len);
	if (!req->asked.path_values[0].at || !req->asked.body.at) {
		inner_end(i);
		return false;
	}
	const void *input = input_fill(req);
	if (input)
		op->run(req, input);
	return true;
}

void inner_end(struct inner *i)
{
	struct request *req = i->req;

	i->req = NULL;
	loop_timer_stop(&i->soon);
	if (req)
		request_asker_done(req);
}
