/*
 * The daemon enforces the table of scopes in docs/access.md. Each operation is called with a token
 * for each scope, and the table alone decides which calls must return 403. (Another test compares
 * the page with x-scope in the contract.)
 *
 * A name in a query or a body needs its own scope (x-scope: 'kind:{field}:action'). Each of them is
 * sent with a token that has every scope but this one, and with a token that has the needed scopes
 * and no other.
 */
#include "../support/contract.h"
#include "../support/stage.h"
#include "../support/tokens.h"
#include "test.h"

enum { SCOPES_MAX = 128, OPERATIONS_MAX = 256, SCOPE_BYTES = 64, CELL_BYTES = 96, GIVEN_MAX = 64 };

/* The table: which scopes an operation needs. */
static char scopes[SCOPES_MAX][SCOPE_BYTES]; /* "locks:*:read" */
static size_t scope_count;
static bool needs[OPERATIONS_MAX][SCOPES_MAX];

/* ---- The table of the page ---- */

/* "GET /locks/{name}", as the page writes it. */
static const char *shown(const struct contract_operation *op)
{
	static char text[CELL_BYTES];

	snprintf(text, sizeof(text), "%s %s", op->forwarded ? "any method" : op->method, op->path);
	return text;
}

static size_t index_of(const char *cell)
{
	for (size_t i = 0; i < contract_count(); i++)
		if (strcmp(shown(contract_at(i)), cell) == 0)
			return i;
	fail_msg("docs/access.md names '%s', which the contract lacks", cell);
	return 0;
}

/*
 * Copies the text of the next `code`, and moves `at` behind it. Returns false if the line has no
 * more.
 */
static bool take_code(const char **at, char code[CELL_BYTES])
{
	size_t before = strcspn(*at, "`\n");

	if ((*at)[before] != '`')
		return false;
	const char *begin = *at + before + 1;
	size_t len = strcspn(begin, "`");
	snprintf(code, CELL_BYTES, "%.*s", (int)len, begin);
	*at = begin + len + 1;
	return true;
}

/*
 * The requests set no flag, so an operation needs the scopes marked "unless", and not the scopes
 * marked "if".
 */
static void read_row(const char *at)
{
	char code[CELL_BYTES], flag[CELL_BYTES];
	bool takes = take_code(&at, code);

	assert_true(takes && scope_count < SCOPES_MAX);
	const char *name = strstr(code, ":NAME:");
	if (name)
		snprintf(scopes[scope_count], SCOPE_BYTES, "%.*s:*%s", (int)(name - code), code, name + 5);
	else
		snprintf(scopes[scope_count], SCOPE_BYTES, "%s", code);
	while (take_code(&at, code)) {
		bool is_if = strncmp(at, " if ", 4) == 0, is_unless = strncmp(at, " unless ", 8) == 0;
		if (is_if || is_unless)
			assert_true(take_code(&at, flag));
		if (!is_if)
			needs[index_of(code)][scope_count] = true;
	}
	scope_count++;
}

static void read_table(void)
{
	char path[512];
	const char *folder = getenv("PATTERND_SOURCE");

	snprintf(path, sizeof(path), "%s/docs/access.md", folder ? folder : ".");
	char *page = file_text(path), *end;
	assert_non_null(page);
	const char *at = strstr(page, "<!-- The table is generated");
	assert_non_null(at);
	end = strstr(at, "<!-- end of the table");
	assert_non_null(end);
	*end = '\0';
	for (at = strstr(at, "\n| `"); at; at = strstr(at + 1, "\n| `"))
		read_row(at + 1);
	assert_true(scope_count > 50);
	free(page);
}

/* ---- Names in queries and bodies ---- */

/* A scope of the contract. A scope that is about no name has no `field`. */
struct need {
	char kind[32], field[32], inner[32], action[32], flag[32];
};

/*
 * A name that a request gives outside of its path. The requests give "theirs" there, and the path
 * has "mine".
 */
static struct given {
	const struct contract_operation *op;
	const char *scope;
	struct need need;
	char path_name[32]; /* the path parameter that has a scope; "" if there is none */
	bool in_query, optional;
} givens[GIVEN_MAX];
static size_t given_count;

static struct need need_of(const char *scope)
{
	struct need n = { .kind = "" };

	if (sscanf(scope, "%31[^:]:{%31[^}]}:%31s if %31s", n.kind, n.field, n.action, n.flag) < 3) {
		memset(n.field, 0, sizeof(n.field));
		assert_true(!strchr(scope, '{') && sscanf(scope, "%31[^:]:%31s", n.kind, n.action) >= 1);
	}
	char *dot = strchr(n.field, '.');
	if (dot) {
		*dot = '\0';
		snprintf(n.inner, sizeof(n.inner), "%s", dot + 1);
	}
	return n;
}

