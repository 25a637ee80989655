/*
 * name_index: the keys of the indexes of names: which names of a kind exist, without a look at all
 * keys. It must not know kinds.
 *
 * An index is a sorted set of names, <prefix>names:{<tag>}:<kind>. One server has one index per
 * kind, with an empty tag. A Cluster has one for each slot that has names of the kind. It is in the
 * same slot as these names, so that the script that makes a name can also write the index.
 * lua/lib/made.lua adds names, lua/names/name_page.lua reads them, and the daemon then removes
 * names that do not exist any more (name_forget).
 */
#ifndef PATTERND_NAME_INDEX_H
#define PATTERND_NAME_INDEX_H

#include "core/text.h"

struct request;

/*
 * Returns the key of the index for the name in `key`, in the request's arena. `key` is the first
 * key of a resource, made by call_key_name.
 */
struct text name_index_key(struct request *req, struct text key);

#endif
