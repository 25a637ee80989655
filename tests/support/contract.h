/*
 * contract: the operations of openapi.json (the variable PATTERND_OPENAPI names it), for tests made
 * of the contract.
 *
 * Loaded once, when first asked. $ref is followed; all JSON is borrowed.
 */
#ifndef TEST_CONTRACT_H
#define TEST_CONTRACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { CONTRACT_PARAMETERS_MAX = 24 };

struct contract_parameter {
	const char *name;
	const char *in; /* path, query or header */
	bool required;
	const json_t *schema;
};

struct contract_operation {
	const char *id;
	const char *method;        /* in capitals */
	const char *path;          /* template: /locks/{name} */
	bool writes;               /* x-effect */
	bool stale;                /* x-stale */
	bool forwarded;            /* x-forwarded: any method is as good, headers and body are not looked at */
	bool tail;                 /* x-tail: the last segment of its path is anything, or nothing */
	const char *replay;        /* x-replay; NULL: it takes no Idempotency-Key */
	const json_t *scope;       /* x-scope: a text or several */
	const json_t *body_schema; /* NULL: takes no body */
	bool body_required;
	const json_t *body_example; /* NULL: none given */
	const json_t *responses;
	struct contract_parameter parameters[CONTRACT_PARAMETERS_MAX];
	size_t parameter_count;
};

/* How many operations there are; 0 when there is no contract. */
size_t contract_count(void);
const struct contract_operation *contract_at(size_t i);

/* By operationId, or by what a request would match (HEAD as GET). NULL when none. */
const struct contract_operation *contract_operation(const char *id);
const struct contract_operation *contract_find(const char *method, const char *target);

/* Whether that very path, a template, has the method. */
bool contract_path_takes(const char *path, const char *method);

/* The schema of a member, $ref followed; NULL when it has none. */
const json_t *contract_member(const json_t *schema, const char *member, const char *inner);

/*
 * A target that fits: examples in the path, required query parameters with theirs. When `name` is
 * not NULL that parameter has `value` instead (already percent-encoded), required or not. The
 * caller frees.
 */
char *contract_target(const struct contract_operation *op, const char *name, const char *value);

/*
 * A body that fits, new: the operation's example, or the minimum that its schema requires, without
 * a wait. NULL when it takes none.
 */
json_t *contract_body(const struct contract_operation *op);

/*
 * "Name: example" of the header that an operation requires; NULL when it requires none. The text
 * lives until the next call.
 */
const char *contract_header(const struct contract_operation *op);

/* A value that fits a schema, new: its example, its default, or something of its type and range. */
json_t *contract_value(const json_t *schema);

#endif
