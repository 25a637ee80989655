/*
 * route: from a raw request target to an operation and the decoded values of its path and query.
 *
 * The path is cut at '/' first and decoded afterwards, so that %2F is a byte of a name. Everything is decoded with lengths;
 * a NUL byte or a bad escape is refused, never passed on.
 */
#ifndef PATTERND_ROUTE_H
#define PATTERND_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

struct operation;
struct request;

/* Fills op, path_values and query of the request. False: it has been answered with what is wrong (400, 404, 405). */
bool route_request(struct request *req);

/* All operations of the target's path, whatever their methods. False: it has been answered with what is wrong. */
enum { ROUTE_METHODS_MAX = 8 };
bool route_methods(struct request *req, const struct operation *found[ROUTE_METHODS_MAX], size_t *count);

#endif
