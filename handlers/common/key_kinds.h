/*
 * key_kinds: the kinds of Redis keys, one per resource. A key is <prefix><kind>:{<name>}[:<part>];
 * the braces keep all keys of one resource in one Cluster slot. Names contain no brace, so no two
 * triples (kind, name, part) make the same key. This file must not know the prefix, which
 * service/call/call.c adds.
 *
 * The daemon itself uses two more kinds: `idem`, records of answers (service/call/idempotency.c),
 * and `names`, indexes of names (service/call/name_index.h).
 */
#ifndef PATTERND_KEY_KINDS_H
#define PATTERND_KEY_KINDS_H

#define KEY_LOCK "lock" /* hash: holder; TTL. parts: `fence`: counter, no TTL; `readers`, `waiters`, `offer`: TTL */
#define KEY_SEMAPHORE "semaphore" /* hash: limit, owners; TTL. parts `permits`, `waiters`, `offer`: TTL */
#define KEY_FENCE "fence"         /* counter, no TTL */
#define KEY_LIMIT "limit"         /* parts `<policy>:<algorithm>`, or `@<check>:<algorithm>` without a policy; TTL */
#define KEY_QUEUE "queue"         /* hash: settings, counters, sequence. parts: see lua/queues/lib_queue.lua */
#define KEY_GEO "geo"             /* hash: cells, size, kept; parts 0, 1, ...: sorted sets of GEOADD; TTL if asked */
#define KEY_TOPIC "topic"         /* the name of a channel; no key exists */
#define KEY_UV \
	"uv" /* empty string: lua/visitors/lib_page.lua; part YYYY-MM-DD: HyperLogLog; TTL of --uv-retention-days; \
		part `total`: lua/visitors/lib_total.lua, no TTL */
#define KEY_PV "pv" /* as uv; part YYYY-MM-DD: counter */
#define KEY_BOARD \
	"board" /* hash: dimensions; TTL. parts `places`, `ranks`, `merge:...`: lua/leaderboards/lib_board.lua */
#define KEY_SALE "sale" /* hash: settings, counts; TTL. parts `claims`, `holds`, `users`: see lua/sales/lib_sale.lua */
#define KEY_BLOOM \
	"bloom" /* hash: settings, layers; TTL if asked for. parts 0, 1, ...: segments; lua/bloom/lib_bloom.lua */
#define KEY_COUNTER "counter" /* hash: counters by name; no TTL unless asked for */
#define KEY_FEED "feed"       /* stream of JSON texts. part `meta`: hash of settings; both no TTL unless asked for */
#define KEY_SET "set"         /* set; no TTL unless asked for */
#define KEY_CACHE \
	"cache" /* hash: value, version; TTL. parts `fence`, `fill`, `again`: see lua/cache/lib_cache.lua; TTL */
#define KEY_BITMAP "bitmap"   /* bitmap string, written with SETBIT */
#define KEY_CHECKIN "checkin" /* hash: days as bits, see lua/checkins/lib_checkin.lua; TTL set by PATCH */
#define KEY_POLICY "policy"   /* hash: a rate-limit policy; no TTL */

/* Kinds whose lists are read from an index of names (`is_indexed` of a struct list_of). */
#define INDEXED_KINDS                                                                                         \
	KEY_LOCK, KEY_SEMAPHORE, KEY_QUEUE, KEY_POLICY, KEY_SALE, KEY_BOARD, KEY_BLOOM, KEY_GEO, KEY_COUNTER, \
		KEY_FEED, KEY_SET, KEY_UV, KEY_PV

#endif
