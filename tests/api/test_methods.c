/*
 * Every path follows the rules of HTTP for OPTIONS, Allow, HEAD, the media types of PATCH, and 304
 * (RFC 9110, 5789, 7396). The contract lists the paths and methods.
 */
#include "../support/contract.h"
#include "../support/stage.h"
#include "test.h"

#define BOTH_TYPES "application/merge-patch+json, application/json"
#define JSON_ONLY "application/json"
#define MERGE_PATCH "Content-Type: application/merge-patch+json"

/*
 * The media types of a path's PATCH. The type of RFC 7396 is for merging, and a schedule is not
 * merged.
 */
static const char *patch_types(const char *path)
{
	return strcmp(path, "/queues/{name}/schedules/{id}") == 0 ? JSON_ONLY : BOTH_TYPES;
}

/*
 * Calls `check` with a valid target of each operation, except those to which proxies forward
 * requests.
 */
static void sweep(void (*check)(const struct contract_operation *op, const char *target))
{
	size_t seen = 0;

	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (op->forwarded) /* it accepts any method, and no body */
			continue;
		char *target = contract_target(op, NULL, NULL);
		check(op, target);
		free(target);
		seen++;
	}
	assert_true(seen > 100);
}

static void must_have(struct answer a, const char *target, const char *name, const char *value)
{
	const char *got = header_of(a, name);

	if (value ? !got || strcmp(got, value) != 0 : got != NULL)
		fail_msg("%s: %d with %s: %s, not %s", target, a.status, name, got ? got : "(none)",
			 value ? value : "(none)");
}

/* The methods that the contract has for a path, such as "GET, HEAD, POST, OPTIONS". */
static const char *allow_of(const char *path)
{
	static const char *const methods[] = { "GET", "PUT", "POST", "PATCH", "DELETE" };
	static char allow[128];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(methods); i++)
		if (contract_path_takes(path, methods[i]))
			n += (size_t)snprintf(allow + n, sizeof(allow) - n, "%s, %s", methods[i], i ? "" : "HEAD, ");
	snprintf(allow + n, sizeof(allow) - n, "OPTIONS");
	return allow;
}

static void check_options(const struct contract_operation *op, const char *target)
{
	struct answer a = http(client, "OPTIONS", target, NULL);
	const char *patch = contract_path_takes(op->path, "PATCH") ? patch_types(op->path) : NULL;

	if (a.status != 204 || a.body_len)
		fail_msg("OPTIONS %s: %d %s", target, a.status, a.body);
	must_have(a, target, "Allow", allow_of(op->path));
	must_have(a, target, "Accept-Patch", patch);
	must_have(a, target, "Content-Length", NULL); /* RFC 9110, 8.6 */
	a = http(client, "PROPFIND", target, NULL);
	assert_problem(a, 405, "method_not_allowed", "none");
	must_have(a, target, "Allow", allow_of(op->path));
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(options_and_allow_name_the_methods_of_the_path)
{
	sweep(check_options);
	assert_problem(http(client, "OPTIONS", "/no/such", NULL), 404, "unknown_path", "none");
	assert_problem(http(client, "OPTIONS", "/locks/%zz", NULL), 400, "malformed_request", "none");
	assert_problem(http(client, "OPTIONS", "/locks/a", NULL, "Host: evil.example"), 403, "host_not_allowed",
		       "none");
	must_have(http(client, "OPTIONS", "/ui", NULL), "/ui", "Allow", "GET, HEAD, OPTIONS");
}

static void check_head(const struct contract_operation *op, const char *target)
{
	if (strcmp(op->method, "GET") != 0)
		return;
	struct answer head = http(client, "HEAD", target, NULL);
	if (head.body_len)
		fail_msg("HEAD %s has a body: %s", target, head.body);
	if (strstr(op->path, "/stream")) { /* a stream does not end by itself */
		assert_status(head, 200);
		return;
	}
	struct answer got = http(client, "GET", target, NULL);
	if (head.status != got.status)
		fail_msg("HEAD %s: %d, GET: %d", target, head.status, got.status);
	must_have(head, target, "Content-Type", header_of(got, "Content-Type"));
}

TEST(head_is_get_without_its_body)
{
	sweep(check_head);
}

static void check_types(const struct contract_operation *op, const char *target)
{
	bool is_patch = strcmp(op->method, "PATCH") == 0;
	bool merges = is_patch && strcmp(patch_types(op->path), BOTH_TYPES) == 0;

	if (!op->body_schema)
		return;
	struct answer a = http(client, op->method, target, "{}", "Content-Type: text/plain");
	assert_problem(a, 415, "unsupported_media_type", "none");
	must_have(a, target, "Accept-Patch", is_patch ? patch_types(op->path) : NULL);
	json_t *body = contract_body(op);
	char *text = json_dumps(body, JSON_COMPACT);
	a = http(client, op->method, target, text, MERGE_PATCH);
	if ((a.status == 415) == merges)
		fail_msg("%s %s as merge-patch+json: %d %s", op->method, target, a.status, a.body);
	assert_status(http(client, op->method, target, text, MERGE_PATCH "x"), 415);
	free(text);
	json_decref(body);
}

TEST(patch_takes_both_types)
{
	sweep(check_types);
	assert_status(http(client, "PUT", "/queues/patched", "{}"), 201);
	struct answer a = http(client, "PATCH", "/queues/patched", "{\"paused\":true}", MERGE_PATCH "; charset=utf-8");
	assert_status(a, 200);
	assert_true(bool_at(a, "/settings/paused"));
}

/* If an operation may return 304, PUT of the same path creates the resource. */
static void check_not_modified(const struct contract_operation *op, const char *target)
{
	char known[128];

	if (!json_object_get(op->responses, "304"))
		return;
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *put = contract_at(i);
		if (strcmp(put->path, op->path) != 0 || strcmp(put->method, "PUT") != 0)
			continue;
		json_t *body = contract_body(put);
		char *text = json_dumps(body, JSON_COMPACT);
		http(client, "PUT", target, text);
		free(text);
		json_decref(body);
	}
	struct answer whole = get(target);
	assert_status(whole, 200);
	assert_non_null(header_of(whole, "ETag"));
	snprintf(known, sizeof(known), "If-None-Match: %s", header_of(whole, "ETag"));
	for (size_t i = 0; i < 2; i++) {
		struct answer a = http(client, i ? "HEAD" : "GET", target, NULL, known);
		assert_status(a, 304);
		must_have(a, target, "Content-Length", header_of(whole, "Content-Length"));
		must_have(a, target, "ETag", header_of(whole, "ETag"));
		assert_int_equal(a.body_len, 0);
	}
}

TEST(not_modified_has_the_length_of_the_whole)
{
	sweep(check_not_modified);
}