static size_t scopes_of(const struct contract_operation *op)
{
	return json_is_array(op->scope) ? json_array_size(op->scope) : 1;
}

static const char *scope_at(const struct contract_operation *op, size_t i)
{
	return json_string_value(json_is_array(op->scope) ? json_array_get(op->scope, i) : op->scope);
}

static const struct contract_parameter *parameter_of(const struct contract_operation *op, const char *name)
{
	for (size_t i = 0; i < op->parameter_count; i++)
		if (strcmp(op->parameters[i].name, name) == 0)
			return &op->parameters[i];
	return NULL;
}

static bool is_in_path(const struct contract_operation *op, const char *field)
{
	const struct contract_parameter *p = parameter_of(op, field);

	return p && strcmp(p->in, "path") == 0;
}

static bool is_required(const struct contract_operation *op, const char *member)
{
	const json_t *one, *list = json_object_get(op->body_schema, "required");
	size_t i;

	json_array_foreach(list, i, one) {
		if (strcmp(json_string_value(one), member) == 0)
			return true;
	}
	return false;
}

static void find_givens(void)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		struct given g = { .op = op };
		for (size_t k = 0; k < scopes_of(op); k++) {
			g.scope = scope_at(op, k);
			g.need = need_of(g.scope);
			if (is_in_path(op, g.need.field))
				snprintf(g.path_name, sizeof(g.path_name), "%s", g.need.field);
			if (!*g.need.field || is_in_path(op, g.need.field))
				continue;
			assert_true(given_count < GIVEN_MAX);
			g.in_query = parameter_of(op, g.need.field) != NULL;
			g.optional = *g.path_name && !g.in_query && !is_required(op, g.need.field);
			givens[given_count++] = g;
		}
	}
	assert_true(given_count > 15);
}

/* Every scope but the needed one, which the token has for all names that are like "theirs". */
static void print_all_but(FILE *out, const struct given *g)
{
	char without[SCOPE_BYTES];

	snprintf(without, sizeof(without), "%s:*:%s", g->need.kind, g->need.action);
	for (size_t i = 0; i < scope_count; i++)
		if (strcmp(scopes[i], without) != 0)
			fprintf(out, "%s ", scopes[i]);
	for (size_t i = 0; i < 4; i++)
		fprintf(out, "%s:%s:%s ", g->need.kind, (const char *[]){ "mine", "theirsx", "their", "xtheirs" }[i],
			g->need.action);
}

/* The scopes that a request needs which gives this name. */
static void print_just(FILE *out, const struct given *g)
{
	for (size_t i = 0; i < scopes_of(g->op); i++) {
		struct need n = need_of(scope_at(g->op, i));
		if (strcmp(scope_at(g->op, i), g->scope) == 0)
			fprintf(out, "%s:theirs:%s ", n.kind, n.action);
		else if (is_in_path(g->op, n.field) && !*n.flag)
			fprintf(out, "%s:mine:%s ", n.kind, n.action);
	}
}

static void print_tokens_of_names(FILE *out)
{
	static void (*const prints[])(FILE *, const struct given *) = { print_all_but, print_just };
	static const char *const names[] = { "lacks", "just" };
	char token[32];

	find_givens();
	for (size_t i = 0; i < 2 * given_count; i++) {
		char *granted = NULL;
		size_t size = 0;
		FILE *text = open_memstream(&granted, &size);
		prints[i % 2](text, &givens[i / 2]);
		fclose(text);
		snprintf(token, sizeof(token), "%s-%zu", names[i % 2], i / 2);
		token_print(out, token, granted);
		free(granted);
	}
}

/* Puts "theirs" where the example has a name, and returns the place. */
static const char *put_name(json_t *body, const struct need *n)
{
	static char pointer[CELL_BYTES];
	json_t *value = json_object_get(body, n->field);
	bool is_list = json_is_array(value);

	snprintf(pointer, sizeof(pointer), "/%s%s%s%s", n->field, is_list ? "/0" : "", *n->inner ? "/" : "", n->inner);
	while (json_array_size(value) > 1)
		json_array_remove(value, 1);
	if (*n->inner)
		json_object_set_new(is_list ? json_array_get(value, 0) : value, n->inner, json_string("theirs"));
	else if (is_list)
		json_array_set_new(value, 0, json_string("theirs"));
	else
		json_object_set_new(body, n->field, json_string("theirs"));
	return pointer;
}

