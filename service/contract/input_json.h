/* input_json: stores the members of a body, each by its field descriptor. Knows no operation. */
#ifndef PATTERND_INPUT_JSON_H
#define PATTERND_INPUT_JSON_H

#include "contract/validation.h"
#include "request/operation.h"
#include "json/read.h"

/*
 * Stores what `object` has of the fields of a body; NULL: no body was sent. What is unknown,
 * missing or wrong is noted below `at`; a value that is not an object, at `at`.
 */
void input_json_fill(struct validation *v, const struct field *fields, size_t count, const struct json *object,
		     const struct json_pointer *at, void *into);

/* A json_place (json/read.h) over field descriptors: values of FIELD_ANY are opaque. */
const void *input_json_place(const void *parent, struct text key, bool *opaque);

#endif
