/* path_hint: see path_hint.h. */
#include "contract/path_hint.h"

#include <limits.h>
#include <stdio.h>

#include "core/nearest.h"
#include "core/percent.h"
#include "request/operation.h"

enum {
	FAR = INT_MAX,
	NONE = -1,
	/* The costs of differences. The method and the contract's order break ties. */
	OF_EDIT = 16,
	OF_PARAMETER = 2,
	OF_VERB = 32,
	OF_QUERY_NAME = 48,
	OF_LAST = 64,
	OF_MIDDLE = 96,
	MAX_NAME = 200
};

/* How the given segments differ from an operation's path. */
struct fit {
	const struct operation *op;
	int cost;
	int extra; /* index of the given segment that is superfluous; or NONE */
};

/* GET also answers HEAD. */
static bool has_method(const struct operation *op, const char *method)
{
	return strcmp(op->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

/* Returns true for the last word of an operation's id, such as "acquire" of lock_acquire. */
static bool is_verb(const struct operation *op, struct text word)
{
	const char *verb = strrchr(op->id, '_');

	return verb && text_is(word, verb + 1);
}

static bool is_reserved(const struct field *field, struct text word)
{
	for (const char *const *r = field->kind == FIELD_NAME ? field->reserved : NULL; r && *r; r++)
		if (text_is(word, *r))
			return true;
	return word.len == 0;
}

/* Returns the query parameter whose value is a name or a list of names; NULL: there is none. */
static const struct field *query_name(const struct operation *op)
{
	for (size_t i = 0; i < op->field_count; i++) {
		const struct field *field = &op->fields[i];
		bool is_name = field->kind == FIELD_NAME ||
			       (field->kind == FIELD_ARRAY && field->fields[0].kind == FIELD_NAME);
		if (field->place == IN_QUERY && is_name)
			return field;
	}
	return NULL;
}

/*
 * Returns the cost of all pairs of segments, without one segment of the path (`missing`) and one of
 * the given ones (`extra`).
 */
static int pairs(const struct operation *op, int missing, const struct text *segments, int extra)
{
	size_t parameter = 0, k = 0;
	int cost = 0;

	for (size_t i = 0; i < op->segment_count; i++) {
		struct text literal = op->segments[i];
		const struct field *field = literal.len ? NULL : &op->fields[parameter++];
		if ((int)i == missing)
			continue;
		k += (int)k == extra;
		struct text given = segments[k++];
		unsigned edits = literal.len ? nearest_edits(given, literal) : 0;
		if (field && is_reserved(field, given))
			return FAR;
		if (edits == NEAREST_FAR && (i == 0 || !is_verb(op, given)))
			return FAR;
		cost += edits == NEAREST_FAR ? OF_VERB : field ? OF_PARAMETER : OF_EDIT * (int)edits;
	}
	return cost;
}

static void keep(struct fit *best, const struct operation *op, int pairs_cost, int more, int extra)
{
	if (pairs_cost != FAR && pairs_cost + more < best->cost)
		*best = (struct fit){ op, pairs_cost + more, extra };
}

/* Tries paths that have one segment more than the given ones. */
static void try_missing(struct fit *best, const struct operation *op, const struct text *segments)
{
	int last = op->segment_count - 1;

	for (int i = 1; i <= last; i++)
		keep(best, op, pairs(op, i, segments, NONE), i == last ? OF_LAST : OF_MIDDLE, NONE);
}

/* Tries paths that have one segment less than the given ones. */
static void try_extra(struct fit *best, const struct operation *op, const struct text *segments, int count, bool fits)
{
	for (int i = 1; i < count; i++) {
		bool is_action = i == count - 1 && is_verb(op, segments[i]);
		bool is_name = fits && query_name(op) && segments[i].len > 0 && segments[i].len <= MAX_NAME;
		if (is_action || is_name)
			keep(best, op, pairs(op, NONE, segments, i), is_action ? OF_VERB : OF_QUERY_NAME,
			     is_action ? NONE : i);
	}
}

static struct fit nearest_operation(const char *method, const struct text *segments, size_t count, bool exists)
{
	struct fit best = { .cost = FAR };

	for (const struct operation *op = operations; op < operations + operation_count; op++) {
		bool fits = has_method(op, method);
		if (exists && !fits)
			continue;
		if (op->segment_count == count)
			keep(&best, op, pairs(op, NONE, segments, NONE), !fits, NONE);
		else if (op->segment_count == count + 1 && fits)
			try_missing(&best, op, segments);
		else if (op->segment_count + 1u == count)
			try_extra(&best, op, segments, (int)count, fits);
	}
	return best;
}

const char *path_hint(const char *method, const struct text *segments, size_t count, bool exists,
		      char buffer[PATH_HINT_BYTES])
{
	char encoded[3 * MAX_NAME + 1];
	size_t n, parameter = 0;

	if (count > 1 && segments[count - 1].len == 0) /* a slash at the end */
		count--;
	struct fit near = nearest_operation(method, segments, count, exists);
	if (!near.op)
		return NULL;
	n = (size_t)snprintf(buffer, PATH_HINT_BYTES, "%s ", near.op->method);
	for (size_t i = 0; i < near.op->segment_count && n < PATH_HINT_BYTES; i++)
		if (near.op->segments[i].len)
			n += (size_t)snprintf(buffer + n, PATH_HINT_BYTES - n, "/%s", near.op->segments[i].at);
		else
			n += (size_t)snprintf(buffer + n, PATH_HINT_BYTES - n, "/{%s}",
					      near.op->fields[parameter++].name);
	if (near.extra != NONE && n < PATH_HINT_BYTES) {
		percent_encode(segments[near.extra], encoded);
		snprintf(buffer + n, PATH_HINT_BYTES - n, "?%s=%s", query_name(near.op)->name, encoded);
	}
	return buffer;
}
