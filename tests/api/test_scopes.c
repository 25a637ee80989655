/*
 * The daemon enforces the table of scopes in docs/access.md. Each operation is called with a token
 * for each scope, and the table alone decides which calls must return 403. (Another test compares
 * the page with x-scope in the contract.)
 */
#include "../support/contract.h"
#include "../support/stage.h"
#include "../support/tokens.h"
#include "test.h"

enum { SCOPES_MAX = 128, OPERATIONS_MAX = 256, SCOPE_BYTES = 64, CELL_BYTES = 96 };

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

/* ---- All operations with all scopes ---- */

/* A token for each scope of the table. */
static void print_tokens(FILE *out)
{
	char token[SCOPE_BYTES];

	for (size_t i = 0; i < scope_count; i++) {
		snprintf(token, sizeof(token), "only-%zu", i);
		token_print(out, token, scopes[i]);
	}
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
