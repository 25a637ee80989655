#include "call/list_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "call/match.h"
#include "process/config.h"
#include "request/request.h"
#include "topology/cluster.h"
#include "topology/slot.h"
#include "topology/topology.h"

/*
 * Keys per SCAN. 500 take Redis less than a millisecond, unless its matcher compares a long text at
 * each byte of long names. Each SCAN_DEPTH bytes of text after a star halve the count.
 */
enum { SCAN_COUNT = 500, SCAN_DEPTH = 4 };
static struct text pattern_of(struct request *req, const struct list_of *of, struct text glob)
{
	struct text prefix = match_literal(req, text_of(config()->prefix));
	const char *names = glob.at ? glob.at : "*";

	if (!prefix.at)
		return prefix;
	if (!of->kind)
		return arena_printf(&req->arena, "%s%s", prefix.at, names);
	return arena_printf(&req->arena, "%s%s:{%s}%s", prefix.at, of->kind, names,
			    of->part_pattern ? of->part_pattern : "");
}

/* In a Cluster a cursor begins with "<slot>-", which selects the node. */
static bool parse_place(struct listing *l, struct text *cursor)
{
	bool is_cluster = l->slot != REDIS_ANYWHERE;
	size_t digits = strspn(cursor->at, "0123456789");
	bool has_place = digits > 0 && digits <= 5 && cursor->at[digits] == '-';

	if (has_place) {
		l->slot = (int)strtol(cursor->at, NULL, 10);
		*cursor = (struct text){ cursor->at + digits + 1, cursor->len - digits - 1 };
	}
	return has_place == is_cluster && l->slot < REDIS_SLOTS;
}

/* Redis reads a cursor as an unsigned number of 64 bits. */
static bool is_scan_cursor(const char *digits)
{
	errno = 0;
	strtoull(digits, NULL, 10);
	return errno == 0;
}

/*
 * A cursor is "123" or "123.0f5a...": a SCAN cursor, and the last hash of that step that was
 * listed.
 */
bool list_scan_at(struct request *req, struct listing *l, struct text cursor)
{
	l->slot = topology_next_node(REDIS_ANYWHERE);
	if (cursor.at && !parse_place(l, &cursor))
		return false;
	if (!cursor.at)
		cursor = TEXT("0");
	size_t digits = strspn(cursor.at, "0123456789");
	const char *rest = cursor.at + digits;
	bool has_hash = *rest == '.' && strlen(rest) == 17 && strspn(rest + 1, "0123456789abcdef") == 16;

	if (digits == 0 || !is_scan_cursor(cursor.at) || (*rest && !has_hash) || strlen(cursor.at) != cursor.len)
		return false;
	l->step = arena_copy(&req->arena, cursor.at, digits);
	l->after = has_hash ? strtoull(rest + 1, NULL, 16) : 0;
	return l->step.at != NULL;
}

/* Splits {prefix}{kind}:{name}:part. Without a kind, the name is all that follows the prefix. */
static bool split(const struct listing *l, struct text key, struct found *out)
{
	size_t lead = strlen(config()->prefix) + (l->of->kind ? strlen(l->of->kind) + 2 : 0);

	if (key.len <= lead)
		return false;
	if (!l->of->kind) {
		*out = (struct found){ { key.at + lead, key.len - lead }, { key.at + key.len, 0 } };
		return true;
	}
	const char *close = memchr(key.at + lead, '}', key.len - lead);
	if (!close)
		return false;
	out->name = (struct text){ key.at + lead, (size_t)(close - key.at) - lead };
	out->part = (struct text){ close + 1, (size_t)(key.at + key.len - close - 1) };
	if (out->part.len) { /* cuts its colon off */
		out->part.at++;
		out->part.len--;
	}
	return true;
}

static bool is_listed(const struct listing *l, const struct found *f)
{
	for (size_t i = 0; i < l->found_count; i++)
		if (text_equal(l->found[i].name, f->name) && text_equal(l->found[i].part, f->part))
			return true;
	return false;
}

/* Never returns 0, so that 0 precedes all hashes. */
static uint64_t hash_of(struct text t)
{
	uint64_t hash = XXH3_64bits(t.at, t.len);

	return hash ? hash : 1;
}

