/*
 * set_combine: unions, intersections and differences of several sets: GET /sets/combine. This file
 * must not store a result (sets/merge.c).
 *
 * It is one script (lua/sets/set_combine.lua) if all sets are in one slot. In a Cluster, sets in
 * several slots are first asked for their sizes. For a union, each slot then unites its own sets.
 * For an intersection or a difference, the slot of the base set (the smallest of an intersection,
 * the first of a difference) combines its own sets, and the other slots return which of these
 * members stay.
 *
 * Members are returned in the order of a hash. The cursor of a page is the hash of its last member,
 * so members that are added or removed between two pages do not hide others.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "common/handler.h"
#include "common/key_kinds.h"

enum { MEMBERS_MAX = 1000 }; /* as in lua/sets/set_combine.lua */

enum set_way { UNION, INTERSECT, SUBTRACT };
static const char *const ways[] = { "union", "intersect", "subtract" };

struct member {
	struct text text;
	int64_t hash;
};

/* The state of a request, in its arena. */
struct set_combination {
	enum set_way way;
	const struct text *names;
	size_t count;
	const struct slots *slots;
	size_t base; /* index of the slot that has the base set */
	size_t pending;
	int64_t *sizes;         /* of each set */
	struct member *members; /* the members so far */
	size_t member_count, member_room;
	char *stays;   /* a byte for each member */
	int64_t after; /* the page has members with a greater hash */
};

static void answer_too_many(struct request *req, int64_t members)
{
	struct json_out *o = answer_begin_problem(req, P_TOO_MANY_MEMBERS,
						  "the sets have %lld members to go through; %d are allowed",
						  (long long)members, MEMBERS_MAX);

	out_int(o, "members", members);
	out_int(o, "limit", MEMBERS_MAX);
	answer_end(req);
}

/* Returns a hash above 0 that fits into a cursor. */
static int64_t hash_of(struct text member)
{
	return (int64_t)(XXH3_64bits(member.at, member.len) >> 11 | 1);
}

static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	int order = memcmp(x->text.at, y->text.at, x->text.len < y->text.len ? x->text.len : y->text.len);
	return order ? order : (x->text.len > y->text.len) - (x->text.len < y->text.len);
}

/* Keeps the members that stay, once each, sorted by hash. */
static void arrange(struct set_combination *co)
{
	size_t kept = 0, distinct = 0;

	for (size_t i = 0; i < co->member_count; i++)
		if (!co->stays || co->stays[i])
			co->members[kept++] = co->members[i];
	qsort(co->members, kept, sizeof(*co->members), compare);
	for (size_t i = 0; i < kept; i++)
		if (distinct == 0 || compare(&co->members[distinct - 1], &co->members[i]) != 0)
			co->members[distinct++] = co->members[i];
	co->member_count = distinct;
}

static void answer_members(struct request *req, struct set_combination *co)
{
	const struct set_combine_input *in = req->input;
	size_t i = 0, end;

	arrange(co);
	while (i < co->member_count && co->members[i].hash <= co->after)
		i++;
	end = i + (size_t)in->limit < co->member_count ? i + (size_t)in->limit : co->member_count;
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (; i < end; i++) {
		out_object(o, NULL);
		out_text(o, "member", co->members[i].text);
		out_close(o);
	}
	out_close(o);
	out_int(o, "size", (int64_t)co->member_count);
	handler_out_cursor(o, end < co->member_count, end ? co->members[end - 1].hash : 0);
	answer_end(req);
}

static struct call *call_combine(struct request *req, const struct slots_group *group, const struct script *s)
{
	const struct set_combination *co = req->work;
	struct call *c = call_script(req, s);

	for (size_t i = 0; i < group->count; i++)
		call_key(c, KEY_SET, co->names[group->which[i]], NULL);
	if (s != &set_sizes_script)
		call_string(c, ways[co->way]);
	return c;
}

/*
 * Adds the members of a slot. False: there are too many, or memory ran out, and the request was
 * answered.
 */
