/*
 * site: the hosts that the daemon serves, and the sites whose pages may call it from a browser. It
 * must not know tokens.
 */
#ifndef PATTERND_SITE_H
#define PATTERND_SITE_H

#include <stdbool.h>

#include "core/text.h"

struct request;

/* Checks --allowed-hosts. If it has a fault, writes one line to stderr and returns false. */
bool site_open(void);

/* Checks the header Host, which may be absent. False: the request was answered. */
bool site_serves_host(struct request *req, struct text host);

/*
 * Checks the headers Host, Origin and Sec-Fetch-Site, each of which may be absent. Allows the
 * daemon's own pages, pages of --cors-origins, and programs. False: the request was answered.
 */
bool site_is_allowed(struct request *req, struct text host, struct text origin, struct text site);

#endif
