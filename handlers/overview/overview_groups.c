#include "overview/overview_groups.h"

#include <stdlib.h>

void overview_groups_note(struct overview_groups *g, const struct json *queue)
{
	struct text name = json_tree_string(queue, "name");
	struct overview_queue found = {
		.blocked = json_tree_int(queue, "blocked", 0),
		.is_idle = json_tree_int(queue, "ready", 0) == 0 && json_tree_int(queue, "in_flight", 0) == 0,
	};

	if (found.blocked == 0)
		return;
	if (g->count == g->room) {
		size_t room = g->room ? 2 * g->room : 20;
		void *grown = arena_grow(g->arena, g->queues, g->room * sizeof(found), room * sizeof(found));
		if (!grown)
			return;
		g->queues = grown;
		g->room = room;
	}
	found.name = arena_copy(g->arena, name.at, name.len);
	g->queues[g->count++] = found;
}

static int by_badness(const void *left, const void *right)
{
	const struct overview_queue *a = left, *b = right;

	if (a->is_idle != b->is_idle)
		return a->is_idle ? -1 : 1;
	return (a->blocked < b->blocked) - (a->blocked > b->blocked);
}

void overview_groups_sort(struct overview_groups *g)
{
	if (g->count > 0)
		qsort(g->queues, g->count, sizeof(*g->queues), by_badness);
}

/*
 * Whether the blocked messages of a group wait for more than a worker that has another message of
 * it. The head of a group that is ready is counted by messages_waiting. A rate and a backoff let
 * the next message through by themselves: the group is stuck only if that takes long. A delivery
 * that has timed out counts as in flight until the next receive; in an idle queue no worker
 * receives.
 */
static bool is_stuck(const struct json *g, struct text reason, bool of_idle_queue, int64_t left_ms)
{
	if (json_tree_int(g, "blocked", 0) == 0)
		return false;
	if (text_is(reason, "paused") || (of_idle_queue && text_is(reason, "in_flight") && left_ms <= 0))
		return true;
	if (json_tree_int(g, "ready", 0) > 0 || json_tree_int(g, "in_flight", 0) > 0)
		return false;
	return !(text_is(reason, "limited") || text_is(reason, "backoff")) || left_ms > FINDING_OLD_MS;
}

void overview_groups_take(struct overview_groups *g, const struct json *answer, int64_t now_ms)
{
	const struct json *groups = json_tree_member(answer, "items");
	struct overview_stuck *stuck = &g->stuck;

	stuck->now_ms = now_ms;
	for (const struct json *i = groups ? groups->first : NULL; i; i = i->next) {
		struct text reason = json_tree_string(i, "reason"), name = json_tree_string(i, "group");
		int64_t at_ms = json_tree_int(i, "oldest_at_ms", now_ms), until_ms = json_tree_int(i, "until_ms", 0);
		if (!is_stuck(i, reason, g->queues[g->at].is_idle, until_ms - now_ms))
			continue;
		stuck->blocked += json_tree_int(i, "blocked", 0);
		stuck->paused += text_is(reason, "paused");
		stuck->limited += text_is(reason, "limited");
		stuck->backoff += text_is(reason, "backoff");
		if (until_ms > 0 && (stuck->until_ms == 0 || until_ms < stuck->until_ms))
			stuck->until_ms = until_ms;
		if (stuck->oldest_at_ms > 0 && at_ms >= stuck->oldest_at_ms)
			continue;
		stuck->oldest_at_ms = at_ms;
		stuck->oldest = arena_copy(g->arena, name.at, name.len);
	}
}

void overview_groups_end(struct overview_groups *g, struct overview_items *items, bool has_all)
{
	const struct overview_queue *queue = &g->queues[g->at++];
	struct overview_stuck stuck = g->stuck;
	bool is_old = stuck.blocked > 0 && stuck.now_ms - stuck.oldest_at_ms > FINDING_OLD_MS;
	int64_t n = is_old ? stuck.blocked : queue->blocked;

	g->stuck = (struct overview_stuck){ 0 };
	if (!is_old && (has_all || !queue->is_idle))
		return;
	struct text which = is_old ? arena_printf(g->arena,
						  ": %" PRId64 " %s paused, %" PRId64 " limited, %" PRId64
						  " in a backoff; the oldest waits for group %s",
						  stuck.paused, finding_verb(stuck.paused), stuck.limited,
						  stuck.backoff, stuck.oldest.at ? stuck.oldest.at : "")
				   : TEXT("");
	overview_items_add(items,
			   &(struct finding){
				   .kind = "groups_blocked",
				   .severity = "warning",
				   .name = queue->name,
				   .unit = "messages",
				   .value = n,
				   .count = n,
				   .since_at_ms = is_old ? stuck.oldest_at_ms : 0,
				   .until_ms = is_old ? stuck.until_ms : 0,
				   .detail = arena_printf(g->arena, "%" PRId64 " message%s %s due, and %s%s", n,
							  finding_plural(n), finding_verb(n),
							  n == 1 ? "waits for its group" : "wait for their groups",
							  which.at ? which.at : ""),
			   });
}
