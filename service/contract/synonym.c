/* synonym: see synonym.h. */
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
