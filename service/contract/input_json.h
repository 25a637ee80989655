/*
 * input_json: stores the members of a JSON body in a typed struct, each by its field descriptor. It
 * must not know operations.
 */
#ifndef PATTERND_INPUT_JSON_H
#define PATTERND_INPUT_JSON_H

#include "contract/validation.h"
#include "request/operation.h"
#include "json/read.h"

/*
 * Stores the members of `object`; NULL: there is no body. Notes what is unknown, missing or wrong
 * below `at`, and a value that is not an object at `at`.
 */
void input_json_fill(struct validation *v, const struct field *fields, size_t count, const struct json *object,
		     const struct json_pointer *at, void *into);

/* A json_place (json/read.h) that walks field descriptors: values of FIELD_ANY are opaque. */
const void *input_json_place(const void *parent, struct text key, bool *opaque);

#endif
