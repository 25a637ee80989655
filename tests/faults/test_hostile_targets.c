/*
 * Hostile targets and headers, for every operation of the contract. Methods and paths do not exist,
 * names and parameters break their rules, headers contradict each other. A refusal has no effect
 * and asks Redis for nothing. The daemon serves odd targets that are allowed.
 */
#include "../support/daemon.h"
#include "../support/leap.h"
#include "../support/per_operation.h"
#include "../support/raw.h"
#include "../support/redis_server.h"
#include "test.h"

enum { PATIENCE_MS = 3000 };

#define BYTES_50 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
#define BYTES_200 BYTES_50 BYTES_50 BYTES_50 BYTES_50
#define E_ACUTE_10 "%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9"
#define E_ACUTE_100 \
	E_ACUTE_10 E_ACUTE_10 E_ACUTE_10 E_ACUTE_10 E_ACUTE_10 E_ACUTE_10 E_ACUTE_10 E_ACUTE_10 E_ACUTE_10 E_ACUTE_10

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

/*
 * Sends one request of the operation, with one parameter as given (percent-encoded) and a valid
 * body.
 */
static struct answer ask(const struct contract_operation *op, const char *parameter, const char *value)
{
	char *target = contract_target(op, parameter, value);
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct answer a = http(client, op->method, target, text);

	free(text);
	json_decref(body);
	free(target);
	return a;
}

static bool is_name(const json_t *schema)
{
	return json_is_true(json_object_get(schema, "x-name"));
}

/* ---- Methods and paths ---- */

/* True when `allow` lists exactly the methods of the path (RFC 9110, 10.2.1). */
static bool lists_methods(const char *allow, const char *path)
{
	static const char *const listed[] = { "GET", "PUT", "POST", "PATCH", "DELETE" };

	for (size_t i = 0; allow && i < COUNT(listed); i++)
		if (contract_path_takes(path, listed[i]) != (strstr(allow, listed[i]) != NULL))
			return false;
	return allow && contract_path_takes(path, "GET") == (strstr(allow, "HEAD") != NULL);
}

static void methods(const struct contract_operation *op, struct refusals *seen)
{
	static const char *const all[] = { "GET", "PUT", "POST", "PATCH", "DELETE", "TRACE", "BREW" };
	char *target = contract_target(op, NULL, NULL);

	for (size_t i = 0; i < COUNT(all); i++) {
		const struct contract_operation *other = contract_find(all[i], target);
		if (contract_path_takes(op->path, all[i]) || other)
			continue;
		struct answer a = http(client, all[i], target, NULL);
		must_refuse(seen, a, 405, "method_not_allowed", NULL, "%s %s", all[i], target);
		const char *allow = header_of(a, "Allow");
		if (!lists_methods(allow, op->path))
			note_flaw(seen, a, "%s %s: Allow is '%s'", all[i], target, allow ? allow : "");
	}
	free(target);
}

static void paths(const struct contract_operation *op, struct refusals *seen)
{
	static const char *const around[][2] = {
		{ "", "/no/such/path/here" }, { "/no-such", "" }, { "/", "" }, { "", "/" }
	};
	if (op->forwarded) /* any further segment may belong to the target */
		return;
	char *whole = contract_target(op, NULL, NULL), target[1024];
	whole[strcspn(whole, "?")] = '\0';
	for (size_t i = 0; i < COUNT(around); i++) {
		snprintf(target, sizeof(target), "%s%s%s", around[i][0], whole, around[i][1]);
		struct answer a = http(client, op->method, target, NULL);
		/*
		 * The daemon may take an empty segment for an empty name. One segment further may
		 * be an operation of another method.
		 */
		int status = a.status == 400 || a.status == 405 ? a.status : 404;
		must_refuse(seen, a, status, "unknown_path invalid_name out_of_range method_not_allowed", NULL, "%s %s",
			    op->method, target);
	}
	free(whole);
}

/* ---- Names in the path ---- */

struct value {
	const char *encoded;
	const char *codes;
};

