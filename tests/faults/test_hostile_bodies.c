/*
 * Hostile bodies for every operation of the contract. A body is not JSON, too deep, too large, or
 * of another media type. Each answer is a problem. Each request has no effect and asks Redis for
 * nothing. (test_hostile_members.c sends JSON that its schema forbids.)
 */
#include "../support/daemon.h"
#include "../support/per_operation.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "test.h"

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

/* ---- Bodies that are not JSON, or not an object ---- */

struct text_row {
	const char *name, *text;
	size_t len;
	const char *codes;
};

#define TEXT(bytes) (bytes), sizeof(bytes) - 1

static const struct text_row bad_bodies[] = {
	{ "13 null", TEXT("null"), "wrong_type" },
	{ "13 an array", TEXT("[]"), "wrong_type" },
	{ "13 a string", TEXT("\"x\""), "wrong_type" },
	{ "13 a number", TEXT("5"), "wrong_type" },
	{ "13 half an object", TEXT("{"), "malformed_json" },
	{ "13 half a member", TEXT("{\"ttl_ms\""), "malformed_json" },
	{ "13 half a literal", TEXT("{\"ttl_ms\":tru"), "malformed_json" },
	{ "13 trailing garbage", TEXT("{} x"), "malformed_json" },
	{ "13 two objects", TEXT("{}{}"), "malformed_json" },
	{ "13 a NUL behind", TEXT("{}\0"), "malformed_json" },
	{ "13 a comma too many", TEXT("{\"nonsense\":1,}"), "malformed_json" },
	{ "13 single quotes", TEXT("{'nonsense':1}"), "malformed_json" },
	{ "13 no quotes", TEXT("{nonsense:1}"), "malformed_json" },
	{ "13 a comment", TEXT("/**/{}"), "malformed_json" },
	{ "13 a byte order mark", TEXT("\xef\xbb\xbf{}"), "malformed_json" },
	{ "13 UTF-16", TEXT("\xff\xfe{\0}\0"), "malformed_json" },
	{ "13 gzip", TEXT("\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0"), "malformed_json" },
	{ "13 spaces", TEXT("   "), "malformed_json" },
	{ "14 a member twice", TEXT("{\"nonsense\":1,\"nonsense\":2}"), "malformed_json" },
	{ "14 a NUL in a key", TEXT("{\"\\u0000\":1}"), "malformed_json unknown_field" },
	{ "14 an empty key", TEXT("{\"\":1}"), "unknown_field invalid_name" },
	{ "15 NaN", TEXT("{\"nonsense\":NaN}"), "malformed_json" },
	{ "15 Infinity", TEXT("{\"nonsense\":-Infinity}"), "malformed_json" },
	{ "15 a leading zero", TEXT("{\"nonsense\":01}"), "malformed_json" },
	{ "15 a leading plus", TEXT("{\"nonsense\":+1}"), "malformed_json" },
	{ "15 1e999", TEXT("{\"nonsense\":1e999}"), "unknown_field wrong_type" },
	{ "10 a lone surrogate", TEXT("{\"nonsense\":\"\\ud800\"}"), "malformed_json" },
	{ "10 invalid UTF-8", TEXT("{\"nonsense\":\"\xff\xfe\"}"), "malformed_json" },
	{ "10 overlong UTF-8", TEXT("{\"nonsense\":\"\xc0\xaf\"}"), "malformed_json" },
	{ "10 a raw NUL in a string", TEXT("{\"nonsense\":\"a\0b\"}"), "malformed_json" },
	{ "10 a raw control character", TEXT("{\"nonsense\":\"a\nb\"}"), "malformed_json" },
};

static struct answer send_bytes(const struct contract_operation *op, const void *bytes, size_t len)
{
	char *target = contract_target(op, NULL, NULL);
	const char *const headers[] = { contract_header(op), NULL };
	struct answer a = http_bytes(client, op->method, target, bytes, len, headers);

	free(target);
	return a;
}

static void texts(const struct contract_operation *op, struct refusals *seen)
{
	if (!op->body_schema)
		return;
	for (size_t i = 0; i < COUNT(bad_bodies); i++) {
		const struct text_row *row = &bad_bodies[i];
		must_refuse(seen, send_bytes(op, row->text, row->len), 400, row->codes, NULL, "%s", row->name);
	}
	if (op->body_required)
		must_refuse(seen, send_bytes(op, "", 0), 400, "missing_field malformed_json", NULL, "13 an empty body");
}

/* ---- Bodies that are too deep or too large ---- */

