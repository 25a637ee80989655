/*
 * cors: the origins of --cors-origins, whose pages may call from a browser (Fetch standard, CORS
 * protocol). The default is none. It must not know tokens.
 *
 * Origins are compared as whole strings, in the form that browsers send. Browser credentials
 * (cookies) are not used: a page sends its token itself.
 */
#ifndef PATTERND_CORS_H
#define PATTERND_CORS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

struct operation;
struct request;

/*
 * Parses --cors-origins and --cors-headers. If that fails, writes one line to stderr and returns
 * false.
 */
bool cors_open(void);
void cors_close(void);

/* Returns true if there are origins: responses then depend on Origin. */
bool cors_is_on(void);

/* Returns true for an origin that the option takes. */
bool cors_is_origin(const char *s);

/* Returns the origin, as static text, if it is allowed; else NULL. */
const char *cors_origin(struct text origin);

/* The response headers that pages may read. */
extern const char cors_exposed[];

/* Adds the headers of a preflight response: the methods and headers of these operations. */
void cors_preflight(struct request *req, const struct operation *const *found, size_t count);

#endif
