#include "overview/overview_items.h"

#include <assert.h>
#include <stdlib.h>

#include "contract/self_call.h"
#include "request/operation.h"

/* The names of the kinds. */
static const char *const *kinds(void)
{
	static const char *const *names; /* of the first parameter, `kind` */

	if (!names)
		names = self_call_operation("overview_get")->fields[0].choices;
	return names;
}

static int by_weight(const void *a, const void *b)
{
	const struct overview_item *left = a, *right = b;
	const char *of_left = left->finding.name.at, *of_right = right->finding.name.at;

	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	return strcmp(of_left ? of_left : "", of_right ? of_right : "");
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

static struct text copy(struct arena *arena, struct text t)
{
	return t.at ? arena_copy(arena, t.at, t.len) : t;
}

/* Ten messages that have waited for a minute are worse than one that has waited for five. */
static double weight(const struct finding *f)
{
	bool is_wait = f->unit && strcmp(f->unit, "ms") == 0;

	return (double)f->value * (is_wait && f->count ? (double)f->count : 1);
}

void overview_items_add(struct overview_items *items, const struct finding *f)
{
	struct overview_item item = { *f, weight(f) }, *to;
	struct overview_list *list = items->of;

	for (size_t i = 0; strcmp(kinds()[i], f->kind) != 0; i++, list++)
		assert(i + 1 < OVERVIEW_KINDS);
	if (list->found++ == 0) {
		list->severity = copy(items->arena, text_of(f->severity)).at;
		list->unit = copy(items->arena, text_of(f->unit)).at;
	}
	list->count += f->count;
	if (f->since_at_ms && (!list->since_at_ms || f->since_at_ms < list->since_at_ms))
		list->since_at_ms = f->since_at_ms;
	if (list->stored == 2 * OVERVIEW_MOST_OF_KIND)
		sort(list);
	if (list->stored >= OVERVIEW_MOST_OF_KIND && item.weight < list->least)
		return;
	item.finding.kind = kinds()[list - items->of];
	item.finding.severity = list->severity;
	item.finding.unit = list->unit;
	item.finding.name = copy(items->arena, f->name);
	item.finding.message_id = copy(items->arena, f->message_id);
	item.finding.detail = copy(items->arena, f->detail);
	to = items->arena->failed ? NULL : place(list, items->arena);
	if (to)
		*to = item;
}

void overview_items_collect(struct overview_items *items, const struct json *item)
{
	const struct json *list = json_tree_member(item, "findings");

	for (const struct json *f = list ? list->first : NULL; f; f = f->next)
		overview_items_add(items, &(struct finding){
						  .kind = json_tree_string(f, "kind").at,
						  .severity = json_tree_string(f, "severity").at,
						  .name = json_tree_string(f, "name"),
						  .unit = json_tree_string(f, "unit").at,
						  .value = json_tree_int(f, "value", -1),
						  .count = json_tree_int(f, "count", 0),
						  .since_at_ms = json_tree_int(f, "since_at_ms", 0),
						  .until_ms = json_tree_int(f, "until_ms", 0),
						  .message_id = json_tree_string(f, "message_id"),
						  .detail = json_tree_string(f, "detail"),
					  });
}

static void out_kind(struct json_out *o, const char *kind, const struct overview_list *list)
{
	out_object(o, NULL);
	out_string(o, "kind", kind);
	out_string(o, "severity", list->severity);
	out_int(o, "finding_count", list->found);
	out_int_or_null(o, "count", list->count > 0, list->count);
	out_int_or_null(o, "since_at_ms", list->since_at_ms > 0, list->since_at_ms);
	out_close(o);
}

void overview_items_out(struct overview_items *items, enum overview_get_kind only, size_t limit, struct json_out *o)
{
	int64_t found = 0;

	for (size_t kind = 0; kind < OVERVIEW_KINDS; kind++)
		found += items->of[kind].found;
	out_int(o, "finding_count", found);
	out_array(o, "kinds");
	for (size_t kind = 0; kind < OVERVIEW_KINDS; kind++)
		if (items->of[kind].found > 0)
			out_kind(o, kinds()[kind], &items->of[kind]);
	out_close(o);
	out_array(o, "findings");
	for (size_t kind = 0; kind < OVERVIEW_KINDS; kind++) {
		struct overview_list *list = &items->of[kind];
		if (only && only != kind + 1)
			continue;
		sort(list);
		for (size_t i = 0; i < list->stored && i < limit; i++)
			finding_write(o, &list->at[i].finding);
	}
	out_close(o);
}
