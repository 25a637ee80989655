/* access: see access.h. It owns the tokens in use. Of a request's token only the digest is kept. */
#include "access/access.h"

#include <nettle/memops.h>
#include <stdio.h>
#include <strings.h>

#include "access/token_file.h"
#include "contract/gateway.h"
#include "core/digest.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "request/answer.h"
#include "request/operation.h"
#include "request/request.h"
#include "request/resource.h"

enum { MAX_TOKEN_BYTES = 512, WHY_BYTES = 1024 };

static struct token_file *table; /* NULL: a token is not required */

static bool admits_path(struct request *req);

bool access_open(void)
{
	char why[WHY_BYTES];

	if (!*config()->tokens)
		return true;
	table = token_file_read(config()->tokens, why, sizeof(why));
	if (!table)
		fprintf(stderr, "patternd: --tokens: %s\n", why);
	else
		gateway_admission(admits_path, access_admit_input);
	return table != NULL;
}

void access_print(void)
{
	if (table)
		printf("# --tokens has %zu token%s\n", table->count, table->count == 1 ? "" : "s");
}

void access_close(void)
{
	if (table)
		token_file_free(table);
	table = NULL;
}

void access_reload(void)
{
	char why[WHY_BYTES];

	if (!table)
		return;
	struct token_file *fresh = token_file_read(config()->tokens, why, sizeof(why));
	if (!fresh) {
		log_event(LOG_ERROR, "tokens_kept", "%s; the tokens read before stay in use", why);
		return;
	}
	access_close();
	table = fresh;
	log_event(LOG_INFO, "tokens_read", "read %zu token%s from %s", table->count, table->count == 1 ? "" : "s",
		  config()->tokens);
}

/* ---- The token ---- */

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~+/=", c));
}

/* Returns the token after "Bearer" (RFC 6750); absent if the header has anything else. */
static struct text bearer(struct text header)
{
	static const char scheme[] = "Bearer ";
	size_t at = sizeof(scheme) - 1, len = header.len;

	if (len <= at || strncasecmp(header.at, scheme, at) != 0)
		return (struct text){ 0 };
	while (at < len && header.at[at] == ' ')
		at++;
	while (len > at && (header.at[len - 1] == ' ' || header.at[len - 1] == '\t'))
		len--;
	if (len == at || len - at > MAX_TOKEN_BYTES)
		return (struct text){ 0 };
	for (size_t i = at; i < len; i++)
		if (!is_token_char(header.at[i]))
			return (struct text){ 0 };
	return (struct text){ header.at + at, len - at };
}

/* Compares every digest in full, even after a match, so that the time it takes reveals nothing. */
static const struct token_file_entry *find(const unsigned char digest[TOKEN_DIGEST_BYTES])
{
	size_t found = 0;

	for (size_t i = 0; i < table->count; i++) {
		size_t is_it = (size_t)memeql_sec(table->digests[i], digest, TOKEN_DIGEST_BYTES);
		found |= (0 - is_it) & (i + 1);
	}
	return found ? &table->entries[found - 1] : NULL;
}

static bool refuse_token(struct request *req, const char *why)
{
	metrics_count(METRIC_tokens_refused);
	answer_header(req, "WWW-Authenticate", "Bearer realm=\"patternd\"");
	answer_problem(req, P_UNAUTHORIZED, "%s", why);
	return false;
}

static const char unknown_token[] = "the token is not in the file of --tokens";

bool access_is_revoked(const struct request *req)
{
	return table && req->caller.token_digest && !find(req->caller.token_digest);
}

/* ---- Scopes ---- */

static bool is_scope(const struct request *req, enum gateway_scope scope)
{
	return req->gateway && req->gateway->scope == scope;
}

typedef bool access_test(const struct scope *s, const struct scope_need *need);

/* True if the scope covers some action on the name. */
static bool covers_name(const struct scope *s, const struct scope_need *need)
{
	return scope_covers(s, &(struct scope_need){ need->kind, need->name, s->action });
}

static bool has_scope(const struct token_file_entry *t, const struct scope_need *need, access_test *covers)
{
	for (size_t i = 0; i < t->scope_count; i++)
		if (covers(&t->scopes[i], need))
			return true;
	return false;
}

/* `place` is where the input has the name; absent if it is in the path, or no name is known. */
static bool refuse_scope(struct request *req, const struct scope_need *need, struct text place)
{
	struct text written = scope_written(&req->arena, need);
	const char *scope = written.at ? written.at : "";

	metrics_count(METRIC_scopes_refused);
	if (place.at)
		answer_field_problem(req, P_FORBIDDEN, place.at, "needs the scope '%s', which the token lacks", scope);
	else
		answer_problem(req, P_FORBIDDEN, "the token lacks the scope '%s'", scope);
	return false;
}

/* `name` is absent if the action has none. */
static bool is_allowed(struct request *req, const struct token_file_entry *t, const struct needed_scope *n,
		       struct text name, access_test *covers)
{
	bool is_any = covers == covers_name, names_action = is_any || is_scope(req, GATEWAY_ACTION);
	const char *action = !names_action ? n->action : req->gateway->action ? req->gateway->action : "*";
	struct scope_need need = { text_of(n->kind), name, text_of(action) },
			  own = { need.kind, need.name, text_of(n->action) };

	if (is_any && req->gateway->action)
		req->gateway->is_blind = !has_scope(t, &need, scope_covers) && !has_scope(t, &own, scope_covers);
	return has_scope(t, &need, covers) || refuse_scope(req, &need, (struct text){ 0 });
}

