/*
 * operation: the tables that the build generates from openapi/ (tools/openapi.py): operations,
 * and the field descriptors of their inputs.
 */
#ifndef PATTERND_OPERATION_H
#define PATTERND_OPERATION_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "request/problem.h"
#include "request/replay.h"

struct request;

enum field_place { IN_PATH, IN_QUERY, IN_HEADER, IN_BODY };

enum field_kind {
	FIELD_TEXT,   /* struct text */
	FIELD_NAME,   /* struct text that passed the rule of names */
	FIELD_BYTES,  /* struct text, a name of any bytes but NUL; not from a body */
	FIELD_INT,    /* int64_t */
	FIELD_REAL,   /* double */
	FIELD_BOOL,   /* bool */
	FIELD_CHOICE, /* an enum, 0 when absent */
	FIELD_ANY,    /* struct text: JSON as it was sent, in the body */
	FIELD_OBJECT, /* a struct of `fields` */
	FIELD_ARRAY,  /* struct { size_t count; T *items; }, an item being `fields[0]` */
	FIELD_MAP,    /* the same of structs of `fields`: a key, which is data, and its value */
};

#define NO_OFFSET UINT16_MAX

/* A field descriptor. There are hundreds, and each fits into a cache line. */
struct field {
	const char *name;
	union {
		const char *const *choices;  /* FIELD_CHOICE: ended by NULL; choice i has number i + 1 */
		const char *const *reserved; /* FIELD_NAME: names to reject, ended by NULL; or NULL */
		const struct field *fields;  /* FIELD_OBJECT, FIELD_ARRAY and FIELD_MAP */
	};
	union {
		struct {
			int64_t low, high;     /* range of integers; bytes of strings; count of items or members */
			int64_t default_value; /* default of integers, booleans and choices (their number) */
		};
		struct {
			double real_low, real_high, real_default; /* FIELD_REAL */
		};
	};
	uint16_t excludes; /* bits of the first fields: members it must not come with; required without them */
	uint16_t offset;
	uint16_t has_offset; /* of the companion bool has_<name>; NO_OFFSET: there is none */
	uint16_t size;       /* bytes of the struct, or of one item, that `fields` fill */
	uint8_t field_count;
	uint8_t per; /* FIELD_INT: which field is its period, and 1; 0: it has none */
	enum field_place place : 8;
	enum field_kind kind : 8;
	bool required;
	bool or_digits; /* FIELD_INT: a body may also have it as a string of decimal digits */
	bool date;      /* FIELD_TEXT: a date, YYYY-MM-DD, which the handler reads */
	bool logged;    /* FIELD_TEXT: the access log has it */
	bool plain;     /* FIELD_NAME: letters, digits and ._- only */
	bool distinct;  /* FIELD_ARRAY: no item twice */
	bool nullable;  /* of a body: null is "reset to the default", the bool reset_<name> behind has_<name> */
};
static_assert(sizeof(struct field) <= 64, "a field descriptor is larger than a cache line");

/* The layout that every array and map has. */
struct input_array {
	size_t count;
	void *items;
};

/* The scope that an operation needs: an action, on the name in a field if there is one. */
struct needed_scope {
	const char *kind, *action;
	int8_t field; /* which of the operation's fields has the name; -1: none */
	int8_t inner; /* of a list of objects: which member of each; else -1 */
	int8_t flag;  /* a boolean field: only needed when that is `when`; -1: always */
	bool when;
};

/* Of a deprecated operation. */
struct deprecation {
	const char *since;            /* a date of a structured field: "@1798761600" */
	const struct text *successor; /* the path that replaces it; "" is a parameter, in the same order */
	size_t segment_count;
};

/* One operation of the contract. */
struct operation {
	const char *id;
	const char *method;
	const struct text *segments; /* of the path; "" is a parameter */
	const struct field *fields;  /* path parameters in the order of the path, then the others */
	const struct needed_scope *scopes;
	const struct deprecation *deprecation; /* NULL: it is not deprecated */
	const char *media_type;                /* of its success; NULL: it has no body */
	const char *other_type;                /* a second one it can produce, or NULL */
	void (*run)(struct request *req, const void *input);
	uint16_t input_size;
	uint8_t segment_count, field_count;
	uint8_t scope_count; /* none: any token suffices, or no token without needs_token */
	bool needs_token;
	bool takes_body;
	bool takes_any; /* one of its fields, at any depth, is FIELD_ANY */
	bool needs_body;
	bool merges;    /* a PATCH as RFC 7396 has it: no member of its body is replaced whole */
	bool forwarded; /* for reverse proxies: any method; headers and body are their client's */
	bool tail;      /* what follows its segments is part of the path; it and the query are ignored */
	enum replay replay;
	enum problem grant_ended; /* of a replay, when the grant has expired */
	bool writes;              /* false: it only reads, so a lost reply has effect none */
	bool stale;               /* a replica may serve it */
};

/* The operations whose paths begin with one segment. */
struct resource {
	struct text segment;
	const struct operation *operations;
	size_t count;
};

/* Generated: all operations, in the order of the contract; those of a resource are together. */
extern const struct operation operations[];
extern const size_t operation_count;
extern const struct resource resources[];
extern const size_t resource_count;
/*
 * Its index, operation_count for NULL and for pages; and the id of an index, "none" for that one.
 */
size_t operation_index(const struct operation *op);
const char *operation_name(size_t i);

/* Generated: what other systems call a field, or a value of an enumeration; see x-synonyms. */
struct synonym {
	struct text word;
	const char *known;
};
extern const struct synonym synonyms[];
extern const size_t synonym_count;

/* Generated: the headers that are inputs of operations, OPERATION_HEADERS in number. */
extern const struct text operation_headers[];

/* Generated: the contract as JSON. */
extern const struct text openapi_json_text;

#endif
