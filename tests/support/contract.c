/* contract: reads openapi.json into a table of operations; see contract.h. */
#include "contract.h"

#include <ctype.h>
#include <pthread.h>

#include "test.h"

enum { OPERATIONS_MAX = 256 };

static json_t *document;
static json_t *merged; /* an array that owns the nodes that resolve() made */
static struct contract_operation operations[OPERATIONS_MAX];
static size_t operation_count;

static const json_t *follow(const char *reference)
{
	const json_t *at = document;
	char key[128];

	while (at && (reference = strchr(reference, '/'))) {
		size_t len = strcspn(++reference, "/");
		snprintf(key, sizeof(key), "%.*s", (int)len, reference);
		at = json_object_get(at, key);
	}
	return at;
}

/*
 * Resolves a node: to itself, or to the target of its $ref, whose members the members beside the
 * $ref replace.
 */
static const json_t *resolve(const json_t *node)
{
	const char *reference = json_string_value(json_object_get(node, "$ref"));

	if (!reference)
		return node;
	const json_t *target = resolve(follow(reference));
	if (json_object_size(node) == 1)
		return target;
	json_t *both = json_copy((json_t *)(uintptr_t)target);
	json_object_update(both, (json_t *)(uintptr_t)node);
	json_object_del(both, "$ref");
	json_array_append_new(merged, both);
	return both;
}

static const json_t *example_of(const json_t *media)
{
	const json_t *one = json_object_get(media, "example"), *named;
	const char *name;

	if (one)
		return one;
	json_object_foreach((json_t *)(uintptr_t)json_object_get(media, "examples"), name, named) {
		return json_object_get(resolve(named), "value");
	}
	one = json_object_get(resolve(json_object_get(media, "schema")), "example");
	return one ? one : json_array_get(json_object_get(resolve(json_object_get(media, "schema")), "examples"), 0);
}

static void add_parameters(struct contract_operation *op, const json_t *list)
{
	size_t i;
	const json_t *item;

	json_array_foreach(list, i, item) {
		const json_t *p = resolve(item);
		if (op->parameter_count == CONTRACT_PARAMETERS_MAX)
			fail_msg("%s has more than %d parameters", op->id, CONTRACT_PARAMETERS_MAX);
		const json_t *schema = resolve(json_object_get(p, "schema"));
		const json_t *example = json_object_get(p, "example");
		if (example && !json_object_get(schema, "example")) {
			json_t *with = json_copy((json_t *)(uintptr_t)schema);
			json_object_set(with, "example", (json_t *)(uintptr_t)example);
			json_array_append_new(merged, with);
			schema = with;
		}
		op->parameters[op->parameter_count++] = (struct contract_parameter){
			.name = json_string_value(json_object_get(p, "name")),
			.in = json_string_value(json_object_get(p, "in")),
			.required = json_is_true(json_object_get(p, "required")),
			.schema = schema,
		};
	}
}

static void add_operation(const char *path, const char *method, const json_t *node)
{
	static const char *const names[][2] = {
		{ "get", "GET" }, { "put", "PUT" }, { "post", "POST" }, { "patch", "PATCH" }, { "delete", "DELETE" }
	};
	struct contract_operation *op = &operations[operation_count];

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(names[i][0], method) == 0)
			op->method = names[i][1];
	if (!op->method)
		return;
	if (++operation_count == OPERATIONS_MAX)
		fail_msg("more than %d operations", OPERATIONS_MAX);
	op->path = path;
	op->id = json_string_value(json_object_get(node, "operationId"));
	op->responses = json_object_get(node, "responses");
	const char *effect = json_string_value(json_object_get(node, "x-effect"));
	op->writes = effect && strcmp(effect, "writes") == 0;
	op->stale = json_is_true(json_object_get(node, "x-stale"));
	op->forwarded = json_is_true(json_object_get(node, "x-forwarded"));
	op->scope = json_object_get(node, "x-scope");
	op->replay = json_string_value(json_object_get(node, "x-replay"));
	op->tail = json_is_true(json_object_get(node, "x-tail"));
	add_parameters(op, json_object_get(node, "parameters"));
	const json_t *body = resolve(json_object_get(node, "requestBody"));
	const json_t *media = json_object_get(json_object_get(body, "content"), "application/json");
	op->body_schema = resolve(json_object_get(media, "schema"));
	op->body_required = json_is_true(json_object_get(body, "required"));
	op->body_example = example_of(media);
	op->body_media = media;
}

