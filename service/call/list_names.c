#include "call/list_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/name_index.h"
#include "core/hex.h"
#include "process/config.h"
#include "request/request.h"
#include "scripts.h"
#include "topology/cluster.h"
#include "topology/slot.h"
#include "topology/topology.h"

/* Indexes per call. Reading 512 empty ones takes Redis half a millisecond. */
enum { SLOTS_A_STEP = 512 };

/*
 * A cursor is "<slot>.<name in hexadecimal digits>". The next page has the names after that name;
 * without a name, all names of the slot.
 */
static struct text cursor_at(struct request *req, int slot, struct text name)
{
	char *hex = arena_alloc(&req->arena, 2 * name.len + 1);

	if (!hex)
		return (struct text){ 0 };
	hex_write((const unsigned char *)name.at, name.len, hex);
	return arena_printf(&req->arena, "%d.%s", slot, hex);
}

bool list_names_at(struct request *req, struct listing *l, struct text cursor)
{
	char *dot = NULL;

	if (!cursor.at)
		cursor = TEXT("0.");
	long slot = cursor.at[0] >= '0' && cursor.at[0] <= '9' ? strtol(cursor.at, &dot, 10) : -1;
	if (slot < 0 || slot >= REDIS_SLOTS || *dot != '.' || strlen(dot + 1) % 2 != 0)
		return false;
	char *name = arena_alloc(&req->arena, strlen(dot) / 2 + 1);
	size_t len = 0;
	for (const char *at = dot + 1; name && *at; at += 2) {
		int high = hex_value(at[0]), low = hex_value(at[1]);
		if (high < 0 || low < 0)
			return false;
		name[len++] = (char)(high << 4 | low);
	}
	l->slot = (int)slot;
	l->name = (struct text){ name, len };
	return name != NULL;
}

/*
 * Returns the tags of that many slots, as in "3,a7,". One server has one index, whose tag is empty.
 */
static struct text tags_from(struct request *req, int slot, int count)
{
	size_t size = (size_t)count * 5 + 1, len = 0;
	char *tags = arena_alloc(&req->arena, size);

	if (!topology_is_cluster())
		return TEXT(",");
	for (int i = 0; tags && i < count; i++)
		len += (size_t)snprintf(tags + len, size - len, "%s,", slot_tag(slot + i));
	return (struct text){ tags, len };
}

static int slot_of_name(struct request *req, const struct listing *l, struct text name)
{
	struct text key = call_key_name(req, l->of->kind, name, NULL);

	return key.at && topology_is_cluster() ? topology_slot(key) : 0;
}

/* If a name could not be removed, a later page tries again. */
static void on_forgotten(struct request *req, const struct reply *r)
{
	struct listing *l = req->work;

	(void)r;
	if (--l->looks_owed == 0)
		l->proceed(req, l);
}

/* Removes the names in the reply's items from `at` on. */
static void forget(struct request *req, struct listing *l, const struct reply *r, size_t at)
{
	size_t count = r->count - at;
	struct call **calls = arena_alloc(&req->arena, (count + 1) * sizeof(struct call *));

	for (size_t i = 0; calls && i < count; i++) {
		calls[i] = call_script(req, &name_forget_script);
		call_key(calls[i], l->of->kind, reply_text(r, at + i), NULL);
		call_may_fail(calls[i]);
	}
	l->looks_owed = count;
	for (size_t i = 0; calls && i < count; i++)
		call_send(calls[i], on_forgotten);
	if (!calls)
		answer_no_memory(req, EFFECT_NONE);
}

/* Leaves out that many slots, and then those whose servers cannot be asked. */
static void pass_over(struct request *req, struct listing *l, int count)
{
	int from = l->slot;

	l->slot += count;
	while (l->slot < REDIS_SLOTS && node_is_away(cluster_node(l->slot)))
		l->slot++;
	if (l->slot == from)
		return;
	l->unread_slots += l->slot - from;
	l->name = TEXT("");
	l->next = l->slot < REDIS_SLOTS ? cursor_at(req, l->slot, l->name) : (struct text){ 0 };
}

static void on_page(struct request *req, const struct reply *r)
{
	struct listing *l = req->work;

	if (!r) {
		if (listing_has_failed(l, req->result->failed))
			return;
		pass_over(req, l, cluster_slots_from(l->slot, REDIS_SLOTS));
		l->proceed(req, l);
		return;
	}
	int64_t ended = reply_int(r, NAME_PAGE_ENDED), names = reply_int(r, NAME_PAGE_COUNT);
	size_t i = NAME_PAGE_NAMES;

	if (ended < 0 || ended > l->asked || names < 0 || names > (int64_t)(r->count - i)) {
		answer_problem_effect(req, P_REDIS_ERROR, EFFECT_NONE, "name_page returned an unexpected reply");
		return;
	}
	l->has_read = true;
	size_t end = i + (size_t)names;
	for (; i < end && l->found_count < l->limit; i++)
		listing_keep(req, l, (struct found){ reply_text(r, i), TEXT("") });
	bool is_away = reply_outcome(r) == NAME_PAGE_AWAY;
	if (is_away) { /* that slot moves, or has moved, and is left out */
		topology_refresh();
		l->unread_slots++;
	}
	if (i < end) { /* the page is full, and at least one is left */
		struct text last = l->found[l->found_count - 1].name;
		l->next = cursor_at(req, slot_of_name(req, l, last), last);
	} else {
		struct text stopped_at = is_away ? TEXT("") : reply_text(r, NAME_PAGE_STOPPED_AT);
		l->slot += (int)ended + is_away;
		l->name = arena_copy(&req->arena, stopped_at.at, stopped_at.len);
		bool is_end = l->slot >= (topology_is_cluster() ? REDIS_SLOTS : 1);
		l->next = is_end ? (struct text){ 0 } : cursor_at(req, l->slot, l->name);
	}
	if (end < r->count)
		forget(req, l, r, end);
	else
		l->proceed(req, l);
}

void list_names(struct request *req, struct listing *l)
{
	bool is_partial = listing_is_partial();

	if (is_partial)
		pass_over(req, l, 0);
	if (l->slot == REDIS_SLOTS) {
		l->proceed(req, l);
		return;
	}
	struct call *c = call_script(req, &name_page_script);
	const char *prefix = config()->prefix;

	l->asked = topology_is_cluster() ? cluster_slots_from(l->slot, SLOTS_A_STEP) : 1;
	call_at(c, topology_is_cluster() ? l->slot : REDIS_ANYWHERE);
	call_text(c, arena_printf(&req->arena, "%s%s:{", prefix, l->of->kind));
	call_text(c, arena_printf(&req->arena, "%snames:{", prefix));
	call_text(c, arena_printf(&req->arena, "}:%s", l->of->kind));
	call_text(c, l->name);
	call_text(c, l->match);
	call_int(c, (int64_t)(l->limit - l->found_count) + 1);
	call_text(c, tags_from(req, l->slot, l->asked));
	if (is_partial)
		call_may_fail(c);
	call_send(c, on_page);
}
