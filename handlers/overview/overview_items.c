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
	[OVERVIEW_GROUPS_BLOCKED] = { "groups_blocked", "warning", "messages" },
	[OVERVIEW_SCHEDULE_MISSED] = { "schedule_missed", "warning", "ms" },
	[OVERVIEW_LOCK_WAITING] = { "lock_waiting", "warning", "ms" },
};

/* Returns where an item with this value is stored, or NULL if all stored items are worse. */
static struct overview_item *place(struct overview_items *items, enum overview_kind kind, int64_t value)
{
	struct overview_item *list = items->of[kind], *least = list;

	if (items->count[kind] < OVERVIEW_MOST_OF_KIND)
		return &list[items->count[kind]++];
	for (size_t i = 1; i < OVERVIEW_MOST_OF_KIND; i++)
		if (list[i].value < least->value)
			least = &list[i];
	return least->value < value ? least : NULL;
}

struct overview_item *overview_items_add(struct overview_items *items, enum overview_kind kind, struct text name,
					 int64_t value)
{
	struct overview_item *item = place(items, kind, value);

	items->found++;
	if (!item)
		return NULL;
	*item = (struct overview_item){ .value = value };
	snprintf(item->name, sizeof(item->name), "%.*s", (int)name.len, name.at ? name.at : "");
	return item;
}

void overview_items_set_detail(struct overview_item *item, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(item->detail, sizeof(item->detail), format, args);
	va_end(args);
}

static int by_value(const void *a, const void *b)
{
	const struct overview_item *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void out_item(struct json_out *o, enum overview_kind kind, const struct overview_item *item)
{
	out_object(o, NULL);
	out_string(o, "kind", kinds[kind].name);
	out_string(o, "severity", kinds[kind].severity);
	out_text_or_null(o, "name", text_of(item->name));
	out_int_or_null(o, "value", item->value >= 0, item->value);
	out_string(o, "unit", item->value >= 0 ? kinds[kind].unit : NULL);
	out_string(o, "detail", item->detail);
	out_int_or_null(o, "since_at_ms", item->since_at_ms > 0, item->since_at_ms);
	out_int_or_null(o, "until_ms", item->until_ms > 0, item->until_ms);
	out_close(o);
}

void overview_items_out(struct overview_items *items, struct json_out *o)
{
	size_t left = OVERVIEW_MOST;

	out_int(o, "finding_count", items->found);
	out_array(o, "findings");
	for (enum overview_kind kind = 0; kind < OVERVIEW_KINDS; kind++) {
		qsort(items->of[kind], items->count[kind], sizeof(struct overview_item), by_value);
		for (size_t i = 0; i < items->count[kind] && left > 0; i++, left--)
			out_item(o, kind, &items->of[kind][i]);
	}
	out_close(o);
}