/* Returns `before`, `piece` n times, `middle`, `close` n times, `after`. The caller frees. */
static char *nested(const char *before, const char *piece, size_t n, const char *close)
{
	char *all = NULL;
	size_t size;
	FILE *out = open_memstream(&all, &size);

	fputs(before, out);
	for (size_t i = 0; i < n; i++)
		fputs(piece, out);
	fputs("1", out);
	for (size_t i = 0; i < n; i++)
		fputs(close, out);
	fputs("}", out);
	fclose(out);
	return all;
}

static void bombs(const struct contract_operation *op, struct refusals *seen)
{
	static const size_t depths[] = { 33, 2047, 20000 };

	if (!op->body_schema)
		return;
	for (size_t i = 0; i < COUNT(depths); i++) {
		char *arrays = nested("{\"body\":", "[", depths[i], "]"), *objects = NULL;
		must_refuse(seen, send_bytes(op, arrays, strlen(arrays)), 400, NULL, NULL, "14 %zu arrays in another",
			    depths[i]);
		if (depths[i] < 8000)
			objects = nested("{\"metadata\":", "{\"a\":", depths[i], "}");
		if (objects)
			must_refuse(seen, send_bytes(op, objects, strlen(objects)), 400, NULL, NULL,
				    "14 %zu objects in another", depths[i]);
		must_refuse(seen, send_bytes(op, arrays, depths[i]), 400, "malformed_json", NULL, "14 never closed");
		free(arrays);
		free(objects);
	}
	char *keys = nested("{", "\"a\":1,\"b\":2,", 1, ""), *many = NULL;
	size_t size;
	FILE *out = open_memstream(&many, &size);
	fputs("{", out);
	for (int i = 0; i < 5000; i++)
		fprintf(out, "\"k%d\":1,", i);
	fputs("\"end\":1}", out);
	fclose(out);
	must_refuse(seen, send_bytes(op, many, size), 400, "unknown_field malformed_json out_of_range", NULL,
		    "14 5000 members");
	free(keys);
	free(many);
}

static void sizes(const struct contract_operation *op, struct refusals *seen)
{
	if (op->forwarded) /* the daemon does not check the body */
		return;
	char *target = contract_target(op, NULL, NULL);
	struct raw *r = raw_connect(patternd.port);

	/* The daemon refuses by the header alone: no byte of the body is ever sent. */
	struct answer a =
		raw_exchange(r, op->method, target,
			     "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 196609\r\n\r\n",
			     2000);
	if (op->body_schema)
		must_refuse(seen, a, 413, "body_too_large", NULL, "a body of 196609 bytes");
	else
		must_refuse(seen, a, 400, "unexpected_body", NULL, "a body where none belongs");
	raw_close(r);
	if (!op->body_schema)
		must_refuse(seen, http(client, op->method, target, "{}"), 400, "unexpected_body", NULL,
			    "{} where none belongs");
	free(target);
}

static void media_types(const struct contract_operation *op, struct refusals *seen)
{
	static const char *const types[] = {
		"Content-Type: text/plain",        "Content-Type: application/x-www-form-urlencoded",
		"Content-Type: application/jsonx", "Content-Type: application/xml",
		"Content-Type: text/json",         "Content-Type:",
		"Content-Encoding: gzip",          "Content-Encoding: br",
	};

	if (!op->body_schema)
		return;
	char *target = contract_target(op, NULL, NULL);
	json_t *body = contract_body(op);
	char *text = json_dumps(body, JSON_COMPACT);
	for (size_t i = 0; i < COUNT(types); i++)
		must_refuse(seen, http(client, op->method, target, text, types[i], contract_header(op)), 415,
			    "unsupported_media_type", NULL, "%s", types[i]);
	free(text);
	json_decref(body);
	free(target);
}

/* ---- None of it reached Redis ---- */

static int set_up(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--max-body-bytes", "65536");
	client = client_open(patternd.port);
	return 0;
}

static int tear_down(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

static void asked_nothing(const struct contract_operation *op, struct refusals *seen)
{
	(void)op;
	seen->seen++;
	client_forget(client);
	if (!daemon_is_alive(&patternd))
		fail_msg("the daemon has ended");
	assert_int_equal(server_scripts_run(&redis), 0);
	assert_int_equal(server_keys(&redis), 0);
}

int main(void)
{
	static const struct operation_test tests[] = {
		{ "texts", texts },
		{ "bombs", bombs },
		{ "sizes", sizes },
		{ "media types", media_types },
		{ "asked Redis for nothing", asked_nothing },
	};

	return run_per_operation("hostile bodies", tests, COUNT(tests), set_up, tear_down);
}
