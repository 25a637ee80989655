#include "contract/synonym.h"

#include <string.h>
#include <strings.h>

#include "request/operation.h"

bool synonym_is(struct text given, const char *known)
{
	for (size_t i = 0; i < synonym_count; i++)
		if (strcmp(synonyms[i].known, known) == 0 && synonyms[i].word.len == given.len &&
		    strncasecmp(synonyms[i].word.at, given.at, given.len) == 0)
			return true;
	return false;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && strcmp(name + len - n, end) == 0;
}

bool synonym_is_instant(const char *known)
{
	return ends_with(known, "_at_ms");
}

bool synonym_is_duration(const char *known)
{
	return ends_with(known, "_ms") && !synonym_is_instant(known);
}

const char *synonym_unit(const struct nearest *n)
{
	bool has_unit = n->given.len > 2 && strncasecmp(n->given.at + n->given.len - 2, "ms", 2) == 0;

	if (!n->found || has_unit)
		return "";
	return synonym_is_instant(n->found)    ? " It is Unix time in milliseconds"
	       : synonym_is_duration(n->found) ? " It is in milliseconds"
					       : "";
}

void synonym_offer(struct nearest *n, const char *known)
{
	bool is_better = !n->found || n->edits > 0;

	if (!is_better)
		return;
	if (!synonym_is(n->given, known)) {
		nearest_offer(n, known);
		return;
	}
	n->found = known;
	n->edits = 0;
}
