/*
 * route: finds the operation for a raw request target, and the decoded values of its path and
 * query. It must not know patterns.
 *
 * The path is split at '/' first and decoded afterwards, so that %2F is a byte of a name.
 * Everything is decoded with its length. A NUL byte or a bad escape is rejected.
 */
#ifndef PATTERND_ROUTE_H
#define PATTERND_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct operation;
struct request;

/*
 * Registers paths outside the contract. `find` gets a request whose target begins with '/'; it
 * returns NULL if the path is not its own. The function that was registered last is asked first.
 */
void route_pages(const struct operation *(*find)(struct request *req));

/*
 * Registers what answers a request whose path is unknown. It returns false if it does not know the
 * request either.
 */
void route_lost(bool (*answer)(struct request *req));

/* Sets op, path_values and query of the request. False: it was answered (400, 404, 405). */
bool route_request(struct request *req);

/*
 * Replaces the placeholder `_`, the first name in the path, by the percent-encoded name of the
 * header Patternd-Name, if that was sent. To be called before names are checked. False: the request
 * was answered (400).
 */
bool route_name(struct request *req, struct text given);

/*
 * Finds all operations of the target's path, whatever their methods. False: the request was
 * answered.
 */
enum { ROUTE_METHODS_MAX = 8 };
bool route_methods(struct request *req, const struct operation *found[ROUTE_METHODS_MAX], size_t *count);

/*
 * Adds Allow with the methods of these operations, and Accept-Patch if one of them is PATCH (RFC
 * 5789).
 */
void route_allow(struct request *req, const struct operation *const *found, size_t count);

/* Adds Accept-Patch with the media types of a PATCH; adds nothing for another method. */
void route_accept_patch(struct request *req, const struct operation *op);

#endif