static const struct value bad_names[] = {
	{ BYTES_200 "f", "invalid_name" },
	{ E_ACUTE_100 "f", "invalid_name" }, /* 101 characters, 201 bytes */
	{ "%00", "invalid_name malformed_request" },
	{ "a%00b", "invalid_name malformed_request" },
	{ "a%0Ab", "invalid_name" },
	{ "%1F", "invalid_name" },
	{ "%7F", "invalid_name" },
	{ "%C2%85", "invalid_name" }, /* U+0085 is a control character, too */
	{ "%7B", "invalid_name" },
	{ "%7Dabc", "invalid_name" },
	{ "%7B%7D", "invalid_name" },
	{ "%FF", "invalid_name" },
	{ "%C0%AF", "invalid_name" },       /* an overlong slash */
	{ "%ED%A0%80", "invalid_name" },    /* a surrogate */
	{ "%F4%90%80%80", "invalid_name" }, /* beyond U+10FFFF */
	{ "%C3", "invalid_name" },          /* half a character */
	{ "%zz", "invalid_name malformed_request" },
	{ "a%", "invalid_name malformed_request" },
	{ "a%2", "invalid_name malformed_request" },
	{ "%u0041", "invalid_name malformed_request" },
	{ ".", "reserved_name" },
	{ "..", "reserved_name" },
	{ "%2e%2E", "reserved_name" },
};

/* True when the target with this name is another path of the contract. */
static bool is_another_path(const struct contract_operation *op, const char *target)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

	for (size_t i = 0; i < COUNT(methods); i++) {
		const struct contract_operation *other = contract_find(methods[i], target);
		if (other && strcmp(other->path, op->path) != 0)
			return true;
	}
	return false;
}

static const struct value bad_dates[] = {
	{ "2026-13-01", "invalid_value out_of_range" },       { "2026-02-30", "invalid_value out_of_range" },
	{ "20261101", "invalid_value out_of_range" },         { "2026-1-1", "invalid_value out_of_range" },
	{ "2026-11-01T00:00", "invalid_value out_of_range" }, { "", "invalid_value out_of_range" },
	{ "2100-02-29", "invalid_value out_of_range" },       { "0000-01-01", "invalid_value out_of_range" },
	{ "-026-11-01", "invalid_value out_of_range" },       { "2026-11-0x", "invalid_value out_of_range" },
};

static bool has_word(const json_t *schema, const char *member, const char *word)
{
	const char *is = json_string_value(json_object_get(schema, member));

	return is && strcmp(is, word) == 0;
}

static bool is_date(const json_t *schema)
{
	return has_word(schema, "format", "date") || json_object_get(schema, "x-date");
}

static void dates(const struct contract_operation *op, const struct contract_parameter *p, struct refusals *seen)
{
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "{%s}", p->name);
	for (size_t k = 0; k < COUNT(bad_dates); k++)
		if (*bad_dates[k].encoded) /* otherwise the target is another path */
			must_refuse(seen, ask(op, p->name, bad_dates[k].encoded), 400, bad_dates[k].codes, pointer,
				    "%s = %s", pointer, bad_dates[k].encoded);
}

static void names(const struct contract_operation *op, struct refusals *seen)
{
	for (size_t i = 0; i < op->parameter_count; i++) {
		const struct contract_parameter *p = &op->parameters[i];
		if (strcmp(p->in, "path") == 0 && is_date(p->schema))
			dates(op, p, seen);
		if (strcmp(p->in, "path") != 0 || !is_name(p->schema))
			continue;
		for (size_t k = 0; k < COUNT(bad_names); k++)
			must_refuse(seen, ask(op, p->name, bad_names[k].encoded), 400, bad_names[k].codes, NULL,
				    "{%s} = %s", p->name, bad_names[k].encoded);
		size_t r;
		const json_t *reserved;
		json_array_foreach(json_object_get(p->schema, "x-reserved"), r, reserved) {
			const char *word = json_string_value(reserved);
			char *target = contract_target(op, p->name, word);
			/*
			 * If the name is reserved for another operation of this method, that
			 * operation answers.
			 */
			if (contract_find(op->method, target) == op) {
				bool is_path = is_another_path(op, target);
				must_refuse(seen, ask(op, p->name, word), is_path ? 405 : 400,
					    is_path ? "method_not_allowed" : "reserved_name", NULL, "{%s} = %s",
					    p->name, word);
			}
			free(target);
		}
	}
}

