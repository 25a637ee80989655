/*
 * contract: the operations of openapi.json (PATTERND_OPENAPI names the file), for tests that are
 * derived from the contract.
 *
 * The first call loads the file. $ref is followed. Callers borrow all JSON.
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
	bool forwarded;            /* x-forwarded: accepts any method, ignores headers and body */
	bool tail;                 /* x-tail: any text, or none, may replace the last segment of its path */
	const char *replay;        /* x-replay; NULL: it takes no Idempotency-Key */
	const json_t *scope;       /* x-scope: a text or several */
	const json_t *body_schema; /* NULL: takes no body */
	bool body_required;
	const json_t *body_example; /* the first one; NULL: none given */
	const json_t *body_media;   /* the schema of its body with all examples */
	const json_t *responses;
	struct contract_parameter parameters[CONTRACT_PARAMETERS_MAX];
	size_t parameter_count;
};

/* The number of operations, 0 without a contract. */
size_t contract_count(void);
const struct contract_operation *contract_at(size_t i);

/*
 * Finds an operation by its operationId, or by the request that it matches (HEAD as GET). NULL:
 * none.
 */
const struct contract_operation *contract_operation(const char *id);
const struct contract_operation *contract_find(const char *method, const char *target);

/* True when exactly this path template has the method. */
bool contract_path_takes(const char *path, const char *method);

/* The schema of a member, $ref followed; NULL when it has none. */
const json_t *contract_member(const json_t *schema, const char *member, const char *inner);

/*
 * Makes a valid target from the examples of the path and of the required query parameters. Unless
 * `name` is NULL, the parameter of this name, required or not, has `value` (already
 * percent-encoded) instead. The caller frees the target.
 */
char *contract_target(const struct contract_operation *op, const char *name, const char *value);

/*
 * Makes a valid body that waits for 1 ms at most: the operation's example, or the minimum that its
 * schema requires. NULL when the operation takes no body.
 */
json_t *contract_body(const struct contract_operation *op);

/* Copies the first example of a body that has this member. NULL: no example has it. */
json_t *contract_body_with(const struct contract_operation *op, const char *member);

/*
 * The header that an operation requires, as "Name: example", or NULL. The text lives until the next
 * call.
 */
const char *contract_header(const struct contract_operation *op);

/* Makes a value that fits a schema: its example, its default, or a value of its type and range. */
json_t *contract_value(const json_t *schema);

#endif
