#include "contract/gateway.h"

#include <string.h>

#include "contract/input.h"
#include "request/answer.h"
#include "request/request.h"

static bool (*admits_path)(struct request *req);
static bool (*admits_input)(struct request *req, const void *in);

void gateway_admission(bool (*path)(struct request *req), bool (*input)(struct request *req, const void *in))
{
	admits_path = path;
	admits_input = input;
}

void gateway_begin_answer(struct request *req)
{
	req->answer = (struct request_answer){ .close = req->answer.close };
}

/* Clears what the handler of an earlier operation has left. */
static void begin(struct request *req, const struct operation *op, void (*answered)(struct request *req))
{
	gateway_begin_answer(req);
	req->gateway->answered = answered;
	req->op = op;
	req->asked.method = op->method;
	req->asked.json = NULL;
	memset(req->asked.path_values, 0, sizeof(req->asked.path_values));
	req->work = NULL;
	req->input = NULL;
	req->fallback = NULL;
	req->on_disconnect = NULL;
}

void gateway_run(struct request *req, const struct operation *op, const struct self_call_input *input,
		 void (*answered)(struct request *req))
{
	begin(req, op, answered);
	if (!self_call_take_input(req, input)) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	if (admits_path && !admits_path(req))
		return;
	const void *filled = input_fill(req);
	if (filled && (!admits_input || admits_input(req, filled)))
		op->run(req, filled);
}