static void odd_names(const struct contract_operation *op, struct refusals *seen)
{
	static const char *const good[] = { BYTES_200, E_ACUTE_100,    "%20",     "a%2Fb", "%2F", "a%3Afence",
					    ":::",     "%25",          "%2E.%2E", "+",     "a+b", "*",
					    "%5B",     "%F0%9F%94%92", "'",       "%22",   "%5C" };

	for (size_t i = 0; i < op->parameter_count; i++) {
		const struct contract_parameter *p = &op->parameters[i];
		bool is_plain = json_is_true(json_object_get(p->schema, "x-plain"));
		if (strcmp(p->in, "path") != 0 || !is_name(p->schema) || is_plain)
			continue;
		for (size_t k = 0; k < COUNT(good); k++) {
			struct answer a = ask(op, p->name, good[k]);
			/* The name of a topic must not have a `*`. */
			if (strcmp(good[k], "*") == 0 && json_object_get(p->schema, "pattern")) {
				must_refuse(seen, a, 400, "invalid_name", NULL, "{%s} = *", p->name);
				continue;
			}
			const char *code = json_string_value(json_at(a, "/code"));
			seen->seen++;
			/*
			 * The daemon may refuse another parameter or a combination, but not the
			 * name.
			 */
			if (a.status == 0 || a.status >= 500 ||
			    (a.status == 400 && (!code || strstr(code, "name") || strstr(code, "malformed"))))
				note_flaw(seen, a, "%s: {%s} = %s", op->method, p->name, good[k]);
		}
	}
}

/* ---- Parameters of the query ---- */

static const struct value bad_integers[] = {
	{ "x", "wrong_type" },
	{ "", "wrong_type" },
	{ "1.5", "wrong_type" },
	{ "0x10", "wrong_type" },
	{ "%201", "wrong_type" },
	{ "1%20", "wrong_type" },
	{ "1%00", "wrong_type malformed_request invalid_value" },
	{ "true", "wrong_type" },
	{ "%FF", "wrong_type invalid_value" },
	{ "-1", "out_of_range" },
	{ "9223372036854775807", "out_of_range" },
	{ "9223372036854775808", "wrong_type out_of_range" },
	{ "-9223372036854775809", "wrong_type out_of_range" },
};

static const struct value bad_reals[] = {
	{ "x", "wrong_type" },
	{ "", "wrong_type" },
	{ "nan", "wrong_type out_of_range" },
	{ "inf", "wrong_type out_of_range" },
	{ "-inf", "wrong_type out_of_range" },
	{ "1e999", "wrong_type out_of_range" },
	{ "0x1p3", "wrong_type" },
	{ "1,5", "wrong_type" },
	{ "-1e300", "out_of_range" },
	{ "1e300", "out_of_range" },
	{ "1.0%00", "wrong_type malformed_request invalid_value" },
};

static const struct value bad_words[] = {
	{ "nonsense", "invalid_value" },
	{ "", "invalid_value out_of_range" },
	{ "%FF", "invalid_value" },
	{ "m%00", "invalid_value malformed_request" },
};

static const struct value bad_query_names[] = {
	{ BYTES_200 "f", "invalid_name" },
	{ "", "invalid_name" },
	{ "a%0Ab", "invalid_name" },
	{ "%7B", "invalid_name" },
	{ "%FF", "invalid_name" },
	{ "%C0%AF", "invalid_name" },
	{ "a%00b", "invalid_name malformed_request" },
	{ "..", "reserved_name" },
};

static const struct value bad_booleans[] = {
	{ "", "wrong_type" },
	{ "1", "wrong_type" },
	{ "yes", "wrong_type" },
	{ "TRUE", "wrong_type" },
	{ "true%20", "wrong_type" },
	{ "%FF", "wrong_type invalid_value" },
	{ "true%00", "wrong_type invalid_value malformed_request" },
};

static const struct value bad_texts[] = {
	{ "%FF", "invalid_value" },
	{ "%C3", "invalid_value" },
	{ "a%00b", "invalid_value malformed_request" },
	{ BYTES_200 BYTES_200 BYTES_200 BYTES_200 BYTES_200 BYTES_200, "out_of_range invalid_value" },
};

struct values {
	const struct value *at;
	size_t count;
};
#define VALUES(array) ((struct values){ (array), COUNT(array) })

static struct values bad_values(const json_t *schema)
{
	if (has_word(schema, "type", "array"))
		schema = contract_member(schema, "items", NULL);
	if (json_object_get(schema, "enum"))
		return VALUES(bad_words);
	if (has_word(schema, "type", "integer"))
		return VALUES(bad_integers);
	if (has_word(schema, "type", "number"))
		return VALUES(bad_reals);
	if (has_word(schema, "type", "boolean"))
		return VALUES(bad_booleans);
	if (is_date(schema))
		return VALUES(bad_dates);
	return is_name(schema) ? VALUES(bad_query_names) : VALUES(bad_texts);
}

