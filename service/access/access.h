/*
 * access: bearer tokens and their scopes. With --tokens, every operation requires the scopes that
 * openapi/ states (x-scope) and a token, except operations that need none. Without --tokens this
 * costs one comparison per request. It must not know patterns.
 *
 * A request is checked in two steps: the token and the names in the path before the first byte of
 * the body, and the names in query and body before the handler runs. A request that waits or
 * streams ends when its token is removed; it is not checked again for scopes.
 */
#ifndef PATTERND_ACCESS_H
#define PATTERND_ACCESS_H

#include <stdbool.h>

#include "core/text.h"

struct request;

/*
 * Reads the file of --tokens, if it is set. If that fails, writes one line to stderr and returns
 * false.
 */
bool access_open(void);
void access_close(void);

/* Prints the number of tokens, as a comment on stdout. */
void access_print(void);

/* Rereads the file. If it is invalid, logs why and keeps the old tokens. */
void access_reload(void);

/* Returns true if the request was admitted by a token that is not in the file any more. */
bool access_is_revoked(const struct request *req);

/*
 * Call it after the headers. `times` is how many of them are `Authorization`, `authorization` its
 * value. False: the request was answered with 401 or 403, which never reveals whether the token
 * exists.
 */
bool access_admit(struct request *req, struct text authorization);

/* Call it after the input was decoded: as access_admit, for the names in the input. */
bool access_admit_input(struct request *req, const void *input);

#endif
