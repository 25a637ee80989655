/*
 * The test sends every operation of the contract with each kind of token: no token, an unknown
 * token, a token with all scopes but the needed one, a token with only that scope, and two tokens
 * at once. The contract names the needed scope (x-scope), so a new operation cannot be forgotten.
 */
#include "../support/per_operation.h"
#include "../support/raw.h"
#include "../support/stage.h"
#include "../support/tokens.h"
#include "test.h"

enum { SCOPE_BYTES = 512, NEEDS_MAX = 24, ACTIONS_MAX = 128 };

/*
 * One scope that the example request of an operation needs: "kind:name:action" or "kind:action".
 * The name is percent-encoded.
 */
struct need {
	char kind[32], name[SCOPE_BYTES], action[32];
};

/* All actions of the contract: "kind:action", or "kind::action" for a kind that has names. */
static char actions[ACTIONS_MAX][80];
static size_t action_count;

/* ---- The scopes of the contract ---- */

static void encode(char *out, size_t size, const char *name)
{
	size_t n = 0;

	for (; *name && n + 4 < size; name++)
		n += (size_t)snprintf(out + n, size - n, strchr(":*%#", *name) ? "%%%02X" : "%c", (unsigned char)*name);
	out[n] = '\0';
}

/*
 * Copies the names that the example request has in `field`: in its path, its query or its body.
 * With an inner member, copies that member of each item.
 */
static size_t names_of(const struct contract_operation *op, const json_t *body, char *field,
		       char names[NEEDS_MAX][SCOPE_BYTES])
{
	char *inner = strchr(field, '.');
	size_t count = 0, i;
	const json_t *item;

	if (inner)
		*inner++ = '\0';
	json_t *value = json_incref(json_object_get(body, field));
	for (i = 0; i < op->parameter_count; i++)
		if (strcmp(op->parameters[i].name, field) == 0 && op->parameters[i].required)
			value = contract_value(op->parameters[i].schema);
	if (json_is_array(value) && !json_object_get(body, field)) /* a target takes one item of a list */
		while (json_array_size(value) > 1)
			json_array_remove(value, 1);
	if (json_is_string(value))
		encode(names[count++], SCOPE_BYTES, json_string_value(value));
	json_array_foreach(value, i, item) {
		const json_t *name = inner ? json_object_get(item, inner) : item;
		if (name && count < NEEDS_MAX)
			encode(names[count++], SCOPE_BYTES, json_string_value(name));
	}
	json_decref(value);
	return count;
}

static void split_scope(const char *text, struct need *n, char field[64])
{
	*field = '\0';
	if (sscanf(text, "%31[^:]:{%63[^}]}:%31[a-z_]", n->kind, field, n->action) == 3)
		return;
	*field = '\0';
	if (sscanf(text, "%31[^:]:%31[a-z_]", n->kind, n->action) != 2)
		fail_msg("the contract has the scope '%s'", text);
}

static size_t needs_of(const struct contract_operation *op, struct need needs[NEEDS_MAX])
{
	char field[64] = "", names[NEEDS_MAX][SCOPE_BYTES];
	struct need last = { .name = "" };
	json_t *body = contract_body(op);
	size_t count = 0, many = json_is_array(op->scope) ? json_array_size(op->scope) : 1;

	for (size_t i = 0; i < many; i++) {
		const json_t *one = json_is_array(op->scope) ? json_array_get(op->scope, i) : op->scope;
		const char *text = json_string_value(one);
		struct need n = { .name = "" };
		if (strstr(text, " if ") || strcmp(text, "any") == 0 || strcmp(text, "none") == 0)
			continue; /* the examples set no flag */
		split_scope(text, &n, field);
		last = n;
		size_t found = *field ? names_of(op, body, field, names) : 1;
		for (size_t k = 0; k < found && count < NEEDS_MAX; k++) {
			needs[count] = n;
			if (*field)
				snprintf(needs[count].name, sizeof(needs[count].name), "%s", names[k]);
			count++;
		}
	}
	json_decref(body);
	if (count == 0 && *field) { /* a request without a name asks for everything */
		snprintf(needs[0].kind, sizeof(needs[0].kind), "%s", last.kind);
		snprintf(needs[0].action, sizeof(needs[0].action), "%s", last.action);
		snprintf(needs[0].name, sizeof(needs[0].name), "*");
		count = 1;
	}
	return count;
}

static void print_scope(FILE *out, const char *kind, const char *name, const char *action)
{
	if (*name)
		fprintf(out, " %s:%s:%s", kind, name, action);
	else
		fprintf(out, " %s:%s", kind, action);
}

