/*
 * JSON bodies against the rows of each operation: "METHOD target", a line feed, the body. The
 * daemon and jansson accept the same texts as JSON. The input of a handler is within its rows. A
 * body that does not fit is answered with a complete problem.
 */
#include <jansson.h>

#include "contract/input.h"
#include "contract/route.h"
#include "fuzz.h"
#include "given.h"
#include "world.h"
#include "json/read.h"

enum { MOST_DEPTH = 32 };

static json_t *other_reading(struct text text, json_error_t *error)
{
	return json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, error);
}

static unsigned depth_of(const json_t *value)
{
	unsigned deepest = 0, depth;
	const char *key;
	json_t *member;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)value, key, member)
		deepest = (depth = depth_of(member)) > deepest ? depth : deepest;
	json_array_foreach((json_t *)(uintptr_t)value, i, member)
		deepest = (depth = depth_of(member)) > deepest ? depth : deepest;
	return deepest + (json_is_object(value) || json_is_array(value));
}

static void check_reading(struct text body)
{
	struct arena arena = { 0 };
	struct json_error error = { 0 };
	json_error_t other_error;
	const struct json *tree = json_read(&arena, body, NULL, NULL, &error);
	json_t *other = other_reading(body, &other_error);

	CHECK(json_read_is_valid(&arena, body) == !!tree);
	if (tree) {
		CHECK(other || json_error_code(&other_error) == json_error_numeric_overflow);
	} else {
		CHECK(error.why && error.line > 0 && error.column > 0);
		/* jansson overlooks a NUL byte behind a number */
		CHECK(!other || depth_of(other) > MOST_DEPTH || memchr(body.at, '\0', body.len));
	}
	json_decref(other);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text line;

	world_open((const char *const[]){ NULL });
	if (!input_piece(&in, '\n', &line))
		return 0;
	struct request *req = given_request(line);
	struct text body = arena_copy(&req->arena, (const char *)in.at, in.len);
	check_reading(body);
	if (route_request(req) && !req->op->forwarded) {
		req->asked.body = body;
		const void *input = input_fill(req);
		if (input)
			given_check_input(req, input);
		else
			given_check_refusal(req);
	}
	given_end(req);
	free((char *)(uintptr_t)line.at);
	return 0;
}
