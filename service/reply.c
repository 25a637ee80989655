/* reply: see reply.h. */
#include "reply.h"

#include <stdlib.h>

#include "request.h"

const struct reply *reply_item(const struct reply *r, size_t i)
{
	static const struct reply nil = { .type = REPLY_NIL };

	return r->type == REPLY_ARRAY && i < r->count && r->items[i] ? r->items[i] : &nil;
}

int64_t reply_int(const struct reply *r, size_t i)
{
	const struct reply *item = reply_item(r, i);

	return item->type == REPLY_INTEGER ? item->integer : item->text.at ? strtoll(item->text.at, NULL, 10) : 0;
}

double reply_real(const struct reply *r, size_t i)
{
	const struct reply *item = reply_item(r, i);

	return item->type == REPLY_INTEGER ? (double)item->integer : item->text.at ? strtod(item->text.at, NULL) : 0;
}

struct text reply_text(const struct reply *r, size_t i)
{
	return reply_item(r, i)->text;
}

bool error_begins(struct text error, const char *word)
{
	size_t len = strlen(word);

	return error.len >= len && memcmp(error.at, word, len) == 0 && (error.len == len || error.at[len] == ' ');
}

const struct reply *reply_keep(struct request *req, const struct reply *r)
{
	struct reply *kept = arena_alloc(&req->arena, sizeof(*kept));

	if (!kept)
		return NULL;
	*kept = *r;
	if (r->text.at)
		kept->text = arena_copy(&req->arena, r->text.at, r->text.len);
	if (!r->count)
		return kept;
	kept->items = arena_alloc(&req->arena, r->count * sizeof(kept->items[0]));
	kept->count = kept->items ? r->count : 0;
	for (size_t i = 0; i < kept->count; i++)
		kept->items[i] = r->items[i] ? (struct reply *)(uintptr_t)reply_keep(req, r->items[i]) : NULL;
	return kept;
}
