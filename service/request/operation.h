/*
 * operation: the tables that the build generates from openapi/ (tools/openapi.py): operations, and
 * the field descriptors of their inputs. It must not know patterns.
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
	FIELD_NAME,   /* struct text that conforms to the rule of names */
	FIELD_BYTES,  /* struct text: a name of any bytes except NUL; not in a body */
	FIELD_INT,    /* int64_t */
	FIELD_REAL,   /* double */
	FIELD_BOOL,   /* bool */
	FIELD_CHOICE, /* an enum, 0 when absent */
	FIELD_ANY,    /* struct text: JSON as it was sent in the body */
	FIELD_OBJECT, /* a struct with `fields` */
	FIELD_ARRAY,  /* struct { size_t count; T *items; }; `fields[0]` describes an item */
	FIELD_MAP,    /* as FIELD_ARRAY, of structs with two `fields`: a key from outside, and its value */
};

#define NO_OFFSET UINT16_MAX

/* A field descriptor. There are hundreds, so each fits into a cache line. */
struct field {
	const char *name;
	union {
		const char *const *choices;  /* FIELD_CHOICE: choice i has the number i + 1; NULL ends the list */
		const char *const *reserved; /* FIELD_NAME: names to reject; NULL ends the list; or NULL */
		const struct field *fields;  /* FIELD_OBJECT, FIELD_ARRAY and FIELD_MAP */
	};
	union {
		struct {
			int64_t low, high;     /* range of integers; bytes of strings; number of items or members */
			int64_t default_value; /* of integers, booleans and choices (their number) */
		};
		struct {
			double real_low, real_high, real_default; /* FIELD_REAL */
		};
	};
	uint16_t excludes; /* bits of the first fields: the member excludes these, and is required without them */
	uint16_t offset;
	uint16_t has_offset; /* offset of the bool has_<name>; NO_OFFSET: there is none */
	uint16_t size;       /* bytes of the struct, or of one item, that `fields` fill */
	uint8_t field_count;
	uint8_t per; /* FIELD_INT: index + 1 of the field that is its period; 0: it has none */
	enum field_place place : 8;
	enum field_kind kind : 8;
	bool required;
	bool or_digits;      /* FIELD_INT: a body may have it as a string of decimal digits, too */
	bool date;           /* FIELD_TEXT: a date, YYYY-MM-DD, which the handler parses */
	bool logged;         /* FIELD_TEXT: it is in the access log */
	bool plain;          /* FIELD_NAME: only letters, digits and ._- are allowed */
	bool distinct;       /* FIELD_ARRAY: all items differ */
	bool nullable;       /* in a body: null resets it to the default; the bool reset_<name> follows has_<name>.
			      * The value of a map: null is an absent text */
	bool null_is_absent; /* in a body: null is the same as no member */
	uint32_t most_bytes; /* FIELD_MAP of texts: of all names and values together; 0: no limit */
};
static_assert(sizeof(struct field) <= 64, "a field descriptor is larger than a cache line");

/* The layout of every array and map. */
struct input_array {
	size_t count;
	void *items;
};

/* A scope that an operation needs: an action, on the name in a field if there is one. */
struct needed_scope {
	const char *kind, *action;
	int8_t field; /* index of the operation's field that has the name; -1: none */
	int8_t inner; /* if that is an object or a list of objects: index of the member with the name; else -1 */
	int8_t flag;  /* needed only if this boolean is `when`, or this object or name is given; -1: always */
	bool when;
};

/* One operation of the contract. */
struct operation {
	const char *id;
	const char *method;
	const struct text *segments; /* of its path; "" is a parameter */
	const struct field *fields;  /* path parameters in the order of the path, then the other fields */
	const struct needed_scope *scopes;
	const char *media_type; /* of its success response; NULL: it has no body */
	const char *other_type; /* a second media type that it can produce, or NULL */
	void (*run)(struct request *req, const void *input);
	uint16_t input_size;
	uint8_t segment_count, field_count;
	uint8_t scope_count; /* 0: any token suffices; without needs_token no token is needed */
	bool needs_token;
	bool takes_body;
	bool takes_any; /* one of its fields, at any depth, is FIELD_ANY */
	bool needs_body;
	/*
	 * The operation belongs to a gateway. Its body may be any JSON, of any Content-Type, and
	 * twice as large, since values in it are escaped once more. `token` finds the bearer token,
	 * which may be elsewhere than in Authorization; absent: there is none.
	 */
	bool is_gateway;
	struct text (*token)(struct request *req);
	bool merges;    /* a PATCH whose body is a merge patch of RFC 7396: no member is replaced as a whole */
	bool forwarded; /* for reverse proxies: any method is allowed; headers and body are from the proxy's client */
	bool tail;      /* text after its segments is part of the path; that text and the query are ignored */
	enum replay replay;
	enum problem grant_ended; /* the problem of a replay whose grant has expired */
	bool writes;              /* false: it only reads, so a lost reply has effect none */
	bool stale;               /* a replica may serve it */
};

/* The operations whose paths begin with the same segment. */
struct resource {
	struct text segment;
	const struct operation *operations;
	size_t count;
};

/*
 * Generated: all operations, in the order of the contract; operations of one resource are adjacent.
 */
extern const struct operation operations[];
extern const size_t operation_count;
extern const struct resource resources[];
extern const size_t resource_count;
/* Adds the operations of a gateway, before metrics open. Static. */
void operation_add_gateway(const struct operation *ops, size_t count);

/*
 * The index of an operation in metrics. operation_index returns operation_indexes() for NULL and
 * for pages, and operation_name returns "none" for that.
 */
size_t operation_index(const struct operation *op);
size_t operation_indexes(void);
const char *operation_name(size_t i);

/*
 * Generated: names that other systems use for a field, or for a value of an enumeration; see
 * x-synonyms.
 */
struct synonym {
	struct text word;
	const char *known;
};
extern const struct synonym synonyms[];
extern const size_t synonym_count;

/* Generated: the headers that are inputs of operations; their number is OPERATION_HEADERS. */
extern const struct text operation_headers[];

/* Generated: the contract as JSON. */
extern const struct text openapi_json_text;

#endif
