/* reply: see redis/reply.h. */
#include "redis/reply.h"

#include <assert.h>
#include <stdlib.h>

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

/* Reads the whole text; false when it is no number. */
static bool read_int(const struct reply *item, int64_t *value)
{
	char *end = NULL;

	if (item->type == REPLY_INTEGER)
		*value = item->integer;
	else if (reply_is_text(item))
		*value = strtoll(item->text.at, &end, 10);
	return item->type == REPLY_INTEGER || (end && end != item->text.at && *end == '\0');
}

static bool read_real(const struct reply *item, double *value)
{
	char *end = NULL;

	if (item->type == REPLY_INTEGER)
		*value = (double)item->integer;
	else if (reply_is_text(item))
		*value = strtod(item->text.at, &end);
	return item->type == REPLY_INTEGER || (end && end != item->text.at && *end == '\0');
}

bool reply_is_int(const struct reply *item)
{
	int64_t value;

	return read_int(item, &value);
}

bool reply_is_real(const struct reply *item)
{
	double value;

	return read_real(item, &value);
}

/* NULL after the last item. */
static const struct reply *item_of(const struct reply *r, size_t i)
{
	return r->type == REPLY_ARRAY && i < r->count ? r->items[i] : NULL;
}

int64_t reply_int(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);
	int64_t value = 0;

	bool is_read = !item || read_int(item, &value);
	assert(is_read || !expects_types);
	return value;
}

double reply_real(const struct reply *r, size_t i)
{
	const struct reply *item = item_of(r, i);
	double value = 0;

	bool is_read = !item || read_real(item, &value);
	assert(is_read || !expects_types);
	return value;
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
