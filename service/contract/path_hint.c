#include "contract/path_hint.h"

#include <limits.h>
#include <stdio.h>

#include "contract/synonym.h"
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

static unsigned segment_edits(struct text given, struct text known)
{
	return synonym_is(given, known.at) ? 1 : nearest_edits(given, known);
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
		unsigned edits = literal.len ? segment_edits(given, literal) : 0;
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
		bool is_action = is_verb(op, segments[i]);
		bool is_name = fits && query_name(op) && segments[i].len > 0 && segments[i].len <= MAX_NAME;
		if (is_action || is_name)
			keep(best, op, pairs(op, NONE, segments, i), is_action ? OF_VERB : OF_QUERY_NAME,
			     is_action ? NONE : i);
	}
}

/* Tries the verb before the name, such as /locks/extend/x. */
static void try_swapped(struct fit *best, const struct operation *op, const struct text *segments, bool fits)
{
	struct text swapped[] = { segments[0], segments[2], segments[1] };

	if (is_verb(op, segments[1]))
		keep(best, op, pairs(op, NONE, swapped, NONE), OF_VERB + !fits, NONE);
}

static struct fit nearest_operation(const char *method, const struct text *segments, size_t count)
{
	struct fit best = { .cost = FAR };

	for (const struct operation *op = operations; op < operations + operation_count; op++) {
		bool fits = has_method(op, method);
		if (op->segment_count == count)
			keep(&best, op, pairs(op, NONE, segments, NONE), !fits, NONE);
		else if (op->segment_count == count + 1 && fits)
			try_missing(&best, op, segments);
		else if (op->segment_count + 1u == count)
			try_extra(&best, op, segments, (int)count, fits);
		if (op->segment_count == count && count == 3)
			try_swapped(&best, op, segments, fits);
	}
	return best;
}

/*
 * Returns what has the longest beginning of the path, if no name is in it: the rest is a name that
 * belongs in the body. If a name is in it, that name probably had a slash.
 */
static struct fit nearest_beginning(const char *method, const struct text *segments, size_t count)
{
	struct fit best = { .cost = FAR };

	while (!best.op && count > 1)
		best = nearest_operation(method, segments, --count);
	for (size_t i = 0; best.op && i < best.op->segment_count; i++)
		if (best.op->segments[i].len == 0)
			return (struct fit){ .cost = FAR };
	return best;
}

/* Writes the method and the path of an operation, and returns their length. */
static size_t write_path(const struct operation *op, char buffer[PATH_HINT_BYTES])
{
	size_t n = (size_t)snprintf(buffer, PATH_HINT_BYTES, "%s ", op->method), parameter = 0;

	for (size_t i = 0; i < op->segment_count && n < PATH_HINT_BYTES; i++)
		if (op->segments[i].len)
			n += (size_t)snprintf(buffer + n, PATH_HINT_BYTES - n, "/%s", op->segments[i].at);
		else
			n += (size_t)snprintf(buffer + n, PATH_HINT_BYTES - n, "/{%s}", op->fields[parameter++].name);
	return n;
}

const char *path_hint(const char *method, const struct text *segments, size_t count, char buffer[PATH_HINT_BYTES])
{
	char encoded[3 * MAX_NAME + 1];

	if (count > 1 && segments[count - 1].len == 0) /* a slash at the end */
		count--;
	struct fit near = nearest_operation(method, segments, count);
	if (!near.op)
		near = nearest_beginning(method, segments, count);
	if (!near.op)
		return NULL;
	size_t n = write_path(near.op, buffer);
	if (near.extra != NONE && n < PATH_HINT_BYTES) {
		percent_encode(segments[near.extra], encoded);
		snprintf(buffer + n, PATH_HINT_BYTES - n, "?%s=%s", query_name(near.op)->name, encoded);
	}
	return buffer;
}

/* ---- A path that exists ---- */

/* Returns true if the first `count` segments of two paths are the same; parameters are equal. */
static bool same_start(const struct operation *a, const struct operation *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!text_equal(a->segments[i], b->segments[i]))
			return false;
	return true;
}

/* Returns true if `longer` is the path of `shorter` and one more parameter, at any place. */
static bool has_parameter_more(const struct operation *longer, const struct operation *shorter)
{
	size_t i = 0, k = 0;

	if (longer->segment_count != shorter->segment_count + 1u)
		return false;
	for (; i < longer->segment_count; i++)
		if (k < shorter->segment_count && text_equal(longer->segments[i], shorter->segments[k]))
			k++;
		else if (longer->segments[i].len || i > k)
			return false;
	return true;
}

/* Returns the cost of another path instead of the path that exists. */
static int path_cost(const struct operation *op, const struct operation *exists, struct text last)
{
	size_t count = exists->segment_count;

	if (has_parameter_more(op, exists) || has_parameter_more(exists, op))
		return OF_PARAMETER;
	if (op->segment_count == count && op->segments[count - 1].len && same_start(op, exists, count - 1)) {
		unsigned edits = segment_edits(last, op->segments[count - 1]);
		return edits == NEAREST_FAR ? FAR : OF_EDIT * (int)edits;
	}
	return op->segment_count == count + 1 && exists->segments[count - 1].len == 0 && same_start(op, exists, count)
		       ? OF_LAST
		       : FAR;
}

/*
 * A verb after a name is suggested only if the path itself does not have the other method: a POST
 * of a cached value means PUT, not POST /cache/{key}/invalidate.
 */
static bool is_other_verb(const struct operation *op, int cost, const char *other)
{
	return cost == OF_LAST && !other && is_verb(op, op->segments[op->segment_count - 1]);
}

/*
 * Returns the method that clients use in place of POST or PUT, unless the path has it: a schedule
 * is made by PUT with its id, a message by POST without. NULL: there is none.
 */
static const char *other_method(const char *method, const struct operation *const *found, size_t found_count)
{
	const char *other = strcmp(method, "POST") == 0 ? "PUT" : strcmp(method, "PUT") == 0 ? "POST" : NULL;

	for (size_t i = 0; other && i < found_count; i++)
		if (has_method(found[i], other))
			return NULL;
	return other;
}

const char *path_hint_method(const char *method, const struct operation *const *found, size_t found_count,
			     struct text last, char buffer[PATH_HINT_BYTES])
{
	const char *other = other_method(method, found, found_count);
	struct fit best = { .cost = FAR };

	for (const struct operation *op = operations; op < operations + operation_count; op++) {
		int cost = path_cost(op, found[0], last);
		if (has_method(op, method) && !is_other_verb(op, cost, other))
			keep(&best, op, cost, 0, NONE);
		else if (other && cost == OF_PARAMETER && has_method(op, other))
			keep(&best, op, cost, 1, NONE);
	}
	if (!best.op)
		return NULL;
	write_path(best.op, buffer);
	return buffer;
}

const char *path_hint_shorter(const struct operation *op, char buffer[PATH_HINT_BYTES])
{
	size_t count = op->segment_count - 1u;

	for (const struct operation *o = operations; op->segments[count].len == 0 && o < operations + operation_count;
	     o++)
		if (o->segment_count == count && strcmp(o->method, op->method) == 0 && same_start(o, op, count)) {
			write_path(o, buffer);
			return buffer;
		}
	return NULL;
}
