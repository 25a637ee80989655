/*
 * Hostile members, for every operation of the contract. The test takes a valid body from the
 * contract. Then it replaces one member after another, at any depth, by each value that its schema
 * forbids. Each answer is a problem that points at the member. The request has no effect and asks
 * Redis for nothing. A null of an optional member of a POST or PUT is allowed: it is answered like
 * a body without the member.
 */
#include "../support/daemon.h"
#include "../support/per_operation.h"
#include "../support/redis_server.h"
#include "test.h"

/* The place in a body for JSON text that jansson would not write; see with_text. */
#define MARK "@@mark@@"

enum { BODY_LIMIT = 65536, TEXT_MAX = 4096, KEY_MAX = 256 };

static struct redis_server redis;
static struct daemon patternd;
static struct client *client;

static struct answer send_bytes(const struct contract_operation *op, const void *bytes, size_t len)
{
	char *target = contract_target(op, NULL, NULL);
	const char *const headers[] = { contract_header(op), NULL };
	struct answer a = http_bytes(client, op->method, target, bytes, len, headers);

	free(target);
	return a;
}

struct walk {
	const struct contract_operation *op;
	struct refusals *seen;
	json_t *root;
};

/* Returns the body as text, with `text` in the place of MARK. The caller frees. */
static char *with_text(const json_t *root, const char *text)
{
	char *all = json_dumps(root, JSON_COMPACT), *mixed = NULL;
	char *at = strstr(all, "\"" MARK "\"");

	assert_non_null(at);
	*at = '\0';
	assert_true(asprintf(&mixed, "%s%s%s", all, text, at + strlen(MARK) + 2) > 0);
	free(all);
	return mixed;
}

/*
 * Sends the body with `text` in the place of MARK. The daemon must refuse it. If the body is JSON,
 * the problem must point to that place.
 */
static void refuse_text_at(const struct walk *w, const char *text, const char *codes, const char *pointer,
			   const char *wrong)
{
	char *body = with_text(w->root, text);
	struct answer a = send_bytes(w->op, body, strlen(body));
	const char *code = json_string_value(json_at(a, "/code"));
	bool is_json = !code || strcmp(code, "malformed_json") != 0;

	must_refuse(w->seen, a, 400, codes, is_json ? wrong : NULL, "%s = %.60s", pointer, text);
	free(body);
}

static void refuse_text(const struct walk *w, const char *text, const char *codes, const char *pointer)
{
	refuse_text_at(w, text, codes, pointer, pointer);
}

/* The type [integer, string]: a number, or its digits as text. */
#define WIDE "integer or its digits"

struct bad {
	const char *type; /* the type in the schema that forbids this text */
	const char *text;
	const char *codes;
};

