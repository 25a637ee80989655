#include "push/push_refusals.h"

#include <string.h>
#include <xxhash.h>

/* Two ids with one hash would only share their count. */
static uint64_t hash_of(struct text id)
{
	uint64_t hash = XXH64(id.at, id.len, 0);

	return hash ? hash : 1;
}

/* Returns the index of the message, or PUSH_REFUSALS_MOST. */
static size_t find(const struct push_refusals *r, uint64_t id)
{
	size_t i = 0;

	while (i < PUSH_REFUSALS_MOST && r->rows[i].id != id)
		i++;
	return i;
}

unsigned push_refusals_note(struct push_refusals *r, struct text id, uint64_t acknowledged)
{
	struct push_refusal row = { .id = hash_of(id), .acknowledged = acknowledged };
	size_t i = find(r, row.id);

	if (i < PUSH_REFUSALS_MOST)
		row.times = r->rows[i].times + (r->rows[i].acknowledged != acknowledged);
	else
		i = PUSH_REFUSALS_MOST - 1;
	memmove(r->rows + 1, r->rows, i * sizeof(row));
	r->rows[0] = row;
	return row.times;
}

void push_refusals_forget(struct push_refusals *r, struct text id)
{
	size_t i = find(r, hash_of(id));

	if (i == PUSH_REFUSALS_MOST)
		return;
	memmove(r->rows + i, r->rows + i + 1, (PUSH_REFUSALS_MOST - 1 - i) * sizeof(r->rows[0]));
	r->rows[PUSH_REFUSALS_MOST - 1] = (struct push_refusal){ 0 };
}