static void load(void)
{
	const char *file = getenv("PATTERND_OPENAPI"), *path, *method;
	json_t *item, *node;
	json_error_t error;

	document = json_load_file(file ? file : "build/generated/openapi.json", 0, &error);
	merged = json_array();
	json_object_foreach(json_object_get(document, "paths"), path, item) {
		json_object_foreach(item, method, node) {
			add_operation(path, method, node);
		}
	}
}

size_t contract_count(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return operation_count;
}

const struct contract_operation *contract_at(size_t i)
{
	return &operations[i];
}

const struct contract_operation *contract_operation(const char *id)
{
	for (size_t i = 0; i < contract_count(); i++)
		if (strcmp(operations[i].id, id) == 0)
			return &operations[i];
	return NULL;
}

/*
 * Returns how well a target fits the path of an operation: the number of literal segments, or -1
 * when it does not fit.
 */
static int fit(const struct contract_operation *op, const char *target)
{
	const char *template = op->path, *tail = op->tail ? strrchr(template, '/') : NULL;
	int literal = 0;

	while (*template == '/' && (*target == '/' || template == tail)) {
		if (template == tail)
			return literal;
		size_t t = strcspn(++template, "/"), len = strcspn(++target, "/?");
		if (*template == '{') {
			if (len == 0)
				return -1;
		} else if (t == len && strncmp(template, target, t) == 0) {
			literal++;
		} else {
			return -1;
		}
		template += t;
		target += len;
	}
	return *template == '\0' && (*target == '\0' || *target == '?') ? literal : -1;
}

const struct contract_operation *contract_find(const char *method, const char *target)
{
	const struct contract_operation *best = NULL;
	int best_fit = -1;

	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	for (size_t i = 0; i < contract_count(); i++) {
		bool takes = operations[i].forwarded || strcmp(operations[i].method, method) == 0;
		int fits = takes ? fit(&operations[i], target) : -1;
		if (fits > best_fit) {
			best_fit = fits;
			best = &operations[i];
		}
	}
	return best;
}

const json_t *contract_member(const json_t *schema, const char *member, const char *inner)
{
	const json_t *found = resolve(json_object_get(schema, member));

	return inner ? resolve(json_object_get(found, inner)) : found;
}

static bool has_type(const json_t *schema, const char *type)
{
	const char *is = json_string_value(json_object_get(schema, "type"));

	return is && strcmp(is, type) == 0;
}

static json_t *least_object(const json_t *schema)
{
	const json_t *required = json_object_get(schema, "required"), *name;
	json_t *made = json_object();
	size_t i;

	json_array_foreach(required, i, name) {
		const char *key = json_string_value(name);
		json_object_set_new(made, key, contract_value(contract_member(schema, "properties", key)));
	}
	return made;
}

json_t *contract_value(const json_t *schema)
{
	static const char *const given[] = { "example", "default", "const" };

	schema = resolve(schema);
	for (size_t i = 0; i < COUNT(given); i++)
		if (json_object_get(schema, given[i]))
			return json_deep_copy(json_object_get(schema, given[i]));
	if (json_array_size(json_object_get(schema, "examples")))
		return json_deep_copy(json_array_get(json_object_get(schema, "examples"), 0));
	if (json_array_size(json_object_get(schema, "enum")))
		return json_deep_copy(json_array_get(json_object_get(schema, "enum"), 0));
	if (has_type(schema, "integer") || has_type(schema, "number")) {
		const json_t *minimum = json_object_get(schema, "minimum");
		return minimum ? json_deep_copy(minimum) : json_integer(1);
	}
	if (has_type(schema, "boolean"))
		return json_false();
	if (has_type(schema, "object"))
		return least_object(schema);
	if (has_type(schema, "array"))
		return json_pack("[o]", contract_value(json_object_get(schema, "items")));
	return json_string("a");
}

