#include "call/match.h"

#include <string.h>

#include "request/request.h"

enum { MOST_STARS = 2 };

/* Escapes the bytes of `special`, so that they match themselves. */
static struct text escaped(struct request *req, struct text bytes, const char *special)
{
	char *at = arena_alloc(&req->arena, 2 * bytes.len + 1);
	size_t n = 0;

	for (size_t i = 0; at && i < bytes.len; i++) {
		if (bytes.at[i] && strchr(special, bytes.at[i]))
			at[n++] = '\\';
		at[n++] = bytes.at[i];
	}
	if (at)
		at[n] = '\0';
	return (struct text){ at, at ? n : 0 };
}

struct text match_literal(struct request *req, struct text bytes)
{
	return escaped(req, bytes, "\\*?[]^");
}

static size_t stars_of(struct text match)
{
	size_t stars = 0;

	for (size_t i = 0; i < match.len; i++)
		stars += match.at[i] == '*';
	return stars;
}

bool match_glob(struct request *req, struct text match, struct text *glob)
{
	*glob = (struct text){ 0 };
	if (!match.at)
		return true;
	size_t stars = stars_of(match);
	if (stars > MOST_STARS) {
		answer_field_problem(req, P_INVALID_VALUE, "?match",
				     "has %zu stars; %d are allowed, and every other byte is literal", stars,
				     MOST_STARS);
		return false;
	}
	*glob = escaped(req, match, "\\?[]^");
	if (!glob->at)
		answer_no_memory(req, EFFECT_NONE);
	return glob->at;
}

size_t match_depth(struct text match)
{
	size_t deepest = 0, run = 0;

	for (size_t i = match.len; i-- > 0;) {
		run = match.at[i] == '*' ? 0 : run + 1;
		if (i > 0 && match.at[i - 1] == '*' && run > deepest)
			deepest = run;
	}
	return deepest;
}