static void learn_actions(void)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const json_t *scope = contract_at(i)->scope;
		size_t many = json_is_array(scope) ? json_array_size(scope) : 1;
		for (size_t k = 0; k < many; k++) {
			const char *text = json_string_value(json_is_array(scope) ? json_array_get(scope, k) : scope);
			struct need n;
			char field[64], known[80];
			if (!strchr(text, ':'))
				continue;
			split_scope(text, &n, field);
			snprintf(known, sizeof(known), "%s:%s%s", n.kind, *field ? "*:" : "", n.action);
			size_t at = 0;
			while (at < action_count && strcmp(actions[at], known) != 0)
				at++;
			if (at == action_count && action_count < ACTIONS_MAX)
				snprintf(actions[action_count++], sizeof(actions[0]), "%s", known);
		}
	}
}

/* ---- The file of tokens ---- */

/*
 * Prints the scopes for everything but this action, and for this action on names that differ
 * slightly.
 */
static void print_all_but(FILE *out, const struct contract_operation *op, size_t i, const struct need *needs,
			  size_t count)
{
	const struct need *without = &needs[i];
	char token[128], own[80], *scopes = NULL;
	size_t size = 0, len = strlen(without->name);
	FILE *text = open_memstream(&scopes, &size);

	snprintf(own, sizeof(own), "%s:%s%s", without->kind, len ? "*:" : "", without->action);
	for (size_t k = 0; k < action_count; k++)
		if (strcmp(actions[k], own) != 0)
			fprintf(text, " %s", actions[k]);
	if (len && strcmp(without->name, "*") != 0) {
		fprintf(text, " %s:%sx:%s", without->kind, without->name, without->action);
		fprintf(text, " %s:x%s:%s", without->kind, without->name, without->action);
		fprintf(text, " %s:%s%%3A*:%s", without->kind, without->name, without->action);
		fprintf(text, " %s:%%2A:%s", without->kind, without->action);
		if (len > 1 && without->name[len - 3 < len ? len - 3 : 0] != '%')
			fprintf(text, " %s:%.*s:%s", without->kind, (int)len - 1, without->name, without->action);
		for (size_t k = 0; k < count; k++)
			if (strcmp(needs[k].name, without->name) != 0 || strcmp(needs[k].action, without->action) != 0)
				print_scope(text, needs[k].kind, needs[k].name, needs[k].action);
	}
	fclose(text);
	snprintf(token, sizeof(token), "near-%s-%zu", op->id, i);
	token_print(out, token, scopes + 1);
	free(scopes);
}

static void print_tokens(FILE *out)
{
	struct need needs[NEEDS_MAX];

	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		size_t count = needs_of(op, needs), size = 0;
		char token[128], *scopes = NULL;
		FILE *text = open_memstream(&scopes, &size);
		for (size_t k = 0; k < count; k++) {
			print_scope(text, needs[k].kind, needs[k].name, needs[k].action);
			print_all_but(out, op, k, needs, count);
		}
		if (count == 0)
			fprintf(text, " topics:nothing:publish");
		fclose(text);
		snprintf(token, sizeof(token), "good-%s", op->id);
		token_print(out, token, scopes + 1);
		free(scopes);
	}
}

static int set_up(void **state)
{
	learn_actions();
	return stage_open_with_tokens(print_tokens);
}

/* ---- The requests ---- */

/* Sends the example request with up to two more headers. */
static struct answer ask(const struct contract_operation *op, const char *one, const char *other)
{
	char *target = contract_target(op, NULL, NULL);
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct answer a = http(client, op->method, target, text, one, other);

	free(text);
	json_decref(body);
	free(target);
	return a;
}

static bool is_open(const struct contract_operation *op)
{
	const char *text = json_string_value(op->scope);

	return text && strcmp(text, "none") == 0;
}

static bool is_refused(struct answer a)
{
	const char *code = json_string_value(json_at(a, "/code"));

	return a.status == 401 || (code && strcmp(code, "forbidden") == 0);
}

static const char absent[] = "send a token in one header 'Authorization: Bearer TOKEN'";
static const char other[] = "the header 'Authorization' must be 'Bearer TOKEN'";
static const char unknown[] = "the token is not in the file of --tokens";

/* `detail` is NULL if any of these three will do. */
static void must_refuse_alike(struct refusals *seen, struct answer a, const char *what, const char *detail)
{
	static const char challenge[] = "Bearer realm=\"patternd\"";
	const char *asked = header_of(a, "WWW-Authenticate"), *told = json_string_value(json_at(a, "/detail"));

	must_refuse(seen, a, 401, "unauthorized", NULL, "%s", what);
	if (told && !detail)
		detail = strcmp(told, other) == 0 ? other : strcmp(told, unknown) == 0 ? unknown : absent;
	if (!asked || strcmp(asked, challenge) != 0 || !told || strcmp(told, detail) != 0)
		note_flaw(seen, a, "%s: the refusal differs from the others", what);
}

