#include "http/access_log.h"

#include "process/config.h"
#include "process/log.h"
#include "request/operation.h"
#include "request/request.h"
#include "request/resource.h"
#include "request/traceparent.h"

/* True for a failure, a refused caller, or a slow answer. A limit that is reached is normal. */
static bool is_notable(const struct request *req, int status, int64_t working_us)
{
	bool is_refused = (status == 401 || status == 403) && req->answer.problem != problem_row(P_RATE_DENIED);

	return status >= 500 || is_refused || working_us > config()->slow_request_ms * 1000;
}

void access_log(struct request *req, int status, int64_t duration_us)
{
	int64_t waited_us = request_waited_us(req);
	bool notable = is_notable(req, status, duration_us - waited_us);

	if (!log_takes_request(notable))
		return;
	size_t name_count = 0;
	const char *label_name = NULL;
	const struct operation *op = request_operation(req);
	bool names = strcmp(config()->log_names, "on") == 0;
	struct log_request line = {
		.request_id = req->asked.request_id,
		.trace_id = traceparent_trace_id(req->asked.traceparent),
		.caller = names && req->caller.is_label ? req->caller.name : (struct text){ 0 },
		.resource = names ? resource_of(req, &name_count) : (struct text){ 0 },
		.resources = name_count,
		.label = names ? resource_logged(req, &label_name) : (struct text){ 0 },
		.label_name = label_name,
		.operation = op ? op->id : "-",
		.method = req->gateway && op  ? op->method
			  : req->asked.method ? req->asked.method
					      : "-",
		.status = status,
		.duration_us = duration_us,
		.waited_us = waited_us,
		.code = req->answer.problem ? req->answer.problem->code
			: req->gateway      ? req->gateway->code
					    : NULL,
		.is_notable = notable,
	};
	log_request(&line);
}
