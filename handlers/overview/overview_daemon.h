/*
 * overview_daemon: finds what needs an operator's attention in the answer of info_get: the servers,
 * and the memory of requests. It must not know how that is requested.
 */
#ifndef PATTERND_OVERVIEW_DAEMON_H
#define PATTERND_OVERVIEW_DAEMON_H

#include "overview/overview_items.h"
#include "json/tree.h"

void overview_find_daemon(struct overview_items *items, const struct json *info);

#endif