static bool take_in(struct request *req, const struct reply *r)
{
	struct set_combination *co = req->work;

	if (reply_outcome(r) == SET_COMBINE_TOO_MANY) {
		answer_too_many(req, reply_int(r, SET_COMBINE_SIZE));
		return false;
	}
	for (size_t i = SET_COMBINE_MEMBERS; i < r->count && co->member_count < co->member_room; i++) {
		struct text member = reply_text(r, i);
		co->members[co->member_count++] =
			(struct member){ arena_copy(&req->arena, member.at, member.len), hash_of(member) };
	}
	if (req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	return !req->arena.failed;
}

/* ---- One slot ---- */

static void on_combined(struct request *req, const struct reply *r)
{
	if (take_in(req, r))
		answer_members(req, req->work);
}

/* ---- Several slots: a union ---- */

static void on_united(struct request *req, const struct reply *r)
{
	struct set_combination *co = req->work;

	if (take_in(req, r) && --co->pending == 0)
		answer_members(req, co);
}

/* ---- Several slots: an intersection, a difference ---- */

static void on_filtered(struct request *req, const struct reply *r)
{
	struct set_combination *co = req->work;
	struct text stays = reply_text(r, SET_FILTER_STAYS);

	for (size_t i = 0; i < co->member_count; i++)
		co->stays[i] = (char)(i < stays.len && stays.at[i] == '1' && co->stays[i]);
	if (--co->pending == 0)
		answer_members(req, co);
}

static void on_base(struct request *req, const struct reply *r)
{
	struct set_combination *co = req->work;

	if (!take_in(req, r))
		return;
	if (co->member_count == 0) {
		answer_members(req, co);
		return;
	}
	memset(co->stays, 1, co->member_count);
	co->pending = co->slots->count - 1;
	for (size_t g = 0; g < co->slots->count; g++) {
		if (g == co->base)
			continue;
		struct call *c = call_combine(req, &co->slots->groups[g], &set_filter_script);
		for (size_t i = 0; i < co->member_count; i++)
			call_text(c, co->members[i].text);
		call_send(c, on_filtered);
	}
}

/* ---- Several slots: the sizes of the sets ---- */

/* Returns the index of the base set. */
static size_t counting_set(const struct set_combination *co)
{
	size_t which = 0;

	for (size_t i = 1; co->way == INTERSECT && i < co->count; i++)
		if (co->sizes[i] < co->sizes[which])
			which = i;
	return which;
}

static void proceed(struct request *req)
{
	struct set_combination *co = req->work;
	const struct slots *slots = co->slots;
	size_t which = counting_set(co);
	int64_t members = co->sizes[which];

	for (size_t i = 1; co->way == UNION && i < co->count; i++)
		members += co->sizes[i];
	if (members > MEMBERS_MAX) {
		answer_too_many(req, members);
		return;
	}
	for (size_t g = 0; g < slots->count; g++)
		for (size_t i = 0; i < slots->groups[g].count; i++)
			if (slots->groups[g].which[i] == which)
				co->base = g;
	co->pending = slots->count;
	if (co->way != UNION)
		call_send(call_combine(req, &slots->groups[co->base], &set_combine_script), on_base);
	for (size_t g = 0; co->way == UNION && g < slots->count; g++)
		call_send(call_combine(req, &slots->groups[g], &set_combine_script), on_united);
}

static void on_sizes(struct request *req, const struct reply *r)
{
	struct set_combination *co = req->work;
	const struct slots_group *group = &co->slots->groups[req->result->tag];

	for (size_t i = 0; i < group->count; i++)
		co->sizes[group->which[i]] = reply_int(r, SET_SIZES_SIZES + i);
	if (--co->pending == 0)
		proceed(req);
}

/* ---- GET /sets/combine ---- */

static void combine(struct request *req, enum set_way way, const struct text *names, size_t count)
{
	const struct set_combine_input *in = req->input;
	const struct slots *slots = slots_of(req, names, count);
	struct set_combination *co = arena_alloc(&req->arena, sizeof(*co));
	int64_t after;

	if (!slots || !handler_cursor(req, in->cursor, &after))
		return;
	size_t room = slots->count * MEMBERS_MAX;
	int64_t *sizes = arena_alloc(&req->arena, count * sizeof(*sizes));
	struct member *members = arena_alloc(&req->arena, room * sizeof(*members));
	char *stays = slots->count > 1 && way != UNION ? arena_alloc(&req->arena, room) : NULL;
	if (req->arena.failed) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	/*
	 * NOLINTNEXTLINE(clang-analyzer-core.NullDereference): where arena_alloc returns NULL the
	 * arena has failed
	 */
	*co = (struct set_combination){
		.way = way,
		.names = names,
		.count = count,
		.slots = slots,
		.sizes = sizes,
		.members = members,
		.member_room = room,
		.stays = stays,
		.after = after,
		.pending = slots->count,
	};
	req->work = co;
	if (slots->count == 1)
		call_send(call_combine(req, &slots->groups[0], &set_combine_script), on_combined);
	for (size_t g = 0; slots->count > 1 && g < slots->count; g++) {
		struct call *c = call_combine(req, &slots->groups[g], &set_sizes_script);
		call_tag(c, g);
		call_send(c, on_sizes);
	}
}

void set_combine(struct request *req, const struct set_combine_input *in)
{
	int given = (in->union_.count > 0) + (in->intersect.count > 0) + (in->subtract.count > 0);

	if (given == 0)
		answer_field_problem(req, P_MISSING_FIELD, "?union",
				     "is required, unless ?intersect or ?subtract is given");
	else if (given > 1)
		answer_field_problem(req, P_INVALID_VALUE, in->union_.count ? "?union" : "?intersect",
				     "cannot be given together with another way to combine");
	else if (in->union_.count)
		combine(req, UNION, in->union_.items, in->union_.count);
	else if (in->intersect.count)
		combine(req, INTERSECT, in->intersect.items, in->intersect.count);
	else
		combine(req, SUBTRACT, in->subtract.items, in->subtract.count);
}
