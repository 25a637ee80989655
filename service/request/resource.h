/*
 * resource: the names that an operation is about, those its scopes are judged by; and the label
 * that a client gives itself.
 */
#ifndef PATTERND_RESOURCE_H
#define PATTERND_RESOURCE_H

#include "request/operation.h"

/* The names in one field of an input: one, a list's, or one in each object of a list. */
struct resource_names {
	const char *items;
	size_t count, step, offset;
};
struct resource_names resource_names(const struct operation *op, const struct needed_scope *n, const void *input);

/* The i-th; absent where the input has none. */
struct text resource_name(const struct resource_names *names, size_t i);

/* The first name of a request; absent while it is not known. Sets how many there are. */
struct text resource_of(const struct request *req, size_t *count);

/* The text of the field that the contract has logged, under *name; absent while it is not known. */
struct text resource_logged(const struct request *req, const char **name);

#endif
