#include "redis/reply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

static bool expects_types;
static const char *mismatch;

void reply_expect_types(bool expect)
{
	expects_types = expect;
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

bool reply_is_text(const struct reply *item)
{
	return item->type == REPLY_TEXT || item->type == REPLY_STATUS;
}

bool reply_is_int(const struct reply *item)
{
	if (item->type == REPLY_INTEGER)
		return true;
	const char *digits = reply_is_text(item) ? item->text.at + (*item->text.at == '-') : "";
	return *digits && digits[strspn(digits, "0123456789")] == '\0';
}

bool reply_is_real(const struct reply *item)
{
	if (item->type == REPLY_INTEGER)
		return true;
	return reply_is_text(item) && item->text.len &&
	       item->text.at[strspn(item->text.at, "0123456789.+-einfa")] == '\0';
}

/* NULL: there are not as many items. */
static const struct reply *item_of(const struct reply *r, size_t i)
{
	return r->type == REPLY_ARRAY && i < r->count ? r->items[i] : NULL;
}

int64_t reply_int(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);

	assert(!item || reply_is_int(item) || !expects_types);
	if (!item || item->type == REPLY_INTEGER)
		return item ? item->integer : 0;
	return reply_is_text(item) ? strtoll(item->text.at, NULL, 10) : 0;
}

double reply_real(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);

	assert(!item || reply_is_real(item) || !expects_types);
	if (!item || item->type == REPLY_INTEGER)
		return item ? (double)item->integer : 0;
	return reply_is_text(item) ? strtod(item->text.at, NULL) : 0;
}

struct text reply_text(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);

	assert(!item || reply_is_text(item) || !expects_types);
	return item && reply_is_text(item) ? item->text : (struct text){ 0 };
}

const struct reply *reply_item(const struct reply *r, size_t i)
{
	static const struct reply nothing = { .type = REPLY_ARRAY };
	const struct reply *item = item_of(r, i);

	assert(!item || item->type == REPLY_ARRAY || !expects_types);
	return item && item->type == REPLY_ARRAY ? item : &nothing;
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