static const struct bad bad_types[] = {
	{ "integer", "\"5\"", "wrong_type" },
	{ "integer", "true", "wrong_type" },
	{ "integer", "null", "wrong_type" },
	{ "integer", "[]", "wrong_type" },
	{ "integer", "{}", "wrong_type" },
	{ "integer", "1.5", "wrong_type" },
	{ "integer", "1e-3", "wrong_type" },
	{ "integer", "1e300", "wrong_type out_of_range" },
	{ "integer", "1e999", "wrong_type out_of_range malformed_json" },
	{ "integer", "9223372036854775807", "out_of_range" },
	{ "integer", "9223372036854775808", "wrong_type out_of_range malformed_json" },
	{ "integer", "-9223372036854775809", "wrong_type out_of_range malformed_json" },
	{ WIDE, "\"5x\"", "wrong_type" },
	{ WIDE, "\"\"", "wrong_type" },
	{ WIDE, "\" 5\"", "wrong_type" },
	{ WIDE, "\"+5\"", "wrong_type" },
	{ WIDE, "\"5.0\"", "wrong_type" },
	{ WIDE, "\"0x5\"", "wrong_type" },
	{ WIDE, "\"5\\u0000\"", "wrong_type" },
	{ WIDE, "\"9223372036854775808\"", "wrong_type" },
	{ WIDE, "\"-9223372036854775809\"", "wrong_type" },
	{ WIDE, "true", "wrong_type" },
	{ WIDE, "null", "wrong_type" },
	{ WIDE, "[]", "wrong_type" },
	{ WIDE, "1.5", "wrong_type" },
	{ WIDE, "9223372036854775807.0", "wrong_type" }, /* a real number does not have as many digits */
	{ WIDE, "9223372036854775808", "wrong_type malformed_json" },
	{ "number", "\"5\"", "wrong_type" },
	{ "number", "true", "wrong_type" },
	{ "number", "null", "wrong_type" },
	{ "number", "[]", "wrong_type" },
	{ "number", "1e300", "out_of_range" },
	{ "number", "-1e300", "out_of_range" },
	{ "number", "1e999", "wrong_type out_of_range malformed_json" },
	{ "boolean", "\"true\"", "wrong_type" },
	{ "boolean", "1", "wrong_type" },
	{ "boolean", "null", "wrong_type" },
	{ "string", "5", "wrong_type" },
	{ "string", "true", "wrong_type" },
	{ "string", "null", "wrong_type" },
	{ "string", "[]", "wrong_type" },
	{ "string", "{}", "wrong_type" },
	{ "string", "\"a\\u0000b\"", "invalid_name invalid_value malformed_json wrong_type out_of_range" },
	{ "string", "\"\\ud800\"", "malformed_json" },
	{ "string", "\"\xff\"", "malformed_json" },
	{ "array", "5", "wrong_type" },
	{ "array", "\"x\"", "wrong_type" },
	{ "array", "{}", "wrong_type" },
	{ "array", "null", "wrong_type" },
	{ "object", "5", "wrong_type" },
	{ "object", "\"x\"", "wrong_type" },
	{ "object", "[]", "wrong_type" },
	{ "object", "null", "wrong_type" },
};

static const struct bad bad_names[] = {
	{ "", "\"\"", "invalid_name" },    { "", "\"a\\nb\"", "invalid_name" }, { "", "\"\\u007f\"", "invalid_name" },
	{ "", "\"{\"", "invalid_name" },   { "", "\"}abc\"", "invalid_name" },  { "", "\".\"", "reserved_name" },
	{ "", "\"..\"", "reserved_name" },
};

static bool has_word(const json_t *schema, const char *member, const char *word)
{
	const char *is = json_string_value(json_object_get(schema, member));

	return is && strcmp(is, word) == 0;
}

static bool lists_type(const json_t *schema, const char *type)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(schema, "type"), i, one)
		if (strcmp(json_string_value(one), type) == 0)
			return true;
	return false;
}

static bool has_type(const json_t *schema, const char *type)
{
	if (lists_type(schema, "string"))
		return strcmp(type, WIDE) == 0;
	return has_word(schema, "type", type) || lists_type(schema, type);
}

static void break_integer(const struct walk *w, const json_t *schema, const char *pointer)
{
	const json_t *low = json_object_get(schema, "minimum"), *high = json_object_get(schema, "maximum");
	char text[48];

	if (json_is_integer(low)) {
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(low) - 1);
		refuse_text(w, text, "out_of_range", pointer);
	}
	if (json_is_integer(high)) {
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(high) + 1);
		refuse_text(w, text, "out_of_range", pointer);
	}
}

/* Tries the next number beyond each end of the range. */
static void break_number(const struct walk *w, const json_t *schema, const char *pointer)
{
	const json_t *low = json_object_get(schema, "minimum"), *high = json_object_get(schema, "maximum");
	char text[48];

	snprintf(text, sizeof(text), "%.9f", json_number_value(low) - 0.00001);
	if (low)
		refuse_text(w, text, "out_of_range", pointer);
	snprintf(text, sizeof(text), "%.9f", json_number_value(high) + 0.00001);
	if (high)
		refuse_text(w, text, "out_of_range", pointer);
}

/*
 * Tries strings that are too long by a byte or two: one of single-byte characters, and one of
 * two-byte characters, with half as many of them.
 */
