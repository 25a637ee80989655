/*
 * route: from a raw request target to an operation and the decoded values of its path and query.
 *
 * The path is cut at '/' first and decoded afterwards, so that %2F is a byte of a name. Everything
 * is decoded with its length. A NUL byte or a bad escape is refused.
 */
#ifndef PATTERND_ROUTE_H
#define PATTERND_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct operation;
struct request;

/* Paths outside of the contract: `find` takes a target that starts with '/'; NULL: it is none. */
void route_pages(const struct operation *(*find)(struct text target));

/* Fills op, path_values and query of the request. False: it has been answered (400, 404, 405). */
bool route_request(struct request *req);

/* All operations of the target's path, whatever their methods. False: it has been answered. */
enum { ROUTE_METHODS_MAX = 8 };
bool route_methods(struct request *req, const struct operation *found[ROUTE_METHODS_MAX], size_t *count);

/* Adds Allow with the methods of these, and Accept-Patch where one of them is PATCH (RFC 5789). */
void route_allow(struct request *req, const struct operation *const *found, size_t count);

/* Adds Accept-Patch with the media types of a PATCH; nothing for another method. */
void route_accept_patch(struct request *req, const struct operation *op);

#endif