static void without_a_token(const struct contract_operation *op, struct refusals *seen)
{
	static const struct {
		const char *header, *detail;
	} none[] = { { NULL, absent },
		     { "Authorization;", other }, /* libcurl sends it without a value */
		     { "Authorization: Bearer", other },
		     { "Authorization: Bearer unknown", unknown },
		     { "Authorization: Basic Z29vZDpnb29k", other },
		     { "Authorization: Digest username=\"a\"", other },
		     { "X-Api-Key: unknown", absent },
		     { "Cookie: token=unknown", absent } };

	for (size_t i = 0; i < COUNT(none); i++) {
		const char *header = none[i].header;
		struct answer a = ask(op, header, NULL);
		seen->seen++;
		if (is_open(op) ? is_refused(a) : false)
			note_flaw(seen, a, "'%s': no token should be needed", header ? header : "");
		else if (!is_open(op))
			must_refuse_alike(seen, a, header ? header : "no token", none[i].detail);
	}
}

/* Sends the right token in malformed headers. */
static void malformed_headers(const struct contract_operation *op, struct refusals *seen)
{
	static const char *const forms[] = { "Authorization: good-%s",
					     "Authorization: Bearergood-%s",
					     "Authorization: Bearer good-%sx",
					     "Authorization: Bearer Good-%s",
					     "Authorization: Bearer good-%s,",
					     "Authorization: Bearer \"good-%s\"",
					     "Authorization: Basic good-%s",
					     "Authorization: Bearer good-%s good-%s",
					     "Authorization: Bearer\tgood-%s",
					     "Authorization: Bearer Bearer good-%s",
					     "Proxy-Authorization: Bearer good-%s",
					     "Authorization: Bearer good-%s%%00" };
	char header[256], bearer[256], huge[5000];

	if (is_open(op))
		return;
	for (size_t i = 0; i < COUNT(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(header, sizeof(header), forms[i], op->id, op->id);
#pragma GCC diagnostic pop
		must_refuse_alike(seen, ask(op, header, NULL), header, NULL);
	}
	snprintf(bearer, sizeof(bearer), "Authorization: Bearer good-%s", op->id);
	must_refuse_alike(seen, ask(op, bearer, bearer), "the same token twice", NULL);
	must_refuse_alike(seen, ask(op, bearer, "Authorization: Bearer unknown"), "a good one and another", NULL);
	must_refuse_alike(seen, ask(op, "Authorization: Basic eDp5", bearer), "a good one behind another scheme", NULL);
	snprintf(huge, sizeof(huge), "Authorization: Bearer %0*d", 4000, 1);
	must_refuse_alike(seen, ask(op, huge, NULL), "4000 bytes", NULL);
}

/* Sends tokens with every scope but the needed one. */
static void near_misses(const struct contract_operation *op, struct refusals *seen)
{
	struct need needs[NEEDS_MAX];
	size_t count = needs_of(op, needs);
	char header[256], scope[SCOPE_BYTES + 80];

	for (size_t i = 0; i < count; i++) {
		snprintf(header, sizeof(header), "Authorization: Bearer near-%s-%zu", op->id, i);
		struct answer a = ask(op, header, NULL);
		must_refuse(seen, a, 403, "forbidden", NULL, "all but %s:%s:%s", needs[i].kind, needs[i].name,
			    needs[i].action);
		const char *name = strcmp(needs[i].name, "*") == 0 ? "NAME" : needs[i].name;
		snprintf(scope, sizeof(scope), "'%s:%s%s%s'", needs[i].kind, name, *name ? ":" : "", needs[i].action);
		const char *detail = json_string_value(json_at(a, "/detail"));
		if (!detail || !strstr(detail, scope))
			note_flaw(seen, a, "the detail should name %s", scope);
	}
}

static void just_that(const struct contract_operation *op, struct refusals *seen)
{
	static const char *const forms[] = { "Authorization: Bearer good-%s", "authorization: bearer good-%s",
					     "AUTHORIZATION: BEARER   good-%s" };
	char header[256];

	for (size_t i = 0; i < COUNT(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(header, sizeof(header), forms[i], op->id);
#pragma GCC diagnostic pop
		struct answer a = ask(op, header, NULL);
		seen->seen++;
		if (a.status == 0 || is_refused(a))
			note_flaw(seen, a, "%s", header);
	}
}

/* The daemon must ask for a token before it reads any byte of the body. */
static void before_the_body(const struct contract_operation *op, struct refusals *seen)
{
	char rest[256];

	if (!op->body_schema)
		return;
	char *target = contract_target(op, NULL, NULL);
	struct raw *r = raw_connect(patternd.port);
	snprintf(rest, sizeof(rest),
		 "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n");
	struct answer a = raw_exchange(r, op->method, target, rest, 5000);
	must_refuse(seen, a, 401, "unauthorized", NULL, "no token, and no byte of the body");
	raw_close(r);
	free(target);
}

int main(void)
{
	static const struct operation_test tests[] = {
		{ "no token", without_a_token },        { "malformed headers", malformed_headers },
		{ "near misses", near_misses },         { "just that", just_that },
		{ "before the body", before_the_body },
	};
	return run_per_operation("access", tests, COUNT(tests), set_up, stage_close);
}
