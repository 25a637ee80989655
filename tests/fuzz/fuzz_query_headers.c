/*
 * Query and headers: "METHOD target", then lines "Name: value", as libmicrohttpd passes them. An
 * accepted request has ids that fit into a log line, and its input is within the rows. A refused
 * request is answered with a complete problem.
 */
#include "access/access.h"
#include "contract/input.h"
#include "fuzz.h"
#include "given.h"
#include "http/precheck.h"
#include "request/etag.h"
#include "request/traceparent.h"
#include "world.h"

static void check_identity(const struct request *req)
{
	struct text id = req->asked.request_id, trace = traceparent_trace_id(req->asked.traceparent);

	CHECK(id.len >= 1 && id.len <= 128);
	for (size_t i = 0; i < id.len; i++)
		CHECK(id.at[i] > ' ' && id.at[i] <= '~' && id.at[i] != '"' && id.at[i] != '\\');
	if (!trace.at)
		return;
	CHECK(trace.len == 32 && strspn(trace.at, "0123456789abcdef") == 32 && strspn(trace.at, "0") < 32);
}

static void check_conditions(struct request *req)
{
	const struct request_conditions *c = req->asked.conditions;
	struct text lists[] = { etag_list(&req->arena, c ? c->match : (struct text){ 0 }, ETAG_STRONG),
				etag_list(&req->arena, c ? c->none_match : (struct text){ 0 }, ETAG_WEAK) };

	for (size_t i = 0; i < 2; i++)
		CHECK(!lists[i].at || lists[i].len == 0 || text_is(lists[i], "*") ||
		      (lists[i].at[0] == ' ' && lists[i].at[lists[i].len - 1] == ' ' && !strchr(lists[i].at, '"')));
}

static void check_admitted(struct request *req, const struct precheck *a)
{
	struct text key = req->asked.idempotency_key;

	CHECK(req->state == READING && req->op && !req->answer.close);
	CHECK(!key.at || (key.len >= 1 && key.len <= 200 && !text_has_control(key) && text_is_utf8(key)));
	CHECK(a->headers.count[HEADER_CONTENT_LENGTH] == 0 || a->headers.count[HEADER_TRANSFER_ENCODING] == 0 ||
	      req->op->forwarded);
	CHECK(a->headers.count[HEADER_CONTENT_LENGTH] <= 1 && a->headers.count[HEADER_TRANSFER_ENCODING] <= 1);
	if (a->body_expected && !req->op->forwarded)
		CHECK(req->op->takes_body && a->body_len <= 1024 * 1024);
	if (req->op->forwarded)
		CHECK(!key.at && !req->caller.cors_origin);
	check_conditions(req);
	const void *input = input_fill(req);
	if (input)
		given_check_input(req, input);
	else
		given_check_refusal(req);
}

static void admit(struct request *req)
{
	struct precheck a;

	precheck_begin(&a, req, "HTTP/1.1");
	for (size_t i = 0; given_name(i).at; i++)
		http_headers_add(&a.headers, given_name(i).at, given_value(i).at);
	bool ok = precheck_run(&a);
	check_identity(req);
	if (ok)
		check_admitted(req, &a);
	else if (req->answer.status >= 400)
		given_check_refusal(req);
	else
		CHECK(req->state == ANSWERED && req->answer.status == 204 && req->caller.cors_origin); /* a preflight */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text line;

	world_open((const char *const[]){ "--allowed-hosts", "daemon.example", "--cors-origins", "https://app.example",
					  NULL });
	if (!input_piece(&in, '\n', &line))
		return 0;
	struct request *req = given_request(line);
	free((char *)(uintptr_t)line.at);
	while (input_piece(&in, '\n', &line)) {
		given_header(req, line);
		free((char *)(uintptr_t)line.at);
	}
	admit(req);
	given_end(req);
	return 0;
}