/*
 * Negative numbers are outside most ranges, but not all; beyond_range tries the ranges that have
 * them.
 */
static bool is_allowed(const json_t *schema, const char *value)
{
	return strcmp(value, "-1") == 0 && json_integer_value(json_object_get(schema, "minimum")) < 0;
}

/* Tries the next number beyond each end of an integer's range. */
static void beyond_range(const struct contract_operation *op, const struct contract_parameter *p, struct refusals *seen)
{
	const json_t *low = json_object_get(p->schema, "minimum"), *high = json_object_get(p->schema, "maximum");
	char value[32], pointer[64];

	snprintf(pointer, sizeof(pointer), "?%s", p->name);
	snprintf(value, sizeof(value), "%lld", (long long)json_integer_value(low) - 1);
	if (json_is_integer(low))
		must_refuse(seen, ask(op, p->name, value), 400, "out_of_range", pointer, "?%s=%s", p->name, value);
	snprintf(value, sizeof(value), "%lld", (long long)json_integer_value(high) + 1);
	if (json_is_integer(high))
		must_refuse(seen, ask(op, p->name, value), 400, "out_of_range", pointer, "?%s=%s", p->name, value);
}

static void query(const struct contract_operation *op, struct refusals *seen)
{
	if (op->tail) /* the daemon does not check the query */
		return;
	char *target = contract_target(op, NULL, NULL), more[2048], pointer[64];
	const char *joint = strchr(target, '?') ? "&" : "?";
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	snprintf(more, sizeof(more), "%s%snonsense=1", target, joint);
	must_refuse(seen, http(client, op->method, more, text), 400, "unknown_field", "?nonsense", "%s", more);
	snprintf(more, sizeof(more), "%s%s%%FF=1", target, joint);
	must_refuse(seen, http(client, op->method, more, text), 400, NULL, NULL, "%s", more);
	for (size_t i = 0; i < op->parameter_count; i++) {
		const struct contract_parameter *p = &op->parameters[i];
		if (strcmp(p->in, "query") != 0)
			continue;
		snprintf(pointer, sizeof(pointer), "?%s", p->name);
		struct values bad = bad_values(p->schema);
		for (size_t k = 0; k < bad.count; k++) {
			if (is_allowed(p->schema, bad.at[k].encoded))
				continue;
			bool whole = !strstr(bad.at[k].codes, "malformed");
			must_refuse(seen, ask(op, p->name, bad.at[k].encoded), 400, bad.at[k].codes,
				    whole ? pointer : NULL, "%s=%s", pointer, bad.at[k].encoded);
		}
		beyond_range(op, p, seen);
		snprintf(more, sizeof(more), "%s%s%s=1&%s=1", target, joint, p->name, p->name);
		if (!has_word(p->schema, "type", "array"))
			must_refuse(seen, http(client, op->method, more, text), 400, NULL, NULL, "%s", more);
	}
	free(text);
	json_decref(body);
	free(target);
}

/* ---- Headers ---- */

static bool answers_json_only(const struct contract_operation *op)
{
	const char *status;
	json_t *response;

	json_object_foreach((json_t *)(uintptr_t)op->responses, status, response) {
		const json_t *content = contract_member(contract_member(op->responses, status, NULL), "content", NULL);
		if (*status == '2' && json_object_size(content) == 1 && json_object_get(content, "application/json"))
			return true;
	}
	return false;
}

/*
 * A header of the pattern itself follows the rules of a query parameter, but is not
 * percent-encoded.
 */
static const struct value bad_header_integers[] = {
	{ ": x", "wrong_type" },    { ": 1.5", "wrong_type" },
	{ ": 1, 2", "wrong_type" }, { ": 0x1", "wrong_type" },
	{ ";", "wrong_type" }, /* curl's form of an empty header */
	{ ": -1", "out_of_range" }, { ": 9007199254740992", "out_of_range" },
};

static const struct value bad_header_texts[] = {
	{ ": \xff\xfe", "invalid_value" },
	{ ": a\x01"
	  "b",
	  "malformed_request" },
	{ ": " BYTES_200 "f", "out_of_range" },
	{ ";", "out_of_range" },
};

