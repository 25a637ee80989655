/*
 * name_index: which names of a kind exist, without a look at all keys.
 *
 * An index is a sorted set of names, <prefix>names:{<tag>}:<kind>. One server has one index per
 * kind, with an empty tag; a Cluster one for each slot that has names of the kind, in that slot, so
 * that the script that makes a name writes both. lua/lib/names.lua adds names,
 * lua/names/name_page.lua reads them, and the daemon then removes names that no longer exist
 * (name_forget).
 */
#ifndef PATTERND_NAME_INDEX_H
#define PATTERND_NAME_INDEX_H

#include "core/text.h"

struct request;

/* The index of the name of `key`, a first key of call_key_name. In the request's arena. */
struct text name_index_key(struct request *req, struct text key);

#endif
