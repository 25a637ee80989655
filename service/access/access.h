/*
 * access: who may do what. With --tokens every operation but those that need none asks for a bearer token, and for the scopes
 * that openapi.yaml states (x-scope). Without --tokens all of this is one comparison a request.
 *
 * Judged in two steps: the token, and the names that stand in the path, before a byte of the body is read; the names in query
 * and body when they are there, before the handler runs. A request that was let in is not judged again while it waits.
 */
#ifndef PATTERND_ACCESS_H
#define PATTERND_ACCESS_H

#include <stdbool.h>

#include "core/text.h"

struct request;

/*
 * Reads the file of --tokens, if there is one. False: one line on stderr says what is wrong.
 */
bool access_open(void);
void access_close(void);

/* Reads it again. One that is not right changes nothing, and is told in the log. */
void access_reload(void);

/*
 * The headers are there: `authorization` stood there `times` times. True: go on. False: it has been answered 401 or 403; never
 * with anything that tells whether such a token exists.
 */
bool access_admit(struct request *req, struct text authorization, unsigned times);

/* The input is filled. The same, for the names in it. */
bool access_admit_input(struct request *req, const void *input);

#endif