static void header(const struct contract_operation *op, const struct contract_parameter *p, const char *target,
		   const char *text, struct refusals *seen)
{
	bool is_text = has_word(p->schema, "type", "string");
	struct values bad = is_text ? VALUES(bad_header_texts) : VALUES(bad_header_integers);
	char line[512], again[128], pointer[64];

	snprintf(pointer, sizeof(pointer), "%s:", p->name);
	for (size_t i = 0; i < bad.count; i++) {
		snprintf(line, sizeof(line), "%s%s", p->name, bad.at[i].encoded);
		bool whole = !strstr(bad.at[i].codes, "malformed");
		must_refuse(seen, http(client, op->method, target, text, line), 400, bad.at[i].codes,
			    whole ? pointer : NULL, "%s", line);
	}
	/* With two counts in one request, the effective one would depend on the proxies between. */
	snprintf(line, sizeof(line), "%s: 1", p->name);
	snprintf(again, sizeof(again), "%s: 2", p->name);
	must_refuse(seen, http(client, op->method, target, text, line, again), 400, "malformed_request", NULL, "%s",
		    again);
	if (p->required)
		must_refuse(seen, http(client, op->method, target, text), 400, "missing_field", pointer, "no %s",
			    p->name);
}

/* True for a number, or a text as long as a name. Other headers have rules beyond their schema. */
static bool is_of_the_pattern(const struct contract_parameter *p)
{
	return strcmp(p->in, "header") == 0 && strncasecmp(p->name, "Idempotency-", 12) != 0 &&
	       (has_word(p->schema, "type", "integer") ||
		json_integer_value(json_object_get(p->schema, "x-max-bytes")) == 200);
}

static void headers(const struct contract_operation *op, struct refusals *seen)
{
	if (op->forwarded) /* tests/api/test_rate_limits_authorize.c tests these headers */
		return;
	char *target = contract_target(op, NULL, NULL);
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	if (answers_json_only(op))
		must_refuse(seen, http(client, op->method, target, text, "Accept: text/html"), 406, "not_acceptable",
			    NULL, "Accept: text/html");
	must_refuse(seen, http(client, op->method, target, text, "Host: evil.example"), 403, "host_not_allowed", NULL,
		    "Host");
	must_refuse(seen, http(client, op->method, target, text, "Origin: https://evil.example"), 403, "cross_site",
		    NULL, "Origin");
	must_refuse(seen, http(client, op->method, target, text, "Sec-Fetch-Site: cross-site"), 403, "cross_site", NULL,
		    "Sec-Fetch-Site");
	must_refuse(seen, http(client, op->method, target, text, "Expect: the-unexpected"), 417, "expectation_failed",
		    NULL, "Expect");
	for (size_t i = 0; i < op->parameter_count; i++) {
		if (is_of_the_pattern(&op->parameters[i]))
			header(op, &op->parameters[i], target, text, seen);
		if (strcasecmp(op->parameters[i].name, "Idempotency-Key") != 0)
			continue;
		must_refuse(seen, http(client, op->method, target, text, "Idempotency-Key: " BYTES_200 "f"), 400,
			    "invalid_value out_of_range", "Idempotency-Key:", "Idempotency-Key of 201 bytes");
		must_refuse(seen, http(client, op->method, target, text, "Idempotency-Key: \"\""), 400,
			    "invalid_value out_of_range", "Idempotency-Key:", "Idempotency-Key of none");
		must_refuse(seen, http(client, op->method, target, text, "Idempotency-Key: a", "Idempotency-Key: b"),
			    400, NULL, NULL, "two Idempotency-Keys");
	}
	free(text);
	json_decref(body);
	free(target);
}

static struct answer raw_headed(struct raw *r, const char *target, int minor)
{
	char *text = NULL;

	if (asprintf(&text, "HEAD %s HTTP/1.%d\r\nHost: localhost\r\nConnection: close\r\n\r\n", target, minor) < 0)
		fail_msg("no memory");
	raw_text(r, text);
	free(text);
	return raw_head(r, PATIENCE_MS);
}

/*
 * The answer to HEAD is the answer to GET without the body. libcurl does not look for a body, so
 * the test also reads each answer from the socket to its end.
 */
