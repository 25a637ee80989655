/*
 * operation: the rows that the build makes of openapi.yaml (tools/openapi.py): the operations, and the fields of their inputs.
 */
#ifndef PATTERND_OPERATION_H
#define PATTERND_OPERATION_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "request/problem.h"

struct json;
struct request;

/* IN_WHOLE_BODY: the body itself is the value, not a member of it; such a row is the last. */
enum field_place { IN_PATH, IN_QUERY, IN_HEADER, IN_BODY, IN_WHOLE_BODY };

enum field_kind {
	FIELD_TEXT,   /* struct text */
	FIELD_NAME,   /* struct text that passed the rule of names */
	FIELD_BYTES,  /* struct text, a name of any bytes but NUL; not from a body */
	FIELD_INT,    /* int64_t */
	FIELD_REAL,   /* double */
	FIELD_BOOL,   /* bool */
	FIELD_CHOICE, /* an enum, 0 when absent */
	FIELD_ANY,    /* const struct json *, borrowed from the body; NULL when absent */
	FIELD_OBJECT, /* a struct of `fields` */
	FIELD_ARRAY,  /* struct { size_t count; T *items; }, an item being `fields[0]` */
	FIELD_MAP,    /* the same of structs of `fields`: a key, which is data, and its value */
};

#define NO_OFFSET UINT16_MAX

/* There are hundreds: a row is to fit into a cache line. */
struct field {
	const char *name;
	union {
		const char *const *choices;  /* FIELD_CHOICE: ended by NULL; choice i has number i + 1 */
		const char *const *reserved; /* FIELD_NAME: those that are refused, ended by NULL; or NULL */
		const struct field *fields;  /* FIELD_OBJECT, FIELD_ARRAY and FIELD_MAP */
	};
	union {
		struct {
			int64_t low, high;     /* range of integers; bytes of texts; count of items or members */
			int64_t default_value; /* default of integers, booleans and choices (their number) */
		};
		struct {
			double real_low, real_high, real_default; /* FIELD_REAL */
		};
	};
	uint16_t excludes; /* bits of the first rows: members that it has no place beside; required without them */
	uint16_t offset;
	uint16_t has_offset; /* of the companion bool has_<name>; NO_OFFSET: there is none */
	uint16_t size;       /* of what `fields` fill: bytes of the struct, or of one item */
	uint8_t field_count;
	enum field_place place : 8;
	enum field_kind kind : 8;
	bool required;
	bool or_digits; /* FIELD_INT: a body may also give it as text of decimal digits */
	bool plain;     /* FIELD_NAME: letters, digits and ._- only */
	bool distinct;  /* FIELD_ARRAY: no item twice */
};
static_assert(sizeof(struct field) <= 64, "a row is larger than a cache line");

/* The layout that every array and map has. */
struct input_array {
	size_t count;
	void *items;
};

/* What a token must be allowed for an operation: the action, on the name that stands in a field, if one is meant. */
struct needed_scope {
	const char *kind, *action;
	int8_t field; /* which of the operation's fields names it; -1: no name is meant */
	int8_t inner; /* of a list of objects: which member of each; else -1 */
	int8_t flag;  /* a boolean field: only needed when that is `when`; -1: always */
	bool when;
};

/* One operation of the contract. */
struct operation {
	const char *id;
	const char *method;
	const struct text *segments; /* of the path; "" stands for a parameter */
	const struct field *fields;  /* path parameters in the order of the path, then the others */
	const struct needed_scope *scopes;
	const char *media_type; /* of its success; NULL: it has no body */
	const char *other_type; /* a second one it can produce, or NULL */
	void (*run)(struct request *req, const void *input);
	uint16_t input_size;
	uint8_t segment_count, field_count;
	uint8_t scope_count; /* none: any token will do, or, without needs_token, anybody */
	bool needs_token;
	bool takes_body;
	bool forwarded; /* proxies ask it with their client's request: any method; headers and body are not for us */
	bool tail;      /* whatever follows its segments is part of the path, and not looked at, nor is the query */
	enum problem grant_ended; /* of a replay, when what was granted has ended */
	bool writes;              /* false: it only looks, a lost answer has effect none */
};

/* The operations whose paths begin with one segment. */
struct resource {
	struct text segment;
	const struct operation *operations;
	size_t count;
};

/* Generated: all operations, in the order of the contract, in which those of a resource stand together. */
extern const struct operation operations[];
extern const size_t operation_count;
extern const struct resource resources[];
extern const size_t resource_count;
/* Its number among them, operation_count for NULL; and the name of a number, "none" for that one. */
size_t operation_index(const struct operation *op);
const char *operation_name(size_t i);

/* Generated: openapi.yaml as JSON. */
extern const struct text openapi_json_text;

#endif
