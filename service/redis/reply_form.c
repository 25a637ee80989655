#include "redis/reply_form.h"

#include <stddef.h>

static bool items_fit(struct reply *const *items, size_t count, const char **form);

/*
 * Returns the position after the bracket that closes the array of `form`, or the end of the form.
 */
static const char *behind(const char *form)
{
	for (size_t depth = 0; *form; form++) {
		if (*form == ')' && depth-- == 0)
			return form + 1;
		depth += *form == '(';
	}
	return form;
}

/* Moves *form over the item's form, whether it fits or not. */
static bool item_fits(const struct reply *item, const char **form)
{
	switch (*(*form)++) {
	case 'i':
		return reply_is_int(item);
	case 'r':
		return reply_is_real(item);
	case 't':
		return reply_is_text(item);
	default: /* an opening bracket */
		if (item->type == REPLY_ARRAY)
			return items_fit(item->items, item->count, form);
		*form = behind(*form);
		return false;
	}
}

/* Moves *form past the closing bracket. */
static bool items_fit(struct reply *const *items, size_t count, const char **form)
{
	const char *at = *form, *again = NULL;
	bool fit = true;
	size_t i = 0;

	*form = behind(at);
	while (fit) {
		if (*at == '*')
			again = ++at;
		bool is_end = *at == '\0' || *at == ')';
		if (i == count)
			return is_end || at == again;
		if (is_end && !again)
			return false;
		if (is_end)
			at = again;
		fit = items[i] && item_fits(items[i], &at);
		i++;
	}
	return false;
}

bool reply_form_fits(const struct reply *r, const char *item)
{
	return item_fits(r, &item);
}

const struct reply_form *reply_form_of(const struct reply *r, const struct reply_form *forms)
{
	if (r->type != REPLY_ARRAY || r->count < REPLY_OWN)
		return NULL;
	const struct reply *outcome = r->items[REPLY_OUTCOME], *now = r->items[REPLY_NOW_MS];
	if (!outcome || !now || outcome->type != REPLY_INTEGER || now->type != REPLY_INTEGER || now->integer < 0)
		return NULL;
	for (; forms->items; forms++) {
		const char *items = forms->items;
		if (outcome->integer >= forms->least && outcome->integer <= forms->most &&
		    items_fit(r->items + REPLY_OWN, r->count - REPLY_OWN, &items))
			return forms;
	}
	return NULL;
}