static void break_length(const struct walk *w, size_t most, const char *codes, const char *pointer)
{
	char text[TEXT_MAX] = "\"";

	assert_in_range(most, 1, TEXT_MAX - 8);
	memset(text + 1, 'a', most + 1);
	strcpy(text + most + 2, "\"");
	refuse_text(w, text, codes, pointer);
	size_t at = 1;
	for (; at <= most + 1; at += 2)
		memcpy(text + at, "\xc3\xa9", 2);
	strcpy(text + at, "\"");
	refuse_text(w, text, codes, pointer);
}

static void break_string(const struct walk *w, const json_t *schema, const char *pointer)
{
	bool name = json_is_true(json_object_get(schema, "x-name"));
	const json_t *most = json_object_get(schema, "x-max-bytes"), *word;
	size_t i;

	if (json_object_get(schema, "enum")) {
		refuse_text(w, "\"nonsense\"", "invalid_value", pointer);
		refuse_text(w, "\"\"", "invalid_value", pointer);
		return;
	}
	if (has_word(schema, "format", "date") || json_object_get(schema, "x-date")) {
		refuse_text(w, "\"2026-02-30\"", "invalid_value out_of_range", pointer);
		refuse_text(w, "\"2026-2-3\"", "invalid_value out_of_range", pointer);
		return;
	}
	for (i = 0; name && i < COUNT(bad_names); i++)
		refuse_text(w, bad_names[i].text, bad_names[i].codes, pointer);
	json_array_foreach(json_object_get(schema, "x-reserved"), i, word) {
		char text[256];
		snprintf(text, sizeof(text), "\"%s\"", json_string_value(word));
		refuse_text(w, text, "reserved_name", pointer);
	}
	if (json_integer_value(json_object_get(schema, "minLength")) > 0 && !name)
		refuse_text(w, "\"\"", "out_of_range invalid_value", pointer);
	if (most && json_integer_value(most) < TEXT_MAX) /* a larger body would reach its own limit first */
		break_length(w, (size_t)json_integer_value(most), name ? "invalid_name" : "out_of_range invalid_value",
			     pointer);
}

static void break_array(const struct walk *w, const json_t *schema, const char *pointer)
{
	size_t most = (size_t)json_integer_value(json_object_get(schema, "maxItems"));
	json_t *item = contract_value(contract_member(schema, "items", NULL)), *many = json_array();

	for (size_t i = 0; i <= most; i++)
		json_array_append(many, item);
	char *text = json_dumps(many, JSON_COMPACT | JSON_ENCODE_ANY);
	if (strlen(text) < BODY_LIMIT - 1000)
		refuse_text(w, text, "out_of_range", pointer);
	if (json_integer_value(json_object_get(schema, "minItems")) > 0)
		refuse_text(w, "[]", "out_of_range", pointer);
	if (json_is_true(json_object_get(schema, "uniqueItems"))) {
		char *one = json_dumps(item, JSON_ENCODE_ANY), twice[512], second[128];
		snprintf(twice, sizeof(twice), "[%s,%s]", one, one);
		snprintf(second, sizeof(second), "%s/1", pointer);
		refuse_text_at(w, twice, "invalid_value", pointer, second);
		free(one);
	}
	free(text);
	json_decref(many);
	json_decref(item);
}

/*
 * Tries everything that breaks one schema. MARK is at the value's place in w->root. `null_fits` is
 * true if a null counts as an absent member.
 */
static void break_value(const struct walk *w, const json_t *schema, const char *pointer, bool null_fits)
{
	null_fits = null_fits || lists_type(schema, "null");
	for (size_t i = 0; i < COUNT(bad_types); i++)
		if (has_type(schema, bad_types[i].type) && !(null_fits && strcmp(bad_types[i].text, "null") == 0))
			refuse_text(w, bad_types[i].text, bad_types[i].codes, pointer);
	if (has_type(schema, "integer"))
		break_integer(w, schema, pointer);
	if (has_word(schema, "type", "number"))
		break_number(w, schema, pointer);
	if (has_word(schema, "type", "string"))
		break_string(w, schema, pointer);
	if (has_word(schema, "type", "array"))
		break_array(w, schema, pointer);
}