static bool is_in_path(const struct operation *op, const struct needed_scope *n)
{
	return n->flag < 0 && (n->field < 0 || op->fields[n->field].place == IN_PATH);
}

/* Returns true if the decision also needs the input. */
static bool depends_on_input(const struct operation *op)
{
	for (size_t i = 0; i < op->scope_count; i++)
		if (!is_in_path(op, &op->scopes[i]))
			return true;
	return false;
}

/* Checks the scopes of the names in the path. */
static bool is_allowed_path(struct request *req, const struct token_file_entry *t)
{
	const struct operation *op = req->op;

	for (size_t i = 0; i < op->scope_count; i++) {
		const struct needed_scope *n = &op->scopes[i];
		bool is_known = is_in_path(op, n);
		struct text name = TEXT("NAME");
		if (is_known)
			name = n->field < 0 ? (struct text){ 0 } : req->asked.path_values[n->field];
		/* While the name is not known, the action must be allowed on some name. */
		if ((is_known || n->flag < 0) && !is_allowed(req, t, n, name,
							     !is_known                           ? scope_covers_some
							     : is_scope(req, GATEWAY_ANY_ACTION) ? covers_name
												 : scope_covers))
			return false;
	}
	return true;
}

/* For an operation that a gateway runs: the request was admitted, and its token is known. */
static bool admits_path(struct request *req)
{
	if (!table || !req->op->needs_token || is_scope(req, GATEWAY_ADMITTED))
		return true;
	const struct token_file_entry *t = find(req->caller.token_digest);
	return t ? is_allowed_path(req, t) : refuse_token(req, unknown_token);
}

bool access_admit(struct request *req, struct text authorization)
{
	unsigned char digest[TOKEN_DIGEST_BYTES];
	const struct operation *op = req->op;

	if (!table || !op->needs_token)
		return true;
	struct text given = op->token ? op->token(req) : bearer(authorization);
	if (!given.at)
		return refuse_token(req, authorization.at ? "the header 'Authorization' must be 'Bearer TOKEN'"
							  : "send a token in one header 'Authorization: Bearer TOKEN'");
	digest_sha256(given, digest);
	const struct token_file_entry *t = find(digest);
	if (!t)
		return refuse_token(req, unknown_token);
	struct text id = t->label.at ? t->label : (struct text){ (const char *)digest, sizeof(digest) };
	req->caller.name = arena_copy(&req->arena, id.at, id.len);
	req->caller.is_label = t->label.at != NULL;
	if (!is_allowed_path(req, t))
		return false;
	req->caller.token_digest =
		(const unsigned char *)arena_copy(&req->arena, (const char *)digest, sizeof(digest)).at;
	if (!req->caller.token_digest)
		answer_no_memory(req, EFFECT_NONE);
	return req->caller.token_digest != NULL;
}

/* ---- Names in the input ---- */

/* Returns where name `i` is, as a problem shows it: "/sources/0", "/policy/key" or "?name". */
static struct text place_of(struct request *req, const struct needed_scope *n, size_t i)
{
	const struct field *row = &req->op->fields[n->field];
	const struct field *members = row->kind == FIELD_ARRAY ? row->fields[0].fields : row->fields;
	const char *inner = n->inner >= 0 ? members[n->inner].name : "";
	char item[24] = "";

	if (row->place == IN_PATH)
		return (struct text){ 0 };
	if (row->place == IN_QUERY)
		return arena_printf(&req->arena, "?%s", row->name);
	if (row->kind == FIELD_ARRAY)
		snprintf(item, sizeof(item), "/%zu", i);
	return arena_printf(&req->arena, "/%s%s%s%s", row->name, item, *inner ? "/" : "", inner);
}

/* Checks and counts the names in a field. */
static bool names_are_allowed(struct request *req, const struct token_file_entry *t, const struct needed_scope *n,
			      const void *input, size_t *count)
{
	struct resource_names names = resource_names(req->op, n, input);

	for (size_t i = 0; i < names.count; i++) {
		struct scope_need need = { text_of(n->kind), resource_name(&names, i), text_of(n->action) };
		if (!need.name.at)
			continue;
		++*count;
		if (!has_scope(t, &need, scope_covers))
			return refuse_scope(req, &need, place_of(req, n, i));
	}
	return true;
}

/* An object or a name that is a flag counts as true when the request has it. */
static bool applies(const struct operation *op, const struct needed_scope *n, const void *input)
{
	if (n->flag < 0)
		return true;
	const struct field *flag = &op->fields[n->flag];
	if (flag->kind == FIELD_NAME)
		return ((const struct text *)(const void *)((const char *)input + flag->offset))->at;
	uint16_t at = flag->kind == FIELD_OBJECT ? flag->has_offset : flag->offset;
	return *((const bool *)((const char *)input + at)) == n->when;
}

bool access_admit_input(struct request *req, const void *input)
{
	const struct operation *op = req->op;
	size_t count = 0;

	if (!table || !op->needs_token || is_scope(req, GATEWAY_ADMITTED) || !depends_on_input(op))
		return true;
	/*
	 * The token is looked up again, because SIGHUP may have changed the tokens while the body
	 * arrived.
	 */
	const struct token_file_entry *t = find(req->caller.token_digest);
	if (!t)
		return refuse_token(req, unknown_token);
	for (size_t i = 0; i < op->scope_count; i++)
		if (applies(op, &op->scopes[i], input) && op->scopes[i].field >= 0 &&
		    !names_are_allowed(req, t, &op->scopes[i], input, &count))
			return false;
	/* A request that names nothing needs the action on every name. */
	return count > 0 || is_allowed(req, t, &op->scopes[0], TEXT("NAME"), scope_covers_all);
}
