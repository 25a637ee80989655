/*
 * JSON bodies against the rows of each operation: "METHOD target", a line feed, the body. What is JSON reads back the same when it was
 * written; what a handler would get is within its rows; what does not fit is answered with a whole problem.
 */
#include "fuzz.h"
#include "given.h"
#include "input.h"
#include "json_tree.h"
#include "route.h"
#include "world.h"

static void check_text(struct request *req)
{
	char why[256];
	struct text text = json_tree_text(&req->arena, req->json);

	CHECK(text.at && text_is_utf8(text));
	json_t *again = json_tree_parse(&req->arena, text, why, sizeof(why));
	CHECK(again && json_equal(again, req->json));
}

static void fill(struct request *req)
{
	const void *input = input_fill(req);

	if (input)
		given_check_input(req, input);
	else
		given_check_refusal(req);
	if (req->json)
		check_text(req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text line;

	world_open((const char *const[]){ NULL });
	if (!input_piece(&in, '\n', &line))
		return 0;
	struct request *req = given_request(line);
	if (route_request(req) && !req->op->forwarded) {
		req->body = arena_copy(&req->arena, (const char *)in.at, in.len);
		fill(req);
	}
	given_end(req);
	free((char *)(uintptr_t)line.at);
	return 0;
}