/* Replaces the object and everything in it by `instead`. */
static void refuse_object(const struct walk *w, json_t *object, const json_t *instead, const char *codes,
			  const char *pointer)
{
	json_t *was = json_copy(object);

	json_object_clear(object);
	json_object_update(object, (json_t *)(uintptr_t)instead);
	char *text = json_dumps(w->root, JSON_COMPACT);
	must_refuse(w->seen, send_bytes(w->op, text, strlen(text)), 400, codes, pointer, "%s = %.60s", pointer, text);
	free(text);
	json_object_clear(object);
	json_object_update(object, was);
	json_decref(was);
}

static json_t *map_of(size_t members, const char *key, const json_t *value)
{
	json_t *map = json_object();
	char name[KEY_MAX + 16];

	for (size_t i = 0; i < members; i++) {
		snprintf(name, sizeof(name), i ? "%s%zu" : "%s", key, i);
		json_object_set(map, name, (json_t *)(uintptr_t)value);
	}
	return map;
}

/* Walks a map: its keys are data, and have a separate rule. */
static void walk_map(const struct walk *w, json_t *map, const json_t *schema, const char *pointer)
{
	static const char *const bad_keys[] = { "", "{", "}abc", ".", "..", "a\nb", "\x7f" };
	const json_t *value_schema = contract_member(schema, "additionalProperties", NULL);
	json_t *value = contract_value(value_schema);
	size_t most = (size_t)json_integer_value(json_object_get(schema, "maxProperties"));
	const json_t *key_schema = contract_member(schema, "propertyNames", NULL);
	size_t key_most = (size_t)json_integer_value(json_object_get(key_schema, "x-max-bytes"));
	char below[512], long_key[KEY_MAX + 2] = "";
	/* A key that is not a name is a text of at least one byte. */
	bool names = json_is_true(json_object_get(key_schema, "x-name"));

	for (size_t i = 0; i < (names ? COUNT(bad_keys) : 1); i++) {
		json_t *bad = map_of(1, bad_keys[i], value);
		snprintf(below, sizeof(below), "%s/%s", pointer, bad_keys[i]);
		refuse_object(w, map, bad, names ? "invalid_name reserved_name" : "out_of_range", below);
		json_decref(bad);
	}
	assert_in_range(key_most, 1, KEY_MAX);
	memset(long_key, 'k', key_most + 1);
	snprintf(below, sizeof(below), "%s/%s", pointer, long_key);
	json_t *bad = map_of(1, long_key, value), *many = map_of(most + 1, "k", value), *none = json_object();
	refuse_object(w, map, bad, names ? "invalid_name" : "out_of_range", below);
	refuse_object(w, map, many, "out_of_range", pointer);
	if (json_integer_value(json_object_get(schema, "minProperties")) > 0)
		refuse_object(w, map, none, "out_of_range", pointer);
	snprintf(below, sizeof(below), "%s/a~1b~0c", pointer);
	json_object_set_new(map, "a/b~c", json_string(MARK));
	break_value(w, value_schema, below, false);
	json_object_del(map, "a/b~c");
	json_decref(bad);
	json_decref(many);
	json_decref(none);
	json_decref(value);
}

static bool is_listed(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (strcmp(json_string_value(one), name) == 0)
			return true;
	return false;
}

/* Returns true if a null of this member is the same as no member. */
static bool null_is_absent(const struct contract_operation *op, const json_t *schema, const char *name)
{
	const json_t *member = contract_member(schema, "properties", name);

	return strcmp(op->method, "PATCH") != 0 && !json_object_get(member, "x-any") &&
	       !is_listed(json_object_get(schema, "required"), name);
}

static void walk_object(const struct walk *w, json_t *object, const json_t *schema, const char *pointer,
			unsigned depth);

/* Walks below a member: all fields of an object, and the first item of an array. */
static void walk_below(const struct walk *w, json_t *value, const json_t *schema, const char *pointer, unsigned depth)
{
	const json_t *items = contract_member(schema, "items", NULL);
	char below[256];

	if (has_word(schema, "type", "object"))
		walk_object(w, value, schema, pointer, depth);
	if (!has_word(schema, "type", "array") || !items)
		return;
	snprintf(below, sizeof(below), "%s/0", pointer);
	json_t *first = json_incref(json_array_get(value, 0));
	json_array_set_new(value, 0, json_string(MARK));
	break_value(w, items, below, false);
	json_array_set(value, 0, first);
	walk_below(w, first, items, below, depth + 1);
	json_decref(first);
}

