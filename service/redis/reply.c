/* reply: see redis/reply.h. */
#include "redis/reply.h"

#include <stdlib.h>

#include "core/arena.h"

static bool is_watched, is_misread;
static const char *mismatch;

void reply_watch(void)
{
	is_watched = true;
	is_misread = false;
}

bool reply_watched(void)
{
	bool misread = reply_is_misread();

	is_watched = false;
	return misread;
}

bool reply_is_misread(void)
{
	return is_watched && is_misread;
}

size_t reply_text_bytes(const struct reply *r)
{
	size_t bytes = r->type == REPLY_TEXT ? r->text.len : 0;

	for (size_t i = 0; r->type == REPLY_ARRAY && i < r->count; i++)
		bytes += reply_text_bytes(r->items[i]);
	return bytes;
}

void reply_note_mismatch(const char *why)
{
	mismatch = why;
}

const char *reply_mismatch(void)
{
	return mismatch;
}

/* Item `i`; an empty array after the last item, which a reply may omit. */
static const struct reply *item_of(const struct reply *r, size_t i)
{
	static const struct reply left_out = { .type = REPLY_ARRAY };

	return r->type == REPLY_ARRAY && i < r->count && r->items[i] ? r->items[i] : &left_out;
}

static bool is_left_out(const struct reply *r, size_t i)
{
	return r->type == REPLY_ARRAY && i >= r->count;
}

static bool is_text(const struct reply *item)
{
	return item->type == REPLY_TEXT || item->type == REPLY_STATUS;
}

const struct reply *reply_item(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);

	is_misread |= item->type != REPLY_ARRAY;
	return item;
}

int64_t reply_int(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);
	char *end = NULL;

	if (item->type == REPLY_INTEGER)
		return item->integer;
	int64_t value = is_text(item) ? strtoll(item->text.at, &end, 10) : 0;
	is_misread |= !is_left_out(r, i) && (!end || end == item->text.at || *end != '\0');
	return value;
}

double reply_real(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);
	char *end = NULL;

	if (item->type == REPLY_INTEGER)
		return (double)item->integer;
	double value = is_text(item) ? strtod(item->text.at, &end) : 0;
	is_misread |= !is_left_out(r, i) && (!end || end == item->text.at || *end != '\0');
	return value;
}

struct text reply_text(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);

	is_misread |= !is_text(item) && !is_left_out(r, i);
	return is_text(item) ? item->text : (struct text){ 0 };
}

bool reply_is_text(const struct reply *r, size_t i)
{
	return is_text(item_of(r, i));
}

bool reply_error_begins(struct text error, const char *word)
{
	size_t len = strlen(word);

	return error.len >= len && memcmp(error.at, word, len) == 0 && (error.len == len || error.at[len] == ' ');
}

int reply_error_length(struct text error)
{
	const char *place = error.at ? strstr(error.at, " script: ") : NULL;

	return place ? (int)(place - error.at) : (int)error.len;
}

const struct reply *reply_keep(struct arena *arena, const struct reply *r)
{
	struct reply *kept = arena_alloc(arena, sizeof(*kept));

	if (!kept)
		return NULL;
	*kept = *r;
	if (r->text.at)
		kept->text = arena_copy(arena, r->text.at, r->text.len);
	if (!r->count)
		return kept;
	kept->items = arena_alloc(arena, r->count * sizeof(kept->items[0]));
	kept->count = kept->items ? r->count : 0;
	for (size_t i = 0; i < kept->count; i++)
		kept->items[i] = r->items[i] ? (struct reply *)(uintptr_t)reply_keep(arena, r->items[i]) : NULL;
	return kept;
}
