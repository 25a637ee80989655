/*
 * cors: the origins of --cors-origins, whose pages may call from a browser (Fetch standard, CORS protocol). None by default.
 *
 * Origins are compared whole and byte by byte, in the form in which browsers write them. Credentials of the browser's own
 * (cookies) are never asked for: a page sends its token itself.
 */
#ifndef PATTERND_CORS_H
#define PATTERND_CORS_H

#include <stdbool.h>

#include "core/text.h"

struct request;

/* Takes the option apart. False: one line on stderr says which origin is none. */
bool cors_open(void);
void cors_close(void);

/* True when there are any: what is answered then depends on Origin. */
bool cors_is_on(void);

/* The origin, static, when it is one of those; else NULL. */
const char *cors_origin(struct text origin);

/* The headers of answers that its pages may read. */
extern const char cors_exposed[];

/*
 * Answers what a browser asks before it sends a request (preflight): the methods and headers that the target's operations take.
 * False when it is no question for us, but for an operation that takes any method.
 */
bool cors_preflight(struct request *req);

#endif
