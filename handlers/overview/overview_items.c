/* overview_items: see overview/overview_items.h. */
#include "overview/overview_items.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *severity, *unit;
} kinds[OVERVIEW_KINDS] = {
	[OVERVIEW_REDIS_AWAY] = { "redis_away", "error", NULL },
	[OVERVIEW_SHARD_AWAY] = { "shard_away", "error", NULL },
	[OVERVIEW_QUORUM_AWAY] = { "quorum_server_away", "error", NULL },
	[OVERVIEW_REDIS_REFUSES] = { "redis_refuses", "error", NULL },
	[OVERVIEW_PERMISSIONS_MISSING] = { "permissions_missing", "error", NULL },
	[OVERVIEW_MEMORY_FULL] = { "memory_full", "error", "percent" },
	[OVERVIEW_PUSH_BACKING_OFF] = { "push_backing_off", "error", NULL },
	[OVERVIEW_PUSH_FAILING] = { "push_failing", "error", NULL },
	[OVERVIEW_WORK_FAILING] = { "work_failing", "error", "deliveries" },
	[OVERVIEW_WORK_HANGING] = { "work_hanging", "error", "ms" },
	[OVERVIEW_MESSAGE_FAILING] = { "message_failing", "warning", "deliveries" },
	[OVERVIEW_DEAD_LETTERS] = { "dead_letters", "warning", "messages" },
	[OVERVIEW_MESSAGES_WAITING] = { "messages_waiting", "warning", "ms" },
	[OVERVIEW_QUEUE_PAUSED] = { "queue_paused", "warning", "ms" },
	[OVERVIEW_GROUPS_BLOCKED] = { "groups_blocked", "warning", "messages" },
	[OVERVIEW_SCHEDULE_MISSED] = { "schedule_missed", "warning", "ms" },
	[OVERVIEW_LOCK_WAITING] = { "lock_waiting", "warning", "ms" },
	[OVERVIEW_CLOCK_OFF] = { "clock_off", "warning", "ms" },
};

/* Ten messages that have waited for a minute are worse than one that has waited for five. */
static double weight(enum overview_kind kind, const struct overview_item *item)
{
	bool is_wait = kinds[kind].unit && strcmp(kinds[kind].unit, "ms") == 0;

	return (double)item->value * (is_wait && item->count ? (double)item->count : 1);
}

static int by_weight(const void *a, const void *b)
{
	const struct overview_item *left = a, *right = b;

	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	return strcmp(left->name.at ? left->name.at : "", right->name.at ? right->name.at : "");
}

static void sort(struct overview_list *list)
{
	if (list->stored > 0)
		qsort(list->at, list->stored, sizeof(*list->at), by_weight);
	if (list->stored < OVERVIEW_MOST_OF_KIND)
		return;
	list->stored = OVERVIEW_MOST_OF_KIND;
	list->least = list->at[list->stored - 1].weight;
}

/* Returns a place for one more, or NULL without memory. */
static struct overview_item *place(struct overview_list *list, struct arena *arena)
{
	size_t room = list->room ? 2 * list->room : 20;

	if (list->stored == list->room) {
		struct overview_item *at = arena_grow(arena, list->at, list->room * sizeof(*at), room * sizeof(*at));
		if (!at)
			return NULL;
		list->at = at;
		list->room = room;
	}
	return &list->at[list->stored++];
}

struct overview_item *overview_items_add(struct overview_items *items, enum overview_kind kind, struct text name,
					 struct overview_item size)
{
	struct overview_list *list = &items->of[kind];

	list->found++;
	list->count += size.count;
	if (size.since_at_ms && (!list->since_at_ms || size.since_at_ms < list->since_at_ms))
		list->since_at_ms = size.since_at_ms;
	if (list->stored == 2 * OVERVIEW_MOST_OF_KIND)
		sort(list);
	size.weight = weight(kind, &size);
	if (list->stored >= OVERVIEW_MOST_OF_KIND && size.weight < list->least)
		return NULL;
	if (name.at)
		size.name = arena_copy(items->arena, name.at, name.len);
	if (size.message_id.at)
		size.message_id = arena_copy(items->arena, size.message_id.at, size.message_id.len);
	struct overview_item *item = name.at && !size.name.at ? NULL : place(list, items->arena);
	if (item)
		*item = size;
	return item;
}

void overview_items_set_detail(const struct overview_items *items, struct overview_item *item, const char *format, ...)
{
	char detail[OVERVIEW_DETAIL_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	item->detail = arena_copy(items->arena, detail, strlen(detail));
}

static void out_item(struct json_out *o, enum overview_kind kind, const struct overview_item *item)
{
	out_object(o, NULL);
	out_string(o, "kind", kinds[kind].name);
	out_string(o, "severity", kinds[kind].severity);
	out_text_or_null(o, "name", item->name);
	out_int_or_null(o, "value", item->value >= 0, item->value);
	out_string(o, "unit", item->value >= 0 ? kinds[kind].unit : NULL);
	out_int_or_null(o, "count", item->count > 0, item->count);
	out_text_or_null(o, "message_id", item->message_id);
	out_text(o, "detail", item->detail);
	out_int_or_null(o, "since_at_ms", item->since_at_ms > 0, item->since_at_ms);
	out_int_or_null(o, "until_ms", item->until_ms > 0, item->until_ms);
	out_close(o);
}

static void out_kind(struct json_out *o, enum overview_kind kind, const struct overview_list *list)
{
	out_object(o, NULL);
	out_string(o, "kind", kinds[kind].name);
	out_string(o, "severity", kinds[kind].severity);
	out_int(o, "finding_count", list->found);
	out_int_or_null(o, "count", list->count > 0, list->count);
	out_int_or_null(o, "since_at_ms", list->since_at_ms > 0, list->since_at_ms);
	out_close(o);
}

void overview_items_out(struct overview_items *items, enum overview_kind only, size_t limit, struct json_out *o)
{
	int64_t found = 0;

	for (enum overview_kind kind = 0; kind < OVERVIEW_KINDS; kind++)
		found += items->of[kind].found;
	out_int(o, "finding_count", found);
	out_array(o, "kinds");
	for (enum overview_kind kind = 0; kind < OVERVIEW_KINDS; kind++)
		if (items->of[kind].found > 0)
			out_kind(o, kind, &items->of[kind]);
	out_close(o);
	out_array(o, "findings");
	for (enum overview_kind kind = 0; kind < OVERVIEW_KINDS; kind++) {
		struct overview_list *list = &items->of[kind];
		if (only != OVERVIEW_KINDS && only != kind)
			continue;
		sort(list);
		for (size_t i = 0; i < list->stored && i < limit; i++)
			out_item(o, kind, &list->at[i]);
	}
	out_close(o);
}