/* A key of one SCAN step. */
struct hashed {
	uint64_t hash;
	struct text key; /* (ref) to the reply */
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/*
 * Returns the keys of the step that are not listed yet, sorted by their hash. NULL: memory ran out.
 */
static struct hashed *in_order(struct request *req, const struct listing *l, const struct reply *keys, size_t *count)
{
	struct hashed *list = arena_alloc(&req->arena, (keys->count + 1) * sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < keys->count; i++) {
		struct text key = reply_text(keys, i);
		if (key.at && hash_of(key) > l->after)
			list[(*count)++] = (struct hashed){ hash_of(key), key };
	}
	if (list)
		qsort(list, *count, sizeof(*list), by_hash);
	return list;
}

static struct text cursor_at(struct request *req, int place, struct text step)
{
	if (place == REDIS_ANYWHERE)
		return arena_copy(&req->arena, step.at, step.len);
	return arena_printf(&req->arena, "%d-%s", place, step.at);
}

/* Keeps as many names of one SCAN step as the page has room for, and sets the next cursor. */
static void keep(struct request *req, struct listing *l, const struct reply *keys, struct text next_step)
{
	size_t count, i = 0;
	struct hashed *list = in_order(req, l, keys, &count);

	for (; i < count && l->found_count < l->limit; i++) {
		struct found f;
		if (!split(l, list[i].key, &f) || is_listed(l, &f))
			continue;
		listing_keep(req, l, f);
	}
	l->next = (struct text){ 0 };
	if (i < count) {
		l->next = cursor_at(req, l->slot, l->step);
		l->next = arena_printf(&req->arena, "%s.%016llx", l->next.at, (unsigned long long)list[i - 1].hash);
	} else if (!text_is(next_step, "0")) {
		l->next = cursor_at(req, l->slot, next_step);
	} else if (topology_next_node(l->slot) != REDIS_ANYWHERE) {
		l->next = cursor_at(req, topology_next_node(l->slot), TEXT("0"));
	}
}

/* Leaves out the present node. */
static void pass_over(struct request *req, struct listing *l)
{
	int next = topology_next_node(l->slot);

	l->unread_slots += (int)cluster_slots_of(cluster_node(l->slot));
	l->slot = next == REDIS_ANYWHERE ? REDIS_SLOTS : next;
	l->step = TEXT("0");
	l->after = 0;
	l->next = next == REDIS_ANYWHERE ? (struct text){ 0 } : cursor_at(req, next, l->step);
}

static void on_scan(struct request *req, const struct reply *reply)
{
	struct listing *l = req->work;

	if (!reply) {
		if (listing_has_failed(l, req->result->failed))
			return;
		pass_over(req, l);
		l->proceed(req, l);
		return;
	}
	l->has_read = true;
	struct text next_step = l->of->is_channels ? TEXT("0") : reply_text(reply, SCAN_STEP);

	keep(req, l, l->of->is_channels ? reply : reply_item(reply, SCAN_KEYS), next_step);
	if (l->next.at)
		list_scan_at(req, l, l->next);
	l->proceed(req, l);
}

static void scan(struct request *req, struct listing *l)
{
	struct call *c = call_command(req, "SCAN", SCAN_FORM, false);

	call_at(c, l->slot);
	call_text(c, l->step);
	call_string(c, "MATCH");
	call_text(c, pattern_of(req, l->of, l->glob));
	call_string(c, "COUNT");
	call_int(c, SCAN_COUNT * SCAN_DEPTH / (SCAN_DEPTH + (int64_t)match_depth(l->match)));
	if (l->type) {
		call_string(c, "TYPE");
		call_string(c, l->type);
	}
	if (listing_is_partial())
		call_may_fail(c);
	call_send(c, on_scan);
}

/* All channels of a node are one step, since Redis has no cursor over them. */
static void list_channels(struct request *req, struct listing *l)
{
	struct call *c = call_command(req, "PUBSUB", "(*t)", false);

	call_at(c, l->slot);
	call_string(c, "SHARDCHANNELS");
	call_text(c, pattern_of(req, l->of, l->glob));
	if (listing_is_partial())
		call_may_fail(c);
	call_send(c, on_scan);
}

void list_scan(struct request *req, struct listing *l)
{
	while (listing_is_partial() && l->slot < REDIS_SLOTS && node_is_away(cluster_node(l->slot)))
		pass_over(req, l);
	if (l->slot == REDIS_SLOTS)
		l->proceed(req, l);
	else if (l->of->is_channels)
		list_channels(req, l);
	else
		scan(req, l);
}
