#include "core/nearest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_BYTES = 64, MOST_EDITS = 3 };

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Returns the distance by optimal string alignment: insert, delete, replace, swap two neighbours.
 */
static unsigned align(struct text a, struct text b)
{
	unsigned rows[3][MOST_BYTES + 1];

	for (unsigned j = 0; j <= b.len; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a.len; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
		row[0] = i;
		for (unsigned j = 1; j <= b.len; j++) {
			char x = lower(a.at[i - 1]), y = lower(b.at[j - 1]);
			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == lower(b.at[j - 2]) && lower(a.at[i - 2]) == y)
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

/*
 * Returns true for a name without its last words, such as "delay" for "delay_ms", and "pool" for
 * "pool-size".
 */
static bool lacks_suffix(struct text given, struct text known)
{
	return given.len > 0 && given.len < known.len && strchr("_-", known.at[given.len]) &&
	       strncasecmp(given.at, known.at, given.len) == 0;
}

unsigned nearest_edits(struct text given, struct text known)
{
	size_t longer = given.len > known.len ? given.len : known.len, shorter = given.len + known.len - longer;
	unsigned most = least((unsigned)longer / 3, MOST_EDITS);

	if (longer > MOST_BYTES)
		return NEAREST_FAR;
	if (lacks_suffix(given, known))
		return 1;
	unsigned edits = longer - shorter > most ? NEAREST_FAR : align(given, known);
	return edits <= most ? edits : NEAREST_FAR;
}

void nearest_take(struct nearest *n, const char *known, unsigned edits)
{
	bool is_given = text_is(n->given, known);

	if (edits == NEAREST_FAR || is_given || (n->found && edits >= n->edits))
		return;
	n->found = known;
	n->edits = edits;
}

void nearest_offer(struct nearest *n, const char *known)
{
	nearest_take(n, known, nearest_edits(n->given, text_of(known)));
}

const char *nearest_hint(const struct nearest *n, char buffer[NEAREST_HINT])
{
	buffer[0] = '\0';
	if (n->found)
		snprintf(buffer, NEAREST_HINT, "; did you mean '%s'?", n->found);
	return buffer;
}
