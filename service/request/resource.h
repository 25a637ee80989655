/*
 * resource: the names in a request, by which its scopes are checked and it is logged; and the label
 * that a client chose. It must not know tokens.
 */
#ifndef PATTERND_RESOURCE_H
#define PATTERND_RESOURCE_H

#include "request/operation.h"

/*
 * The names in one field of an input: one name, a list of names, the name in an object, or one per
 * object of a list.
 */
struct resource_names {
	const char *items;
	size_t count, step, offset;
};
struct resource_names resource_names(const struct operation *op, const struct needed_scope *n, const void *input);

/* Returns name `i`; absent if the input does not have it. */
struct text resource_name(const struct resource_names *names, size_t i);

/*
 * Returns the first name of a request, and sets the number of names; absent while it is not known.
 */
struct text resource_of(const struct request *req, size_t *count);

/*
 * Returns the text of the field that the contract marks as logged, and sets *name to the field's
 * name; absent while it is not known.
 */
struct text resource_logged(const struct request *req, const char **name);

#endif