static void walk_object(const struct walk *w, json_t *object, const json_t *schema, const char *pointer, unsigned depth)
{
	const json_t *properties = json_object_get(schema, "properties"), *required;
	const char *name;
	json_t *node;
	char below[256];
	size_t i;

	assert_in_range(depth, 0, 8);
	if (json_is_object(json_object_get(schema, "additionalProperties"))) {
		walk_map(w, object, schema, pointer);
		return;
	}
	snprintf(below, sizeof(below), "%s/nonsense", pointer);
	json_object_set_new(object, "nonsense", json_string(MARK));
	refuse_text(w, "1", "unknown_field", below);
	json_object_del(object, "nonsense");
	json_array_foreach(json_object_get(schema, "required"), i, required) {
		/* Renames the member, so that it is missing. */
		json_t *copy = json_deep_copy(w->root),
		       *was = json_incref(json_object_get(object, json_string_value(required)));
		json_object_del(object, json_string_value(required));
		char *text = json_dumps(w->root, JSON_COMPACT);
		snprintf(below, sizeof(below), "%s/%s", pointer, json_string_value(required));
		must_refuse(w->seen, send_bytes(w->op, text, strlen(text)), 400, "missing_field", below, "%s missing",
			    below);
		json_object_set_new(object, json_string_value(required), was);
		free(text);
		json_decref(copy);
	}
	json_object_foreach((json_t *)(uintptr_t)properties, name, node) {
		const json_t *member = contract_member(schema, "properties", name);
		json_t *was = json_incref(json_object_get(object, name));
		snprintf(below, sizeof(below), "%s/%s", pointer, name);
		json_object_set_new(object, name, json_string(MARK));
		break_value(w, member, below, null_is_absent(w->op, schema, name));
		json_t *fits = was ? json_incref(was) : contract_value(member);
		json_object_set(object, name, fits);
		walk_below(w, fits, member, below, depth + 1);
		json_decref(fits);
		if (was)
			json_object_set_new(object, name, was);
		else
			json_object_del(object, name);
	}
}

static bool excludes(const json_t *schema, const char *name, const char *other)
{
	return is_listed(json_object_get(contract_member(schema, "properties", name), "x-excludes"), other);
}

static bool is_required(const json_t *schema, const char *name)
{
	return is_listed(json_object_get(schema, "required"), name) ||
	       json_is_true(json_object_get(contract_member(schema, "properties", name), "x-required"));
}

/*
 * Returns an object of two members that exclude each other, and the members that either requires.
 */
static json_t *pair_of(const json_t *schema, const char *name, const char *excluded)
{
	json_t *pair = json_object(), *node;
	const char *beside;

	json_object_foreach(json_object_get(schema, "properties"), beside, node) {
		bool is_needed = is_required(schema, beside) && !excludes(schema, beside, name) &&
				 !excludes(schema, beside, excluded);
		if (is_needed || strcmp(beside, name) == 0 || strcmp(beside, excluded) == 0)
			json_object_set_new(pair, beside,
					    contract_value(contract_member(schema, "properties", beside)));
	}
	return pair;
}

/* Tries each pair of members that exclude each other. */
static void exclusions(const struct walk *w, const json_t *schema)
{
	const char *name;
	json_t *node, *excluded;
	char pointer[256];
	size_t i;

	json_object_foreach(json_object_get(schema, "properties"), name, node) {
		snprintf(pointer, sizeof(pointer), "/%s", name);
		json_array_foreach(json_object_get(contract_member(schema, "properties", name), "x-excludes"), i,
				   excluded) {
			json_t *pair = pair_of(schema, name, json_string_value(excluded));
			refuse_object(w, w->root, pair, "invalid_value", pointer);
			json_decref(pair);
		}
	}
}