static struct answer ask_as(const struct given *g, const char *token, const json_t *body)
{
	char header[128], *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	char *target = g->in_query ? contract_target(g->op, g->need.field, "theirs")
				   : contract_target(g->op, g->path_name, "mine");

	snprintf(header, sizeof(header), "Authorization: Bearer %s-%zu", token, (size_t)(g - givens));
	struct answer a = http(client, g->op->method, target, text, header);
	free(target);
	free(text);
	return a;
}

static bool is_forbidden(struct answer a)
{
	const char *code = json_string_value(json_at(a, "/code"));

	return a.status == 0 || a.status == 401 || (code && strcmp(code, "forbidden") == 0);
}

/* The answer names the scope that the token lacks, and the place of the name that needs it. */
static bool names_the_lack(struct answer a, const struct need *n, const char *pointer)
{
	const char *detail = json_string_value(json_at(a, "/detail"));
	const char *told = json_string_value(json_at(a, "/errors/0/pointer"));
	char scope[SCOPE_BYTES];

	snprintf(scope, sizeof(scope), "'%s:theirs:%s'", n->kind, n->action);
	return a.status == 403 && detail && strstr(detail, scope) && told && strcmp(told, pointer) == 0;
}

static unsigned note(const struct given *g, struct answer a, const char *what)
{
	print_error("%s, %s, %s: %d %s\n", g->op->id, g->scope, what, a.status, a.error ? a.error : a.body);
	return 1;
}

static unsigned try_given(const struct given *g)
{
	json_t *body = g->in_query ? NULL : contract_body_with(g->op, g->need.field);
	char query[CELL_BYTES];
	unsigned wrong = 0;

	if (!body && !g->in_query)
		fail_msg("no example of %s has the member %s", g->op->id, g->need.field);
	snprintf(query, sizeof(query), "?%s", g->need.field);
	const char *pointer = body ? put_name(body, &g->need) : query;
	struct answer a = ask_as(g, "lacks", body);
	if (!names_the_lack(a, &g->need, pointer))
		wrong += note(g, a, "all but this scope");
	a = ask_as(g, "just", body);
	if (is_forbidden(a))
		wrong += note(g, a, "just the needed scopes");
	json_object_set_new(body, g->need.field, json_null());
	a = ask_as(g, "lacks", body);
	if (g->optional && is_forbidden(a))
		wrong += note(g, a, "null, without this scope");
	json_object_del(body, g->need.field);
	a = ask_as(g, "lacks", body);
	if (g->optional && is_forbidden(a))
		wrong += note(g, a, "no name, without this scope");
	client_forget(client);
	json_decref(body);
	return wrong;
}

/* ---- All operations with all scopes ---- */

/* A token for each scope of the table. */
static void print_tokens(FILE *out)
{
	char token[SCOPE_BYTES];

	for (size_t i = 0; i < scope_count; i++) {
		snprintf(token, sizeof(token), "only-%zu", i);
		token_print(out, token, scopes[i]);
	}
	print_tokens_of_names(out);
}

static int set_up(void **state)
{
	assert_true(contract_count() <= OPERATIONS_MAX);
	read_table();
	return stage_open_with_tokens(print_tokens);
}

/* Whether this scope alone suffices according to the table. */
static bool suffices(size_t operation, size_t scope)
{
	for (size_t i = 0; i < scope_count; i++)
		if (needs[operation][i] && i != scope)
			return false;
	return true;
}

static unsigned ask(size_t operation)
{
	const struct contract_operation *op = contract_at(operation);
	char *target = contract_target(op, NULL, NULL), header[128];
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	unsigned wrong = 0;

	for (size_t i = 0; i < scope_count; i++) {
		snprintf(header, sizeof(header), "Authorization: Bearer only-%zu", i);
		struct answer a = http(client, op->method, target, text, header);
		const char *code = json_string_value(json_at(a, "/code"));
		bool is_refused = a.status == 401 || (code && strcmp(code, "forbidden") == 0);
		if (a.status != 0 && is_refused != suffices(operation, i))
			continue;
		print_error("%s with %s: %d %s\n", shown(op), scopes[i], a.status, a.error ? a.error : a.body);
		wrong++;
	}
	client_forget(client);
	free(text);
	json_decref(body);
	free(target);
	return wrong;
}

SUITE(.open = set_up, .close = stage_close);

TEST(each_operation_with_each_scope)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < contract_count(); i++)
		wrong += ask(i);
	assert_int_equal(wrong, 0);
}

TEST(a_name_in_a_query_or_a_body_needs_its_scope)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < given_count; i++)
		wrong += try_given(&givens[i]);
	assert_int_equal(wrong, 0);
}