static void head(const struct contract_operation *op, struct refusals *seen)
{
	if (strcmp(op->method, "GET") != 0)
		return;
	char *target = contract_target(op, NULL, NULL);
	struct answer get = http(client, "GET", target, NULL), answer = http(client, "HEAD", target, NULL);
	const char *got = header_of(get, "Content-Type"), *headed = header_of(answer, "Content-Type");
	seen->seen++;
	if (answer.status != get.status || answer.body_len != 0 || !got || !headed || strcmp(got, headed) != 0)
		note_flaw(seen, answer, "HEAD %s", target);
	for (int minor = 0; minor < 2; minor++) {
		struct raw *r = raw_connect(patternd.port);
		answer = raw_headed(r, target, minor);
		if (answer.status != get.status || !raw_closed(r, PATIENCE_MS) || raw_bytes_left(r) > 0)
			note_flaw(seen, answer, "HEAD %s HTTP/1.%d, on the wire", target, minor);
		raw_close(r);
	}
	free(target);
}

/* ---- None of it reached Redis ---- */

static long long scripts_before;

static int set_up(void **state)
{
	server_start(&redis);
	/* The daemon would look up metrics of names after the request that reads them. */
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url, "--metrics-names", "");
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

static bool is_sampled; /* the daemon samples Redis for five minutes after a request for a history */

static void note_redis(const struct contract_operation *op, struct refusals *seen)
{
	enum { LOOK_S = 301 };

	seen->seen++;
	if (is_sampled && !daemon_is_sanitized()) {
		leap(&patternd, LOOK_S);
		client_reconnect(client);
	}
	/* The clock of a sanitized daemon does not leap, so it still samples. */
	is_sampled = (is_sampled && daemon_is_sanitized()) || strstr(op->id, "history") != NULL;
	server_command(&redis, "FLUSHALL"); /* keys of odd names would expire at any time */
	scripts_before = server_scripts_run(&redis);
}

static void redis_is_as_before(const struct contract_operation *op, struct refusals *seen)
{
	(void)op;
	seen->seen++;
	client_forget(client);
	if (!daemon_is_alive(&patternd))
		fail_msg("the daemon has ended");
	if (!is_sampled)
		assert_int_equal(server_scripts_run(&redis), scripts_before);
	assert_int_equal(server_keys(&redis), 0);
}

/* ---- Cursors ---- */

/* Writes each operation's example, so that there is something to list. */
static void write_examples(void)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (op->writes && strcmp(op->id, "lock_hold") != 0 && strcmp(op->method, "DELETE") != 0)
			ask(op, NULL, NULL);
	}
	client_forget(client);
}

/* The daemon serves or refuses any cursor; it never causes an error of Redis or of the daemon. */
static void cursors(const struct contract_operation *op, struct refusals *seen)
{
	static const char *const odd[] = {
		"x",
		"-1",
		"1.",
		".1",
		"0.",
		"1e3",
		"%201",
		"0x10",
		"1-0",
		"0-0",
		"9223372036854775807",
		"9223372036854775808",
		"18446744073709551615",
		"18446744073709551616",
		"99999999999999999999",
		"999999999999999999999",
		"18446744073709551616.0123456789abcdef",
		"1.ffffffffffffffff",
		"0.0000000000000000",
		"18446744073709551615-18446744073709551616",
		"1795223759272486",
		"4.1795223759272.1795223759272486",
		"9.99999999999999999.1795223759272486",
	};
	static bool has_written;

	if (!has_written)
		write_examples();
	has_written = true;
	for (size_t i = 0; i < op->parameter_count; i++) {
		if (strcmp(op->parameters[i].name, "cursor") != 0)
			continue;
		for (size_t k = 0; k < COUNT(odd); k++) {
			struct answer a = ask(op, "cursor", odd[k]);
			seen->seen++;
			if (a.status != 200 && a.status != 404)
				must_refuse(seen, a, 400, NULL, NULL, "%s, cursor %s", op->id, odd[k]);
		}
	}
	client_forget(client);
}

int main(void)
{
	static const struct operation_test tests[] = {
		{ "(before)", note_redis },
		{ "methods", methods },
		{ "paths", paths },
		{ "names", names },
		{ "query", query },
		{ "headers", headers },
		{ "asked Redis for nothing", redis_is_as_before },
		{ "odd names", odd_names },
		{ "HEAD", head },
		{ "cursors", cursors },
	};

	return run_per_operation("hostile targets", tests, COUNT(tests), set_up, tear_down);
}