json_t *contract_body(const struct contract_operation *op)
{
	if (!op->body_schema)
		return NULL;
	json_t *body = op->body_example ? json_deep_copy(op->body_example) : contract_value(op->body_schema);
	if (json_object_get(body, "wait_ms")) /* what it waits for will not come */
		json_object_set_new(body, "wait_ms", json_integer(1));
	if (contract_member(op->body_schema, "properties", "max_hold_ms")) /* the stream would not end */
		json_object_set_new(body, "max_hold_ms", json_integer(1));
	return body;
}

json_t *contract_body_with(const struct contract_operation *op, const char *member)
{
	const char *name;
	json_t *named;

	if (json_object_get(op->body_example, member))
		return json_deep_copy(op->body_example);
	json_object_foreach((json_t *)(uintptr_t)json_object_get(op->body_media, "examples"), name, named) {
		const json_t *value = json_object_get(named, "value");
		if (json_object_get(value, member))
			return json_deep_copy(value);
	}
	return NULL;
}

const char *contract_header(const struct contract_operation *op)
{
	static char text[256];

	for (size_t i = 0; i < op->parameter_count; i++) {
		const struct contract_parameter *p = &op->parameters[i];
		if (!p->required || strcmp(p->in, "header") != 0)
			continue;
		json_t *value = contract_value(p->schema);
		snprintf(text, sizeof(text), "%s: %s", p->name, json_string_value(value));
		json_decref(value);
		return text;
	}
	return NULL;
}

/*
 * Prints a value as a target has it: percent-encoded text, digits, or the first item of an array.
 */
static void print_value(FILE *out, const json_t *value)
{
	if (json_is_array(value))
		value = json_array_get(value, 0);
	if (!json_is_string(value)) {
		json_dumpf(value, out, JSON_ENCODE_ANY);
		return;
	}
	for (const char *c = json_string_value(value); *c; c++)
		fprintf(out, isalnum((unsigned char)*c) || strchr("-._~", *c) ? "%c" : "%%%02X", (unsigned char)*c);
}

static void print_parameter(FILE *out, const struct contract_parameter *p, const char *name, const char *value)
{
	if (name && strcmp(p->name, name) == 0) {
		fputs(value, out);
		return;
	}
	json_t *own = contract_value(p->schema);
	print_value(out, own);
	json_decref(own);
}

static const struct contract_parameter *path_parameter(const struct contract_operation *op, const char *at, size_t len)
{
	for (size_t i = 0; i < op->parameter_count; i++)
		if (strlen(op->parameters[i].name) == len && strncmp(op->parameters[i].name, at, len) == 0)
			return &op->parameters[i];
	return NULL;
}

bool contract_path_takes(const char *path, const char *method)
{
	for (size_t i = 0; i < contract_count(); i++)
		if (strcmp(contract_at(i)->path, path) == 0 && strcmp(contract_at(i)->method, method) == 0)
			return true;
	return false;
}

char *contract_target(const struct contract_operation *op, const char *name, const char *value)
{
	char *target = NULL, mark = '?';
	size_t size = 0;
	FILE *out = open_memstream(&target, &size);

	for (const char *c = op->path; *c; c++) {
		size_t len = *c == '{' ? strcspn(c + 1, "}") : 0;
		const struct contract_parameter *p = len ? path_parameter(op, c + 1, len) : NULL;
		if (p)
			print_parameter(out, p, name, value);
		else
			fputc(*c, out);
		if (p)
			c += len + 1;
	}
	for (size_t i = 0; i < op->parameter_count; i++) {
		const struct contract_parameter *p = &op->parameters[i];
		bool is_named = name && strcmp(name, p->name) == 0;
		if (strcmp(p->in, "query") != 0 || !(p->required || is_named))
			continue;
		fprintf(out, "%c%s=", mark, p->name);
		print_parameter(out, p, name, value);
		mark = '&';
	}
	fclose(out);
	return target;
}