static void members(const struct contract_operation *op, struct refusals *seen)
{
	if (!op->body_schema)
		return;
	struct walk w = { .op = op, .seen = seen, .root = contract_body(op) };
	walk_object(&w, w.root, op->body_schema, "", 0);
	exclusions(&w, op->body_schema);
	json_decref(w.root);
}

/* ---- A null where a member may be absent ---- */

/* Sends the body to a Redis without keys. */
static struct answer send_afresh(const struct walk *w)
{
	char *text = json_dumps(w->root, JSON_COMPACT);

	server_command(&redis, "FLUSHALL");
	struct answer a = send_bytes(w->op, text, strlen(text));
	free(text);
	return a;
}

static bool has_same_outcome(struct answer a, struct answer b)
{
	const char *code = json_string_value(json_at(a, "/code")), *other = json_string_value(json_at(b, "/code"));

	return a.status == b.status && strcmp(code ? code : "", other ? other : "") == 0;
}

/* The body with a null in the place of the member must get the answer of the body without it. */
static void null_as_absent(const struct walk *w, json_t *object, const char *name, const char *pointer)
{
	json_t *was = json_incref(json_object_get(object, name));

	json_object_del(object, name);
	struct answer without = send_afresh(w);
	json_object_set_new(object, name, json_null());
	struct answer with = send_afresh(w);
	w->seen->seen++;
	if (!with.status || !has_same_outcome(without, with))
		note_flaw(w->seen, with, "%s = null", pointer);
	json_object_del(object, name);
	if (was)
		json_object_set_new(object, name, was);
}

static void null_members(const struct walk *w, json_t *object, const json_t *schema, const char *pointer)
{
	const char *name;
	json_t *node;
	char below[256];

	json_object_foreach(json_object_get(schema, "properties"), name, node) {
		const json_t *member = contract_member(schema, "properties", name);
		json_t *value = json_object_get(object, name);
		snprintf(below, sizeof(below), "%s/%s", pointer, name);
		if (null_is_absent(w->op, schema, name))
			null_as_absent(w, object, name, below);
		if (json_is_array(value)) {
			value = json_array_get(value, 0);
			member = contract_member(member, "items", NULL);
			strcat(below, "/0");
		}
		if (json_is_object(value))
			null_members(w, value, member, below);
	}
}

static void nulls(const struct contract_operation *op, struct refusals *seen)
{
	/* A hold without max_hold_ms would not end. */
	if (!op->body_schema || strcmp(op->id, "lock_hold") == 0)
		return;
	struct walk w = { .op = op, .seen = seen, .root = contract_body(op) };
	null_members(&w, w.root, op->body_schema, "");
	json_decref(w.root);
	server_command(&redis, "FLUSHALL");
	server_command(&redis, "CONFIG RESETSTAT");
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

/* Returns true when the lock of a hold is free, which is after the answer has ended. */
static bool is_released(void)
{
	char *target = contract_target(contract_operation("lock_get"), NULL, NULL);
	struct answer a = http(client, "GET", target, NULL);

	free(target);
	assert_status(a, 200);
	return !bool_at(a, "/held");
}

/*
 * The daemon must accept the valid body. Otherwise it would refuse everything above for the wrong
 * reason.
 */
static void fits(const struct contract_operation *op, struct refusals *seen)
{
	if (!op->body_schema)
		return;
	json_t *body = contract_body(op);
	char *text = json_dumps(body, JSON_COMPACT);
	struct answer a = send_bytes(op, text, strlen(text));
	seen->seen++;
	if (a.status == 0 || a.status == 400 || a.status >= 500)
		note_flaw(seen, a, "the contract's example");
	free(text);
	json_decref(body);
	if (strcmp(op->id, "lock_hold") == 0)
		wait_until(is_released(), 5000);
	server_command(&redis, "FLUSHALL");
	server_command(&redis, "CONFIG RESETSTAT");
}

int main(void)
{
	static const struct operation_test tests[] = {
		{ "members", members },
		{ "asked Redis for nothing", asked_nothing },
		{ "a body that fits", fits },
		{ "nulls", nulls },
	};

	return run_per_operation("hostile members", tests, COUNT(tests), set_up, tear_down);
}
